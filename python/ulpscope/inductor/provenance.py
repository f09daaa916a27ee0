"""Where each kernel call of a compiled graph came from: plain data, kept with the compiled graph.

Collected while Inductor generates code, because only then buffers, FX nodes and call sites are known
together. `GraphRecord` is pickled with the CompiledFxGraph in Inductor's cache, so that a process in
which nothing is compiled has it too.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, field

from . import copies, nodes, report

VERSION = 6
ATTRIBUTE = "_ulpscope"  # of a CompiledFxGraph, holds GraphRecord.pack()


@dataclass
class Source:
    """One op of the program; mirrors store/records.h SourceOp."""

    node: str
    op: str
    overload: str
    module: str
    module_class: str
    backward: bool
    order: int
    stack: tuple[tuple[str, int, str], ...]  # (file, line, function), innermost first


@dataclass
class Tie:
    """The value that a parameter holds after the call; mirrors OutputTie, by parameter name."""

    source: int = -1  # index in Site.sources; -1: a value that the program does not have
    output: int = 0  # which output of that op
    transform: str = "same"  # "same", "reshaped" (same elements in the same order), "permuted"
    confidence: float = 0.0
    how: str = ""


@dataclass
class Site:
    """One call site: a kernel under its provenance handle, or an extern kernel."""

    kernel: str
    sources: list[Source] = field(default_factory=list)
    # Parameter name -> the values of the program that it holds, all the same elements, best first.
    ties: dict[str, list[Tie]] = field(default_factory=dict)
    uninitialised: list[str] = field(default_factory=list)  # parameters without a value at entry
    unwritten: list[str] = field(default_factory=list)  # in_out_ptr that is only read
    extern: bool = False


@dataclass
class GraphRecord:
    backward: bool = False
    sites: dict[str, Site] = field(default_factory=dict)  # "kernel:handle"

    def pack(self) -> dict:
        """Plain builtins only: the cache entry must load where this package is not installed."""
        from dataclasses import asdict

        return {"version": VERSION, **asdict(self)}

    @staticmethod
    def unpack(data: dict) -> GraphRecord | None:
        if not isinstance(data, dict) or data.get("version") != VERSION:
            return None
        record = GraphRecord(data["backward"])
        for key, site in data["sites"].items():
            record.sites[key] = Site(
                site["kernel"],
                [Source(**source) for source in site["sources"]],
                {name: [Tie(**tie) for tie in ties] for name, ties in site["ties"].items()},
                site["uninitialised"],
                site["unwritten"],
                site["extern"],
            )
        return record


# --- while code is generated -------------------------------------------------------------------


@dataclass
class KernelCall:
    """What is known when Inductor writes one call."""

    kernel: str
    handle: int
    graph: object  # GraphLowering, of a subgraph too
    scheduled: list  # scheduler nodes; empty for an extern kernel
    extern: object = None  # ir.ExternKernel
    parameters: dict[str, list[str]] = field(default_factory=dict)  # name -> buffers, in order
    written: set[str] = field(default_factory=set)  # names of parameters that the kernel writes


def collect(args) -> tuple[dict[str, list[str]], set[str]]:
    """Parameter names and buffers from codegen's KernelArgs."""
    parameters: dict[str, list[str]] = {}
    written: set[str] = set()
    for buffer in args.inplace_buffers.values():
        if hasattr(buffer, "inner_name"):
            parameters[buffer.inner_name] = list(buffer.other_names)
            written.add(buffer.inner_name)
    for outer, inner in args.input_buffers.items():
        if outer not in args.inplace_buffers and isinstance(inner, str):
            parameters[inner] = [outer]
    for outer, inner in args.output_buffers.items():
        if outer not in args.inplace_buffers and isinstance(inner, str):
            parameters[inner] = [outer]
            written.add(inner)
    return parameters, written


