"""What FX nodes tell: views and copies of each other, the module and the source lines they come from."""

from __future__ import annotations

import operator
import re

from . import nodes

_RESHAPES = {
    "aten::view", "aten::reshape", "aten::_unsafe_view", "aten::_reshape_alias", "aten::squeeze",
    "aten::unsqueeze", "aten::flatten", "aten::unflatten",
}  # fmt: skip
_COPIES = {"aten::clone", "aten::alias", "aten::detach", "aten::contiguous", "aten::lift_fresh"}
_VIEWS = _RESHAPES | {
    "aten::alias", "aten::detach", "aten::permute", "aten::transpose", "aten::t", "aten::expand",
    "aten::slice", "aten::select", "aten::split", "aten::split_with_sizes", "aten::as_strided",
    "aten::diagonal", "aten::unbind", "aten::unfold", "aten::chunk",
}  # fmt: skip


def target_name(node) -> str:
    return nodes.op_name(node.target)[0] if hasattr(node.target, "_schema") else ""


def is_view(node) -> bool:
    if node.target is operator.getitem:
        return is_view(node.args[0])
    return target_name(node) in _VIEWS


def _keeps_elements(node):
    """The argument whose elements this node has, in the same order, or None."""
    name = target_name(node)
    source = node.args[1] if name in ("aten::copy", "aten::copy_") and len(node.args) > 1 else None
    if name in _RESHAPES or name in _COPIES:
        source = node.args[0]
    if not hasattr(source, "meta"):
        return None
    value, other = node.meta.get("val"), source.meta.get("val")
    if value is None or other is None or value.dtype != other.dtype:
        return None
    return source if value.numel() == other.numel() else None


def same_elements(node):
    """The node and those with its elements in its order: itself, those made of it, those before it."""
    found = [node]
    for current in found:
        found += [u for u in current.users if u not in found and _keeps_elements(u) is current]
    source = _keeps_elements(node)
    while source is not None and source.op == "call_function":
        found.append(source)
        source = _keeps_elements(source)
    return found


def beside_tangent(node):
    """What is added to a gradient that comes into the graph: AOTAutograd makes one of zeros for an
    output that has none in the program."""
    if target_name(node) != "aten::add" or len(node.args) < 2:
        return []
    a, b = node.args[:2]
    pairs = [(a, b), (b, a)]
    return [x for x, t in pairs if _is_tangent(t) and hasattr(x, "meta") and not _is_tangent(x)]


def _is_tangent(node) -> bool:
    return getattr(node, "op", "") == "placeholder" and node.name.startswith("tangents")


def shape(node):
    value = node.meta.get("val")
    return tuple(value.shape) if hasattr(value, "shape") else None


_ROOT = re.compile(r"^[LG]\['[^']*'\](?:\[[^\]]*\])*")
_CLOSURE = re.compile(r"^.*cell_contents")
_MODULES = re.compile(r"\.?_modules\['([^']*)'\]")
_ITEM = re.compile(r"\[(?:'([^']*)'|(\d+))\]")
_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in (.+?)\s*$', re.MULTILINE)


def clean_module(path: str) -> str:
    """`L['self'].transformer.h.0.ln_1` -> `transformer.h.0.ln_1`, as eager module regions name it."""
    path = _CLOSURE.sub("", path) if "cell_contents" in path else path
    path = _ROOT.sub("", path)
    path = _MODULES.sub(r".\1", path)
    path = _ITEM.sub(lambda m: "." + (m.group(1) or m.group(2)), path)
    parts = [part for part in path.split(".") if part and part != "_orig_mod"]
    return ".".join(parts)


def module_of(node) -> tuple[str, str]:
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return "", ""
    path, kind = list(stack.values())[-1]
    name = kind.__name__ if isinstance(kind, type) else str(kind).rsplit(".", 1)[-1]
    return clean_module(path), name


def frames(text: str) -> tuple[tuple[str, int, str], ...]:
    """(file, line, function) of each frame of a stack as text, innermost first."""
    return tuple(reversed([(f, int(line), name) for f, line, name in _FRAME.findall(text)]))


_stacks: dict[str, tuple] = {}


def stack_of(node) -> tuple[tuple[str, int, str], ...]:
    text = node.meta.get("stack_trace")
    if not text:
        return ()
    stack = _stacks.get(text)
    if stack is None:
        stack = _stacks[text] = frames(text)
        if len(_stacks) > 10000:
            _stacks.clear()
    return stack


def tensor_arguments(node):
    """The nodes of a node's tensor arguments, one for each time that they are passed."""
    from torch.utils import _pytree as pytree

    for leaf in pytree.tree_leaves((node.args, node.kwargs)):
        if hasattr(leaf, "meta") and hasattr(leaf.meta.get("val"), "shape"):
            yield leaf
