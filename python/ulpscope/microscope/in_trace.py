"""Kernels as a trace has them: which graph they belong to, and the values that they read."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ulpscope.inductor import signature
from ulpscope.inductor.recorder import GRAPH

from .decode import Unknown
from .kernel_graph import Kernel, Record, Site, written

if TYPE_CHECKING:
    from ulpscope.trace import Op, Trace


@dataclasses.dataclass
class Recorded:
    """One kernel call of a trace, ready to be opened."""

    trace: str  #: its path
    op: Op
    kernel: Kernel
    site: Site
    kind: str  #: "forward", "backward" or "inference"
    digests: dict[str, str]  #: node -> digest of what the call wrote

    @property
    def name(self) -> str:
        return self.site.kernel

    def source(self, call: int) -> int:
        """Index of a call in the provenance's sources, -1 where it is not among them."""
        wanted = self.kernel.graph.calls[call]
        for i, source in enumerate(self.op.provenance["sources"]):
            if source["order"] == wanted.order and source["op"] == wanted.op:
                return i
        return -1


class Kernels:
    """The kernel calls of one trace."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self._records: dict[str, Record] = {}
        self._siblings: dict[int | None, list[Op]] | None = None

    def first_calls(self) -> list[Op]:
        """The kernel calls of which the trace has what they read."""
        found = []
        for op in self.trace:
            if op.kind != "kernel" or op.provenance is None:
                continue
            inputs = op.role("input", "before")
            if not inputs or any(operand.captured for operand in inputs):
                found.append(op)
        return found

    def recorded(self, op: Op) -> Recorded:
        """Unknown, with the reason, where this call can't be opened."""
        if op.kind != "kernel" or op.provenance is None:
            raise Unknown(f"#{op.id} is {op.qualified}, no compiled kernel")
        record = self._record(op)
        site = record.site(op.provenance["kernel"], [s["node"] for s in op.provenance["sources"]])
        graph = record.graphs[site.graph]
        known = self._known(op, site)
        parameters = _parameters(op)
        digests = {}
        for operand in op.role("output", "after"):
            node = site.writes.get(_name(parameters, operand.arg))
            if node is not None and operand.digest is not None:
                digests[written(graph, node)] = operand.digest
        if not site.writes:
            raise Unknown("what the kernel writes are partial results of the compiler only")
        try:
            kernel = Kernel(graph, list(site.writes.values()), known, self._spare(op, site))
        except Unknown as error:
            if not known:
                raise Unknown(
                    f"the trace has no values of what #{op.id} reads; record with --capture=first (the "
                    "default keeps the first call of each kernel)"
                ) from None
            raise error
        return Recorded(self.trace.path, op, kernel, site, self._kind(op), digests)

    def _record(self, op: Op) -> Record:
        key = op.provenance["graph"]
        if key not in self._records:
            packed = self.trace.meta(GRAPH + key)
            if not packed:
                raise Unknown("the trace does not hold the graph of this kernel; record it again")
            self._records[key] = Record.unpack(packed)
        return self._records[key]

    def _known(self, op: Op, site: Site) -> dict[str, Any]:
        parameters = _parameters(op)
        known = {}
        for operand in op.role("input", "before"):
            node = site.reads.get(_name(parameters, operand.arg))
            if node is None or not operand.captured:
                continue
            tensor = self.trace.tensor(operand)
            if tensor is not None:
                known[node] = tensor
        return known

    def _spare(self, op: Op, site: Site) -> dict[str, Any]:
        """What other kernels of the same call of the graph read, before this one."""
        if self._siblings is None:
            self._siblings = {}
            for each in self.trace:
                if each.kind == "kernel" and each.provenance is not None:
                    self._siblings.setdefault(each.parent, []).append(each)
        spare: dict[str, Any] = {}
        for other in self._siblings.get(op.parent, []):
            if other.id >= op.id or other.provenance["graph"] != op.provenance["graph"]:
                continue
            try:
                sources = [s["node"] for s in other.provenance["sources"]]
                its = self._record(other).site(other.provenance["kernel"], sources)
            except Unknown:
                continue
            if its.graph == site.graph:
                spare |= self._known(other, its)
        return spare

    def _kind(self, op: Op) -> str:
        for region in op.regions:
            if region.kind == "compiled":
                kind = region.name.rsplit(" ", 1)[-1]
                return kind if kind in ("forward", "backward") else "inference"
        return "inference"


def _parameters(op: Op) -> list[str]:
    return [p.name for p in signature.parse(op.provenance["code"])]


def _name(parameters: list[str], arg: int) -> str:
    return parameters[arg] if 0 <= arg < len(parameters) else ""