def build(calls: list[KernelCall], backward: bool) -> GraphRecord:
    record = GraphRecord(backward)
    graphs: dict[int, _Graph] = {}
    for call in calls:
        try:
            graph = graphs.get(id(call.graph))
            if graph is None:
                graph = graphs[id(call.graph)] = _Graph(call.graph)
            site = graph.extern(call) if call.extern is not None else graph.kernel(call)
            record.sites[f"{call.kernel}:{call.handle}"] = site
        except Exception as error:
            report(f"no provenance for {call.kernel}", error)
    return record


class _Graph:
    """Answers about one GraphLowering and its FX graph."""

    def __init__(self, lowering):
        self.lowering = lowering
        self.position = {}
        self._ops = {}
        self.exits: dict[object, list] = {}  # op -> marked nodes
        fx_graph = getattr(lowering, "module", None) or getattr(lowering, "orig_gm", None)
        # A graph that was not watched while it was traced (a loop's body, made by a later pass).
        self.watched = any(nodes.OP in node.meta for node in fx_graph.graph.nodes)
        for index, node in enumerate(fx_graph.graph.nodes):
            self.position[node] = index
            op = self.op_of(node)
            if op is not None:
                self.exits.setdefault(op[0], [])
                if any(number == op[0] for number, _ in node.meta.get(nodes.VALUES, ())):
                    self.exits[op[0]].append(node)
        scheduler = lowering.scheduler
        self.real = dict(getattr(scheduler, "mutation_real_name", {}))
        # Buffers that are never stored: their only readers are in the kernel that computes them.
        self.removed = set(lowering.removed_buffers) | set(lowering.inplaced_to_remove)
        self.mutations = set()  # buffers that stand for a write into another
        self.buffers = {}
        self.pieces = {}  # buffer that is written into a part of a concatenation -> FX node
        self.copies = {}  # buffer that has a node's elements in another layout -> that node
        self.realized = {}  # buffer made for an argument of an extern kernel -> that argument
        self.inputs = {node.name: node for node in self.position if node.op == "placeholder"}
        copied = {}
        for scheduled in scheduler.nodes:
            for one in scheduled.get_nodes():
                for buffer in one.get_outputs():
                    self.buffers[buffer.get_name()] = buffer.node
                    if buffer.get_mutations():
                        self.mutations.add(buffer.get_name())
                    self.pieces.update(_pieces(buffer.node))
                    source = self.copied(one, buffer.node)
                    if source is not None:
                        copied[buffer.get_name()] = source
                self.realized.update(self.arguments(one.node))
        for name, source in copied.items():
            known = self.inputs.get(source) or self.value(source)
            if known is not None:
                self.copies[name] = known
                self.realized.pop(name, None)
            elif name in self.realized:
                self.realized[source] = self.copies[name] = self.realized.pop(name)
        # Where a node's lowering writes its buffer in several goes (index_put: copy, then scatter),
        # only the last one holds the node's value.
        self.holder = {}
        for name in self.buffers:
            node = self.value(name)
            if node is not None and name not in self.copies:
                self.holder[node] = name

    def op_of(self, node):
        """(id, name, overload, backward, order) of the program's op that a node belongs to, or None."""
        if node.op == "placeholder":
            return node.meta.get(nodes.OP)  # what the forward graph hands to the backward graph
        if node.op != "call_function":
            return None
        op = node.meta.get(nodes.OP)
        if op is not None or self.watched:
            return op  # in a watched graph, a node without a mark was made by the compiler
        if node not in self._ops:
            self._ops[node] = self._guess(node)
        return self._ops[node]

    def _guess(self, node):
        original = node.meta.get("original_aten")
        if original is None:
            if node.target is not operator.getitem:
                return None
            return self.op_of(node.args[0])
        name, overload = nodes.op_name(original)
        backward = node.meta.get("partitioner_tag") == "is_backward"
        group = (name, overload, node.meta.get("seq_nr"), node.meta.get("stack_trace"), backward)
        for source in node.all_input_nodes:  # a decomposition is connected
            op = self._ops.get(source)
            if op is not None and op[0][:-1] == group:
                return op
        order = self.position[node]
        return ((*group, order), name, overload, backward, order)

    def value(self, name: str):
        """The node whose value a buffer holds once its lowering is done, or None."""
        for known in (self.pieces, self.copies, self.realized):
            if name in known:
                return known[name]
        buffer = self.buffers.get(name)
        if buffer is None:
            return None
        exact = _origin_node(buffer)
        if exact is None and name in self.mutations:
            exact = self.last(buffer)
        return exact

    def copied(self, scheduled, buffer):
        """The buffer that this one is a copy of, in another layout, or None."""
        if _origin_node(buffer) is not None or type(buffer).__name__ != "ComputedBuffer":
            return None
        layout = getattr(buffer, "layout", None)
        if type(layout).__name__ not in ("FixedLayout", "FlexibleLayout"):
            return None
        return copies.copied_buffer(scheduled, self.lowering, layout.size, layout.stride)

    def arguments(self, kernel):
        """Buffers that Inductor made for the arguments of a fallback kernel, which calls the node's
        own op with the node's own arguments; and those arguments."""
        if type(kernel).__name__ != "FallbackKernel":
            return {}
        node = _origin_node(kernel) or self.last(kernel)
        if node is None or node.target is not kernel.op_overload:
            return {}
        arguments = list(_tensor_arguments(node))
        if len(arguments) != len(kernel.inputs):
            return {}
        found = {}
        for buffer, argument in zip(kernel.inputs, arguments):
            made = self.buffers.get(buffer.get_name())
            if made is None or _origin_node(made) is not None:
                continue
            if buffer.get_name() in self.mutations or type(made).__name__ != "ComputedBuffer":
                continue
            if [str(s) for s in made.get_size()] == [str(s) for s in argument.meta["val"].shape]:
                found[buffer.get_name()] = argument
        return found

    def exact(self, name: str):
        node = self.value(name)
        if node is None or (self.holder.get(node) != name and name not in self.copies):
            return None
        return node

    def last(self, buffer):
        origins = [n for n in getattr(buffer, "origins", ()) if n in self.position]
        return max(origins, key=self.position.__getitem__, default=None)

    def top(self, name: str):
        """The last node that had a part in a buffer."""
        return self.value(name) or self.last(self.buffers.get(name))

    def kernel(self, call: KernelCall) -> Site:
        site = Site(call.kernel)
        origins, made, read = set(), [], set()
        for scheduled in call.scheduled:
            for one in scheduled.get_nodes() if hasattr(scheduled, "get_nodes") else []:
                if one.node is None:
                    continue
                origins.update(one.node.origins)
                made.extend(buffer.get_name() for buffer in one.get_outputs())
                read.update(dep.name for dep in one.read_writes.reads)
        used = self.computed(origins, made, read - set(made))
        index = self.sources(site, used)
        in_order = {name: position for position, name in enumerate(made)}
        for parameter, names in call.parameters.items():
            if parameter not in call.written:
                continue
            # Of all buffers that share this memory, the one written last holds the final value.
            final = [n for n in made if n in names or self.real.get(n) in names]
            final = [n for n in final if n not in self.removed]
            if final:
                site.ties[parameter] = self.ties(max(final, key=in_order.get), index)
            else:
                site.unwritten.append(parameter)
            if len(names) > 1 and all(n in in_order for n in names):
                site.uninitialised.append(parameter)
        return site

    def extern(self, call: KernelCall) -> Site:
        site = Site(call.kernel, extern=True)
        origin = _origin_node(call.extern)
        origins = set(call.extern.origins)
        if origin is None:
            origin = max(
                (n for n in origins if n in self.position), key=self.position.get, default=None
            )
        # Only views come for free with an extern kernel; the rest of its origins ran before it.
        used = {origin} if origin is not None else set()
        pending = list(used)
        while pending:
            for node in pending.pop().all_input_nodes:
                if node in origins and node not in used and _is_view(node):
                    used.add(node)
                    pending.append(node)
        index = self.sources(site, used)
        if origin is not None:
            site.ties["out"] = self.ties_of(origin, index)
        return site

    def computed(self, origins, made, read):
        """The nodes that this kernel computes itself, of those that its IR names as origins."""
        exact = {self.exact(name) for name in read} - {None}
        partial = {self.top(name) for name in read} - exact - {None}
        used = {self.last(self.buffers[name]) for name in made if name in self.pieces}
        used |= {self.copies[name] for name in made if name in self.copies}
        used.discard(None)
        pending = [self.top(name) for name in made if name not in self.copies]
        pending = [node for node in pending if node is not None]
        while pending:
            node = pending.pop()
            if node in used:
                continue
            used.add(node)
            for source in node.all_input_nodes:
                if source in exact or source not in origins:
                    continue
                if source in partial:
                    used.add(source)
                else:
                    pending.append(source)
        return used & set(self.position)

    def sources(self, site: Site, used) -> dict[int, int]:
        """Fills site.sources, one for each op; returns op id -> index."""
        groups: dict[object, list] = {}
        for node in sorted(used, key=self.position.__getitem__):
            op = self.op_of(node)
            if op is not None:
                groups.setdefault(op[0], []).append(node)
        index = {}
        ordered = sorted(groups.values(), key=lambda group: (self.op_of(group[-1])[4], group[-1].name))
        for group in ordered:
            number, name, overload, backward, order = self.op_of(group[-1])
            marked = [n for n in group if n in self.exits.get(number, ())]
            node = (marked or group)[-1]
            module, module_class = module_of(node)
            index[number] = len(site.sources)
            site.sources.append(
                Source(node.name, name, overload, module, module_class, backward, order, stack_of(node))
            )
        return index

    def ties(self, name: str, index) -> list[Tie]:
        node = self.exact(name)
        if node is None:
            under_way = self.value(name) is not None
            return [Tie(how="a value under way" if under_way else "a partial result of the compiler")]
        return self.ties_of(node, index)

    def ties_of(self, node, index) -> list[Tie]:
        ties = []
        for candidate in _same_elements(node):
            op = self.op_of(candidate)
            values = candidate.meta.get(nodes.VALUES, ())
            for number, output in sorted(values, key=lambda value: op is None or value[0] != op[0]):
                if number not in index or any(tie.source == index[number] for tie in ties):
                    continue
                same = candidate is node
                how = "the op's own result" if same else "the same elements"
                transform = "same" if _shape(candidate) == _shape(node) else "reshaped"
                ties.append(Tie(index[number], output, transform, 1.0, how))
        for other in _beside_tangent(node):
            for tie in self.ties_of(other, index):
                if tie.source >= 0 and all(tie.source != known.source for known in ties):
                    tie.confidence, tie.how = 0.5, "where no gradient of the graph's output is added"
                    ties.append(tie)
        if ties:
            return ties
        op = self.op_of(node)
        if op is not None and nodes.OP not in node.meta and op[0] in index and self._leaves(node, op):
            # The trace was not watched: the op's result is what is used outside of its nodes.
            return [Tie(index[op[0]], 0, "same", 0.8, "the only result that is used elsewhere")]
        return [Tie(how="inside a decomposition")]


    def _leaves(self, node, op) -> bool:
        return any((self.op_of(user) or (None,))[0] != op[0] for user in node.users)


