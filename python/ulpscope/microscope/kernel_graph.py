"""The part of a post-grad graph that one kernel computes, and the calls of the program inside it."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib
from typing import TYPE_CHECKING, Any

from . import decode
from .decode import Unknown

if TYPE_CHECKING:
    import torch

_RESHAPES = {"aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
             "aten.alias.default", "aten.detach.default", "aten.unsqueeze.default",
             "aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default"}  # fmt: skip


@dataclasses.dataclass
class Node:
    name: str
    kind: str  #: "placeholder", "get_attr" or "call_function"
    target: str
    args: list
    kwargs: dict
    val: Any  #: {"dtype", "shape", "stride"}, a list of those, or None
    call: int | None
    values: list[tuple[int, int]]  #: outputs of calls whose value this is
    constant: dict | None = None

    def sources(self) -> list[str]:
        found = [r["node"] for r in decode.references([self.args, self.kwargs]) if "node" in r]
        if self.target == "aten.copy_.default" and len(found) == 2:
            return found[1:]  # what it writes to is of no consequence
        return found


@dataclasses.dataclass
class Call:
    """A call of an op as the program made it."""

    number: int
    op: str  #: "aten::elu"
    overload: str
    backward: bool
    order: int
    target: str
    args: list
    kwargs: dict

    def reads(self) -> list[dict]:
        return decode.references([self.args, self.kwargs])


@dataclasses.dataclass
class Graph:
    nodes: dict[str, Node]
    calls: dict[int, Call]
    position: dict[str, int]


@dataclasses.dataclass
class Site:
    kernel: str
    sources: list[str]  #: nodes of the provenance's sources
    graph: int
    reads: dict[str, str]  #: parameter -> node
    writes: dict[str, str]


@dataclasses.dataclass
class Record:
    """What a trace keeps of one compiled graph (ulpscope.inductor.record.GraphRecord.text)."""

    graphs: list[Graph]
    sites: list[Site]

    @staticmethod
    def unpack(packed: str) -> Record:
        data = json.loads(zlib.decompress(base64.b64decode(packed)))
        return Record([_graph(each) for each in data["graphs"]], [Site(**s) for s in data["sites"]])

    def site(self, kernel: str, sources: list[str]) -> Site:
        """The call site of a kernel; one kernel may have several, told apart by their nodes."""
        named = [site for site in self.sites if site.kernel == kernel]
        exact = [site for site in named if site.sources == sources]
        if not named:
            raise Unknown(f"the trace does not say what {kernel} computes")
        return (exact or named)[0]


def _graph(data: dict) -> Graph:
    nodes = {}
    for entry in data["nodes"]:
        nodes[entry["name"]] = Node(
            entry["name"],
            entry["kind"],
            entry["target"],
            entry.get("args", []),
            entry.get("kwargs", {}),
            entry.get("val"),
            entry.get("call"),
            [(call, output) for call, output in entry.get("values", [])],
            entry.get("constant"),
        )
    calls = {int(number): Call(int(number), **call) for number, call in data["calls"].items()}
    return Graph(nodes, calls, {name: i for i, name in enumerate(nodes)})


def written(graph: Graph, name: str) -> str:
    """The node whose value a node has: of a write into another tensor, what is written."""
    node = graph.nodes.get(name)
    while node is not None and node.target == "aten.copy_.default":
        source = graph.nodes.get(node.sources()[0])
        if source is None or not isinstance(source.val, dict) or not isinstance(node.val, dict):
            break
        if any(source.val[key] != node.val[key] for key in ("dtype", "shape")):
            break
        node, name = source, source.name
    return name


class Kernel:
    """One kernel's part of a graph, between values that are known.

    `known`: node -> its value as the kernel read it. `spare`: further values of the graph, used only
    where the kernel's own do not suffice (it read a partial result of another kernel).
    """

    def __init__(self, graph: Graph, writes: list[str], known: dict, spare: dict | None = None):
        self.graph = graph
        self.symbols = decode.Symbols()
        self.outputs = list(dict.fromkeys(written(graph, name) for name in writes))
        self.known: dict[str, torch.Tensor] = {}
        self.borrowed: list[str] = []
        for name, tensor in known.items():
            self._learn(name, tensor)
        try:
            self.inner, self.leaves = self.between(self.outputs, set(self.known))
        except Unknown:
            own = set(self.known)
            for name, tensor in (spare or {}).items():
                if name not in self.known:
                    self._learn(name, tensor)
            self.inner, self.leaves = self.between(self.outputs, set(self.known))
            self.borrowed = [name for name in self.leaves if name not in own]
        if not self.inner:
            raise Unknown("nothing is computed between what the kernel reads and writes")

    def _learn(self, name: str, tensor: torch.Tensor) -> None:
        node = self.graph.nodes.get(name)
        if node is None:
            raise Unknown(f"the graph has no node {name}")
        self.known[name] = tensor
        if isinstance(node.val, dict):
            self.symbols.learn(node.val["shape"], tuple(tensor.shape))
        # The same memory is the value of what it is a plain reshape of.
        while node.target in _RESHAPES:
            source = self.graph.nodes.get(node.sources()[0])
            if source is None or source.name in self.known or not isinstance(source.val, dict):
                break
            try:
                shape = [self.symbols.value(size) for size in source.val["shape"]]
                self.known[source.name] = tensor.reshape(shape)
            except (Unknown, RuntimeError):
                break
            node = source

    def between(self, outputs: list[str], stop: set[str]) -> tuple[list[str], list[str]]:
        """(nodes that are computed, values they start from), each in the graph's order."""
        inner: set[str] = set()
        leaves: set[str] = set()
        pending = list(outputs)
        while pending:
            name = pending.pop()
            if name in inner or name in leaves:
                continue
            node = self.graph.nodes.get(name)
            if node is None:
                raise Unknown(f"the graph has no node {name}")
            # What the kernel reads and writes itself (an update in place) is read under its own name.
            if name in stop:
                leaves.add(name)
            elif node.kind == "call_function":
                inner.add(name)
                pending.extend(node.sources())
            elif node.constant is not None:
                inner.add(name)
            else:
                raise Unknown(f"the value of {name} was not captured")
        order = self.graph.position.__getitem__
        return sorted(inner, key=order), sorted(leaves, key=order)

    def exits(self) -> dict[int, dict[int, str]]:
        """Calls that end inside the kernel, in the program's order: number -> output -> node."""
        found: dict[int, dict[int, str]] = {}
        for name in self.inner:
            for call, output in self.graph.nodes[name].values:
                if call in self.graph.calls:
                    found.setdefault(call, {}).setdefault(output, name)
        ordered = sorted(found, key=lambda number: self.graph.calls[number].order)
        return {number: found[number] for number in ordered}
