"""What the compiler did, as events of the trace: graphs, cache hits, graph breaks, recompiles."""

from __future__ import annotations

import functools
import json
from types import ModuleType

from . import report

_c: ModuleType | None = None
_breaks = 0  # reasons already told, of torch._dynamo.utils.graph_break_reasons
_generation = 0


def install(c: ModuleType) -> None:
    from ulpscope._imports import when_imported

    global _c
    _c = c
    when_imported("torch._dynamo.utils", _watch_metrics)


def graph(name: str, compiled, cached: bool) -> None:
    """A graph is ready to run."""
    from . import record

    sites = (compiled.__dict__.get(record.ATTRIBUTE) or {}).get("sites", {})
    _event(
        "cache_hit" if cached else "graph",
        graph=name,
        key=compiled.cache_key,
        cached=cached,
        kernels=sum(not site["extern"] for site in sites.values()),
        extern_kernels=sum(site["extern"] for site in sites.values()),
    )


def _watch_metrics(utils: ModuleType) -> None:
    """Dynamo gives an account of each compilation when it is over."""
    original = utils.record_compilation_metrics

    @functools.wraps(original)
    def record_compilation_metrics(start_time_ns, end_time_ns, metrics, *args, **kwargs):
        result = original(start_time_ns, end_time_ns, metrics, *args, **kwargs)
        try:
            _account(utils, metrics)
        except Exception as error:
            report("cannot tell of a compilation", error)
        return result

    utils.record_compilation_metrics = record_compilation_metrics


def _account(utils: ModuleType, metrics: dict) -> None:
    global _breaks, _generation
    if _c is None or not _c.recording():
        return
    reasons = utils.graph_break_reasons
    if _c.generation() != _generation or len(reasons) < _breaks:
        _generation, _breaks = _c.generation(), 0
    for reason in reasons[_breaks:]:
        if getattr(reason, "graph_break", True):
            frames = [
                {"file": f.filename, "line": f.lineno, "function": f.name}
                for f in reversed(reason.user_stack or [])
            ]
            _event("graph_break", reason=str(reason.reason).strip(), stack=frames)
    _breaks = len(reasons)
    if metrics.get("recompile_reason"):
        _event(
            "recompile",
            reason=str(metrics["recompile_reason"]).strip(),
            compile=str(metrics.get("compile_id")),
            function=metrics.get("co_name"),
            file=metrics.get("co_filename"),
            line=metrics.get("co_firstlineno"),
        )
    if metrics.get("fail_reason"):
        _event(
            "compile_failed",
            reason=str(metrics["fail_reason"]).strip(),
            compile=str(metrics.get("compile_id")),
            function=metrics.get("co_name"),
        )


def _event(kind: str, **fields) -> None:
    if _c is not None and _c.recording():
        _c.event(kind, json.dumps(fields))
