"""Joins buffers, FX nodes and call sites while Inductor generates code, the only time that all three
are known together; what comes of it is a GraphRecord.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field

from . import copies, graph_text, nodes, report
from .fx_nodes import (
    beside_tangent,
    is_view,
    module_of,
    same_elements,
    shape,
    stack_of,
    tensor_arguments,
)
from .record import GraphRecord, Site, Source, Tie


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
                graph.number = len(record.graphs)
                record.graphs.append(graph.text())
            site = graph.extern(call) if call.extern is not None else graph.kernel(call)
            record.sites[f"{call.kernel}:{call.handle}"] = site
        except Exception as error:
            report(f"no provenance for {call.kernel}", error)
    return record


class _Graph:
    """Answers about one GraphLowering and its FX graph."""

    def __init__(self, lowering):
        self.lowering = lowering
        self.number = 0
        self.position = {}
        self._ops = {}
        self.exits: dict[object, list] = {}  # op -> marked nodes
        fx_graph = getattr(lowering, "module", None) or getattr(lowering, "orig_gm", None)
        self.module = fx_graph
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
        self.constants = _constants(lowering, fx_graph, self.position)
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

    def text(self) -> dict:
        return graph_text.graph(self.module.graph, self.module, nodes.OP, nodes.VALUES)

    def held(self, name: str):
        """The node whose value a buffer, an input or a constant of the graph holds, or None."""
        return self.inputs.get(name) or self.constants.get(name) or self.exact(name)

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
        arguments = list(tensor_arguments(node))
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
        site = Site(call.kernel, graph=self.number)
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
            at_entry = next((self.held(n) for n in names if n not in in_order), None)
            if at_entry is not None:
                site.reads[parameter] = at_entry.name
            if parameter not in call.written:
                continue
            # Of all buffers that share this memory, the one written last holds the final value.
            final = [n for n in made if n in names or self.real.get(n) in names]
            final = [n for n in final if n not in self.removed]
            if final:
                last = max(final, key=in_order.get)
                site.ties[parameter] = self.ties(last, index)
                if self.exact(last) is not None:
                    site.writes[parameter] = self.exact(last).name
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
                if node in origins and node not in used and is_view(node):
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
        for candidate in same_elements(node):
            op = self.op_of(candidate)
            values = candidate.meta.get(nodes.VALUES, ())
            for number, output in sorted(values, key=lambda value: op is None or value[0] != op[0]):
                if number not in index or any(tie.source == index[number] for tie in ties):
                    continue
                same = candidate is node
                how = "the op's own result" if same else "the same elements"
                transform = "same" if shape(candidate) == shape(node) else "reshaped"
                ties.append(Tie(index[number], output, transform, 1.0, how))
        for other in beside_tangent(node):
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


def _constants(lowering, module, position):
    """Constant buffers by name -> the get_attr node that they are."""
    found = {}
    for node in position:
        if node.op != "get_attr":
            continue
        value = graph_text.attribute(module, node.target)
        for name, tensor in getattr(lowering, "constants", {}).items():
            if tensor is value:
                found[name] = node
    return found


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
