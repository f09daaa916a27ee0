"""Calls of Triton kernels, by the same model as C++ kernels: CachingAutotuner.run is the call.

Written for GPUs and run on none: tests drive it with a stand-in for the autotuner. What a GPU tensor
holds is not fingerprinted (the recorder says so), roles, shapes and provenance are there.
"""

from __future__ import annotations

import functools

from . import report
from .signature import READ, READ_WRITE, SCALAR, WRITE, Parameter

_TAP = "_ulpscope_tap"  # of an autotuner, its tap


def parameters(autotuner) -> list[Parameter]:
    """Names and roles of what the generated code passes to `run`, in its order."""
    mutated = set(getattr(autotuner, "mutated_arg_names", ()))
    found = []
    for name, kind in autotuner.triton_meta.get("signature", {}).items():
        if not str(kind).startswith("*"):
            access = SCALAR
        elif name in mutated or name.startswith("in_out_ptr"):
            access = READ_WRITE
        elif name.startswith("out_ptr"):
            access = WRITE
        else:
            access = READ
        found.append(Parameter(name, str(kind), access))
    return found


def watch_run(original, make_tap):
    """For CachingAutotuner.run; make_tap(callable, name, parameters, source) gives what records."""

    @functools.wraps(original)
    def run(self, *args, **kwargs):
        if kwargs.get("benchmark_run"):  # the compiler's own, on data of its own
            return original(self, *args, **kwargs)
        tap = self.__dict__.get(_TAP)
        if tap is None:
            call = functools.partial(original, self)
            try:
                source = getattr(self.fn, "src", "")
                source = source if isinstance(source, str) else ""
                name = getattr(self.fn, "__name__", "triton")
                tap = make_tap(call, name, parameters(self), source)
            except Exception as error:
                report("cannot tap a Triton kernel", error)
                tap = call
            self.__dict__[_TAP] = tap
        return tap(*args, **kwargs)

    return run


def watch_getstate(original):
    """For CachingAutotuner.__getstate__: an autotuner crosses processes without its tap."""

    @functools.wraps(original)
    def __getstate__(self):
        state = original(self)
        if isinstance(state, dict):
            state.pop(_TAP, None)
        return state

    return __getstate__