def _tensor_arguments(node):
    """The nodes of a node's tensor arguments, one for each time that they are passed."""
    from torch.utils import _pytree as pytree

    for leaf in pytree.tree_leaves((node.args, node.kwargs)):
        if hasattr(leaf, "meta") and hasattr(leaf.meta.get("val"), "shape"):
            yield leaf


def _pieces(buffer):
    """Buffer names and FX nodes of the inputs of a concatenation that its producers write in place."""
    node = _origin_node(buffer) if type(buffer).__name__ == "ConcatKernel" else None
    if node is None or not node.args or not isinstance(node.args[0], (list, tuple)):
        return {}
    if len(node.args[0]) != len(buffer.inputs):
        return {}
    pieces = {}
    for piece, source in zip(buffer.inputs, node.args[0]):
        layout = getattr(piece, "layout", None)
        if type(layout).__name__ == "NonOwningLayout" and _origin_node(piece) is None:
            pieces[piece.get_name()] = source
    return pieces


def _origin_node(buffer):
    get = getattr(buffer, "get_origin_node", None)
    return get() if get is not None else getattr(buffer, "origin_node", None)


# --- FX nodes ----------------------------------------------------------------------------------


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


def _target_name(node) -> str:
    return nodes.op_name(node.target)[0] if hasattr(node.target, "_schema") else ""


