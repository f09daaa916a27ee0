"""Puts the taps of ulpscope._C where kernels and graphs were, and tells it what call sites mean."""

from __future__ import annotations

import base64
import json
import zlib
from types import ModuleType

from . import compile_events, higher_order, record, signature

GRAPH = "graph."  # with a compiled graph's key: the fact of a trace that holds GraphRecord.text()


class Recorder:
    def __init__(self, c: ModuleType):
        self._c = c
        self._graphs: dict[str, str] = {}  # key of a compiled graph -> its text, packed

    def not_seen(self, reason: str) -> None:
        """Says in the trace that some kernels, or their origins, are not in it."""
        self._c.not_seen(reason)

    def kernel(self, function, name: str, parameters: list[signature.Parameter], source: str):
        tap = self._c.KernelTap(function, name, [(p.name, p.access) for p in parameters], source)
        tap.parameters = [p.name for p in parameters]
        tap.code = source
        return tap

    def site(self, code, offsets: list[int], graph: str, site: record.Site, scope: dict):
        tap = None if site.extern else scope.get(site.kernel)
        names = getattr(tap, "parameters", ["out"])
        ties = [
            (arg, tie.source, tie.output, tie.transform == "reshaped", tie.confidence, tie.how)
            for arg, name in enumerate(names)
            for tie in site.ties.get(name, ())
        ]
        sources = [
            (s.node, s.op, s.overload, s.module, s.module_class, s.backward, s.order, s.stack)
            for s in site.sources
        ]
        self._c.add_site(
            code,
            offsets,
            graph,
            site.kernel,
            getattr(tap, "code", ""),
            sources,
            ties,
            [(name in site.uninitialised) + 2 * (name in site.unwritten) for name in names],
        )

    def at_start(self) -> None:
        """A recording begins: the graphs that are compiled already belong in its trace."""
        for key, text in self._graphs.items():
            self._c.meta(GRAPH + key, text)

    def subgraphs(self, source: str, scope: dict) -> None:
        higher_order.tap_subgraphs(self._c, source, scope)

    def _native(self, name: str, compiled, scope: dict) -> None:
        """A graph whose kernels are called from C++: what its library calls is caught there."""
        module = getattr((scope or {}).get("inductor_entry"), "__self__", None)
        library = getattr(module, "__file__", None)
        if library is None:
            self.not_seen(f"graph {name} calls its kernels from C++, from a library that was not found")
            return
        self._c.tap_native(library, record.native_text(record.of(compiled)))

    def graph(self, compiled, graph_kwargs, scope: dict, cached: bool) -> None:
        if compiled.current_callable is None:
            return
        text = record.of(compiled).text()
        packed = base64.b64encode(zlib.compress(text.encode(), 6)).decode()
        self._graphs[compiled.cache_key] = packed
        if self._c.recording():
            self._c.meta(GRAPH + compiled.cache_key, packed)
        kind = "forward"
        if graph_kwargs.get("is_backward"):
            kind = "backward"
        elif graph_kwargs.get("is_inference"):
            kind = "inference"
        name = f"{_compile_id()} {kind}"
        if "CppWrapperCodeCache" in compiled.source_code:
            self._native(name, compiled, scope)
        compile_events.graph(name, compiled, cached)
        mutated = [int(i) for i in compiled.mutated_input_idxs or ()]
        compiled.current_callable = self._c.GraphTap(
            compiled.current_callable, name, kind, mutated
        )


def _compile_id() -> str:
    """Dynamo's number of this compilation, "0/1": the same in each run of a program."""
    from torch._guards import CompileContext

    return str(CompileContext.current_compile_id() or "?")
