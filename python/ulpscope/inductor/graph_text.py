"""FX graphs and traced calls as plain JSON values, from which a kernel's part is built again offline.

What is kept of a graph: its nodes as Inductor lowered them (the post-grad graph), and the calls of
the program that they stand for, with their arguments: `aten.elu.default(x, 1.24)` beside the
`where`, `mul` and `expm1` that it became. `ulpscope.microscope` reads this.

An argument is a plain value, or one of: {"node": name}, {"value": [call, output]} (a call's output),
{"sym": expression}, {"dtype"|"device"|"layout"|"memory_format": name}, {"complex": [re, im]},
{"slice": [a, b, c]}, {"tensor": elements, "dtype": name} for a small constant, {"opaque": text} for
what can't be written down.
"""

from __future__ import annotations

import collections

LIMIT = 64  # elements of a constant tensor that is written down
_KEPT = 200_000  # calls remembered of a process

# Calls of the program by the id of their mark (see nodes.py). Kept beside the marks, not in them:
# a mark travels with every node and is pickled with graphs.
_calls: collections.OrderedDict[int, dict] = collections.OrderedDict()


def encode(value, reference):
    """A value as JSON has it. `reference(x)` gives what stands for a tensor or a node, or None."""
    import torch

    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, (list, tuple)):
        return [encode(item, reference) for item in value]
    if isinstance(value, slice):
        return {"slice": [encode(x, reference) for x in (value.start, value.stop, value.step)]}
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return {"sym": str(value.node.expr)}
    for kind, name in (
        (torch.dtype, "dtype"),
        (torch.layout, "layout"),
        (torch.memory_format, "memory_format"),
    ):
        if isinstance(value, kind):
            return {name: str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    found = reference(value)
    if found is None and isinstance(value, torch.Tensor):
        found = constant(value)
    return {"opaque": type(value).__name__} if found is None else found


def constant(tensor):
    """A small tensor with its elements, None for one that is large or has none."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    if type(tensor) is not torch.Tensor or isinstance(tensor, FakeTensor):
        return None
    if tensor.device.type != "cpu" or tensor.numel() > LIMIT or tensor.is_complex():
        return None
    if tensor.layout != torch.strided or tensor.is_quantized:
        return None
    from torch.utils._python_dispatch import _disable_current_modes

    with _disable_current_modes():  # the compiler's, which want fake tensors
        elements = tensor.detach().tolist()
    return {"tensor": elements, "dtype": str(tensor.dtype).removeprefix("torch.")}


def remember(op: tuple, func, args, kwargs, reference) -> None:
    """Keeps a call of the program, `op` being its mark."""
    number, name, overload, backward, order = op
    if number in _calls:
        return
    _calls[number] = {
        "op": name,
        "overload": overload,
        "backward": backward,
        "order": order,
        "target": str(func),
        "args": encode(args, reference),
        "kwargs": {key: encode(value, reference) for key, value in (kwargs or {}).items()},
    }
    while len(_calls) > _KEPT:
        _calls.popitem(last=False)


def graph(fx_graph, module, mark: str, values: str) -> dict:
    """{"nodes": [...], "calls": {number: ...}}: an FX graph and the calls that it stands for.

    `mark` and `values` are the keys of the nodes' metadata (nodes.OP, nodes.VALUES).
    """
    numbers: dict[int, int] = {}  # id of a mark -> its number here

    def number(op_id: int) -> int:
        return numbers.setdefault(op_id, len(numbers))

    def node_reference(value):
        if not hasattr(value, "meta"):
            return None
        known = value.meta.get("val")
        if hasattr(known, "node") and hasattr(known.node, "expr"):  # SymInt and the like
            return {"sym": str(known.node.expr)}
        return {"node": value.name}

    written = []
    held = set()  # ids of calls of which a node here holds a value
    for node in fx_graph.nodes:
        if node.op == "output":
            continue
        entry = {"name": node.name, "kind": node.op, "target": _target(node)}
        if node.op == "get_attr":
            entry["constant"] = constant(attribute(module, node.target))
        else:
            entry["args"] = encode(node.args, node_reference)
            entry["kwargs"] = {k: encode(v, node_reference) for k, v in node.kwargs.items()}
        entry["val"] = _value(node.meta.get("val"))
        if mark in node.meta:
            entry["call"] = number(node.meta[mark][0])
        marks = node.meta.get(values, ())
        if marks:
            entry["values"] = [[number(op_id), output] for op_id, output in marks]
            held.update(op_id for op_id, _ in marks)
        written.append(entry)

    calls = {}
    pending = list(numbers)
    while pending:
        op_id = pending.pop()
        call = _calls.get(op_id)
        if call is None or numbers[op_id] in calls:
            continue
        arguments = _renumber(call["args"], number)
        keywords = _renumber(call["kwargs"], number)
        calls[numbers[op_id]] = {**call, "args": arguments, "kwargs": keywords}
        # What this call reads was computed by calls that may have left no node in this graph.
        reads = _reads(call["args"]) | _reads(call["kwargs"])
        pending += [source for source in reads if source not in held]
    return {"nodes": written, "calls": {str(key): call for key, call in sorted(calls.items())}}


def _target(node) -> str:
    if node.op in ("placeholder", "get_attr"):
        return str(node.target)
    if hasattr(node.target, "_schema"):
        return str(node.target)
    name = getattr(node.target, "__name__", str(node.target))
    return f"{getattr(node.target, '__module__', '')}:{name}"


def attribute(module, path: str):
    value = module
    for part in str(path).split("."):
        value = getattr(value, part, None)
    return value


def _value(value):
    """Dtype, shape and strides of a node's value; a list for several, None for no tensor."""
    import torch

    if isinstance(value, torch.Tensor):
        try:
            strides = [_size(s) for s in value.stride()]
        except Exception:
            strides = None
        dtype = str(value.dtype).removeprefix("torch.")
        return {"dtype": dtype, "shape": [_size(s) for s in value.shape], "stride": strides}
    if isinstance(value, (list, tuple)):
        return [_value(item) for item in value]
    return None


def _size(size):
    return size if isinstance(size, int) else str(size)


def _renumber(value, number):
    if isinstance(value, list):
        return [_renumber(item, number) for item in value]
    if isinstance(value, dict):
        if "value" in value:
            op_id, output = value["value"]
            return {**value, "value": [number(op_id), output]}
        return {key: _renumber(item, number) for key, item in value.items()}
    return value


def _reads(value) -> set[int]:
    if isinstance(value, list):
        return set().union(*(_reads(item) for item in value)) if value else set()
    if isinstance(value, dict):
        if "value" in value:
            return {value["value"][0]}
        return _reads(list(value.values()))
    return set()
