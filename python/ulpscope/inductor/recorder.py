"""Puts the taps of ulpscope._C where kernels and graphs were, and tells it what call sites mean."""

from __future__ import annotations

from types import ModuleType

from . import compile_events, higher_order, record, signature


class Recorder:
    def __init__(self, c: ModuleType):
        self._c = c
        self.missing: list[str] = []

    def not_seen(self, reason: str) -> None:
        """Says in the trace that some kernels, or their origins, are not in it."""
        self.missing.append(reason)
        self._c.meta("kernels", "not seen: " + "; ".join(self.missing))

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

    def subgraphs(self, source: str, scope: dict) -> None:
        higher_order.tap_subgraphs(self._c, source, scope)

    def graph(self, compiled, graph_kwargs, cached: bool) -> None:
        if compiled.current_callable is None:
            return
        kind = "forward"
        if graph_kwargs.get("is_backward"):
            kind = "backward"
        elif graph_kwargs.get("is_inference"):
            kind = "inference"
        name = f"{_compile_id()} {kind}"
        if "CppWrapperCodeCache" in compiled.source_code:
            self.not_seen(f"graph {name} calls its kernels from C++ (cpp_wrapper)")
        compile_events.graph(name, compiled, cached)
        mutated = [int(i) for i in compiled.mutated_input_idxs or ()]
        compiled.current_callable = self._c.GraphTap(
            compiled.current_callable, name, kind, mutated
        )


def _compile_id() -> str:
    """Dynamo's number of this compilation, "0/1": the same in each run of a program."""
    from torch._guards import CompileContext

    return str(CompileContext.current_compile_id() or "?")
