"""Starting and stopping a recording of this process, and what must be in place while it runs."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from ulpscope import _build

_lock = threading.RLock()
_extension: ModuleType | None = None


def why_not() -> str | None:
    """Why the recorder can't work with this interpreter and its torch, in one line; None: it can."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.implementation.name != "cpython" or python != _build.PYTHON:
        return (
            f"built for CPython {_build.PYTHON}, this is {sys.implementation.name} {python}: "
            "install ulpscope with this interpreter"
        )
    try:
        import torch
    except ImportError as error:
        return f"torch can't be imported ({error}): recording needs torch {_build.TORCH}"
    version = torch.__version__.split("+")[0]
    if version != _build.TORCH:
        return (
            f"built for torch {_build.TORCH}, this is torch {version}: "
            "install ulpscope again in the environment of this torch"
        )
    return None


def extension() -> ModuleType:
    """ulpscope._C with everything that feeds it in place. RuntimeError where it can't work here."""
    global _extension
    with _lock:
        if _extension is None:
            reason = why_not()
            if reason is not None:
                raise RuntimeError(reason)
            try:
                from ulpscope import _C
            except ImportError as error:
                raise RuntimeError(f"the recorder can't be loaded: {error}") from None
            _prepare(_C)
            _extension = _C
        return _extension


def _prepare(c: ModuleType) -> None:
    """Once a process: taps that cost nothing while nothing is recorded."""
    from ulpscope import _compiling, _divergence, _modules, _stacks, inductor

    _divergence.install(c)
    _stacks.install(c)
    _modules.install(c)
    _compiling.install(c)
    if hasattr(c, "KernelTap"):
        inductor.install(c)
    for name in ("execv", "execve"):
        setattr(os, name, _flushing(c, getattr(os, name)))
    atexit.register(stop)


def _flushing(c: ModuleType, original: Any) -> Any:
    """An os.exec function that first writes what is recorded: exec leaves no other chance."""
    import functools

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if c.recording():
            c.flush()
        return original(*args, **kwargs)

    return call


def start(
    path: str | os.PathLike[str],
    *,
    inputs: str = "always",
    level: str = "full",
    stacks: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    steps: tuple[int, int | None] = (0, None),
    capture: Sequence[str] = ("first",),
    capture_limit: int = 64 << 20,
    against: str | os.PathLike[str] = "",
    on_divergence: str = "capture",
) -> None:
    """Records every op of this process into the trace file `path` until stop() or the exit.

    inputs: "always" fingerprints each input before its op; "tracked" only those that may have
    changed since an op wrote them; "off" none. level: "digest", "stats" or "full". stacks: whole
    Python stacks instead of the first frame outside torch. include, exclude: globs on op names.
    steps: operands are fingerprinted in these steps only. capture: whose operands' values are kept:
    "first" (the first call of each call site of a compiled kernel), globs on names of ops (and
    kernels, and ops that kernels compute), () for none; capture_limit: bytes of them, before
    compression. against: a trace to compare with while this one is recorded; on_divergence: at the
    first op that parts from it, "capture" its operands (and those of later ops that part by
    themselves), "stop" the program, or go into "pdb".

    RuntimeError with one line where recording can't start, one is under way included.
    """
    c = extension()
    c.start(
        os.fspath(path),
        inputs=inputs,
        level=level,
        stacks=stacks,
        include=list(include),
        exclude=list(exclude),
        steps=tuple(steps),
        capture=list(capture),
        capture_limit=capture_limit,
        against=os.fspath(against),
        on_divergence=on_divergence,
    )
    _started(c)


def start_from_environment() -> None:
    """As start(), with the options that `ulpscope record` put in ULPSCOPE_* variables."""
    c = extension()
    c.start_from_environment()
    _started(c)


def _started(c: ModuleType) -> None:
    from ulpscope import _environment, inductor

    _environment.at_start(c)
    inductor.at_start(c)
    if "ulpscope.inductor.taps" not in sys.modules:
        c.meta("kernels", "not seen: the taps of compiled kernels could not be loaded")


def stop() -> str | None:
    """Ends the recording; the path of its trace, None where none was under way or written."""
    c = _extension
    if c is None or not c.recording():
        return None
    from ulpscope import _environment

    _environment.at_end(c)
    return c.stop() or None


def recording() -> bool:
    """Is this process being recorded?"""
    return _extension is not None and _extension.recording()


def step() -> None:
    """Begins the next step. After the first call only calls count, not the optimizer's steps."""
    if _extension is not None:
        _extension.step()


@contextlib.contextmanager
def region(name: str) -> Iterator[None]:
    """Marks what runs inside as one named part of the program."""
    c = _extension
    if c is None or not c.recording():
        yield
        return
    c.push_region("scope", name)
    try:
        yield
    finally:
        c.pop_region()


class record(contextlib.ContextDecorator):
    """`with ulpscope.record("run.ulps"):`, or a decorator; the options are start()'s.

    As a context manager it gives itself; `path` is the trace's path after the end.
    """

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        self.path: str | None = os.fspath(path)
        self._options = options

    def __enter__(self) -> record:
        assert self.path is not None
        start(self.path, **self._options)
        return self

    def __exit__(self, *error: object) -> None:
        self.path = stop()
