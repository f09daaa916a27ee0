"""Keeps what torch.compile runs while it traces and compiles out of the trace.

Dynamo brackets each compilation, of a frame and of a lazily compiled backward, with
CompilationCallbackHandler.install_callbacks. Its registered callbacks are of no use here: nested and
concurrent compilations share one call, torch._dynamo.reset() clears them. So the method is wrapped,
which is right for each thread by itself and when a compilation raises.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ulpscope._imports import when_imported

#: Backends that torch.compile was asked for, in order.
backends: list[str] = []


def install(c: ModuleType) -> None:
    when_imported("torch._dynamo.callback", functools.partial(_wrap_brackets, c))
    when_imported("torch._dynamo.eval_frame", _watch_backends)


def _wrap_brackets(c: ModuleType, callback: ModuleType) -> None:
    handler = callback.CompilationCallbackHandler
    original = handler.install_callbacks
    compiles = (callback.CallbackTrigger.DYNAMO, callback.CallbackTrigger.LAZY_BACKWARD)

    @functools.wraps(original)
    @contextlib.contextmanager
    def install_callbacks(self: Any, trigger: Any, compile_id: str) -> Iterator[None]:
        if trigger not in compiles:  # a CUDA graph is recorded by running the program
            with original(self, trigger, compile_id):
                yield
            return
        c.pause()
        try:
            _before_compile(c)
            with original(self, trigger, compile_id):
                yield
        finally:
            c.resume()

    handler.install_callbacks = install_callbacks


_told = (0, 0)  # the recording that knows the compile settings, and of how many backends


def _before_compile(c: ModuleType) -> None:
    global _told
    now = (c.generation(), len(backends))
    if c.recording() and now != _told:
        _told = now
        from ulpscope import _environment

        _environment.at_compile(c)


def _watch_backends(eval_frame: ModuleType) -> None:
    original = eval_frame.get_compiler_fn

    @functools.wraps(original)
    def get_compiler_fn(compiler_fn: Any) -> Any:
        name = getattr(compiler_fn, "compiler_name", compiler_fn)
        if not isinstance(name, str):
            name = getattr(name, "__name__", type(name).__name__)
        if name not in backends:
            backends.append(name)
        return original(compiler_fn)

    eval_frame.get_compiler_fn = get_compiler_fn