def _is_view(node) -> bool:
    if node.target is operator.getitem:
        return _is_view(node.args[0])
    return _target_name(node) in _VIEWS


def _keeps_elements(node):
    """The argument whose elements this node has, in the same order, or None."""
    name = _target_name(node)
    source = node.args[1] if name in ("aten::copy", "aten::copy_") and len(node.args) > 1 else None
    if name in _RESHAPES or name in _COPIES:
        source = node.args[0]
    if not hasattr(source, "meta"):
        return None
    value, other = node.meta.get("val"), source.meta.get("val")
    if value is None or other is None or value.dtype != other.dtype:
        return None
    return source if value.numel() == other.numel() else None


def _same_elements(node):
    """The node and those with its elements in its order: itself, those made of it, those before it."""
    found = [node]
    for current in found:
        found += [u for u in current.users if u not in found and _keeps_elements(u) is current]
    source = _keeps_elements(node)
    while source is not None and source.op == "call_function":
        found.append(source)
        source = _keeps_elements(source)
    return found


def _beside_tangent(node):
    """What is added to a gradient that comes into the graph: AOTAutograd makes one of zeros for an
    output that has none in the program."""
    if _target_name(node) != "aten::add" or len(node.args) < 2:
        return []
    a, b = node.args[:2]
    pairs = [(a, b), (b, a)]
    return [x for x, t in pairs if _is_tangent(t) and hasattr(x, "meta") and not _is_tangent(x)]


