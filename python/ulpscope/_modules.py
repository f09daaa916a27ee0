"""Makes calls of torch.nn.Modules regions of the trace.

torch.nn.Module.__call__ is replaced by a function with the same body and a region around it. While
Dynamo traces, `is_dynamo_compiling()` is the constant True, so that what it sees is that body; as the
frame that it would compile first, the function is skipped, which is how Dynamo treats torch's own.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ulpscope._imports import when_imported


def install(c: ModuleType) -> None:
    import torch
    from torch._C._dynamo import eval_frame  # torch._dynamo itself is not imported by torch
    from torch.compiler import is_dynamo_compiling

    original = torch.nn.Module.__call__
    if original is not torch.nn.Module._wrapped_call_impl:
        call = _around(c, original, is_dynamo_compiling)  # replaced by someone else before us
    else:
        call = _body(c, is_dynamo_compiling)
    skip, default = eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT
    eval_frame.set_code_exec_strategy(
        call.__code__, eval_frame._FrameExecStrategy(skip, default)
    )
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(call, name, getattr(original, name))
    torch.nn.Module.__call__ = call  # type: ignore[method-assign]

    # Dynamo goes straight to forward() where a module has no hooks and __call__ is what it was when
    # Dynamo was imported.
    def keep_short_cut(module: ModuleType) -> None:
        if getattr(module, "unpatched_nn_module_call", None) is original:
            module.unpatched_nn_module_call = call

    when_imported("torch._dynamo.utils", keep_short_cut)
    when_imported("torch._dynamo.variables.nn_module", keep_short_cut)


def _body(c: ModuleType, is_dynamo_compiling: Any) -> Any:
    enter_module, leave_module = c.enter_module, c.leave_module

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling() or not (depth := enter_module(self)):
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        try:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)
        finally:
            leave_module(depth)

    return __call__


def _around(c: ModuleType, original: Any, is_dynamo_compiling: Any) -> Any:
    enter_module, leave_module = c.enter_module, c.leave_module

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_dynamo_compiling() or not (depth := enter_module(self)):
            return original(self, *args, **kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            leave_module(depth)

    return __call__