def _is_tangent(node) -> bool:
    return getattr(node, "op", "") == "placeholder" and node.name.startswith("tangents")


def _shape(node):
    value = node.meta.get("val")
    return tuple(value.shape) if hasattr(value, "shape") else None


# --- modules and stacks --------------------------------------------------------------------------

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


_stacks: dict[str, tuple] = {}


def stack_of(node) -> tuple[tuple[str, int, str], ...]:
    text = node.meta.get("stack_trace")
    if not text:
        return ()
    stack = _stacks.get(text)
    if stack is None:
        frames = [(f, int(line), name) for f, line, name in _FRAME.findall(text)]
        stack = _stacks[text] = tuple(reversed(frames))
        if len(_stacks) > 10000:
            _stacks.clear()
    return stack


def of(compiled) -> GraphRecord:
    """The record of a compiled graph, as good as it can be had."""
    data = compiled.__dict__.get(ATTRIBUTE)
    try:
        record = GraphRecord.unpack(data)
        if record is not None:
            return record
    except Exception as error:
        report("cannot read a cached graph's provenance", error)
    report(
        "kernels without ties",
        f"graph {compiled.cache_key} was put in Inductor's cache without ulpscope or by another "
        "version of it; remove it from the cache (TORCHINDUCTOR_CACHE_DIR) to compare its kernels",
    )
    return from_strings(compiled)


def from_strings(compiled) -> GraphRecord:
    """What Inductor itself keeps: node names, without ties. For entries that were cached without us."""
    import json

    record = GraphRecord()
    try:
        mapping = json.loads(compiled.inductor_provenance_mapping_str or "{}")
        traces = json.loads(compiled.inductor_provenance_stack_traces_str or "{}")
        for key, names in mapping.get("cppCodeToPost", {}).items():
            site = record.sites[key] = Site(key.rsplit(":", 1)[0])
            stacks = [
                tuple(reversed([(f, int(line), name) for f, line, name in _FRAME.findall(text)]))
                for text in traces.get(key, [])
            ]
            for order, name in enumerate(names):
                stack = stacks[0] if len(stacks) == 1 else ()
                site.sources.append(Source(name, "", "", "", "", False, order, stack))
    except Exception as error:
        report("cannot read a cached graph's provenance", error)
    return record
