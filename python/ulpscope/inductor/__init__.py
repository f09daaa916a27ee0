"""Taps of torch.compile's Inductor: every kernel call of a compiled program, and where it came from.

`install()` once, before the program compiles anything; it imports nothing of torch by itself.
`status()` says which taps this torch allows. No function here raises into the user's program.
"""

from __future__ import annotations

import sys

_reported: set[str] = set()
_recorder = None
sink = None  # called with each message; set by the package, None: only ULPSCOPE_DEBUG prints


def report(what: str, error: BaseException | str) -> None:
    """Tells the trace that something of ours failed; once for each message."""
    import os

    text = f"{what}: {type(error).__name__}: {error}" if isinstance(error, BaseException) else f"{what}: {error}"
    if text in _reported:
        return
    _reported.add(text)
    if os.environ.get("ULPSCOPE_DEBUG"):
        import traceback

        print(f"ulpscope: {text}", file=sys.stderr)
        if isinstance(error, BaseException):
            traceback.print_exception(error)
    if sink is not None:
        try:
            sink(text)
        except Exception:
            pass


def install(c) -> None:
    """Installs the taps for recordings by `c`, the module ulpscope._C."""
    global sink, _recorder
    try:
        import json

        from . import compile_events, higher_order, recorder, taps

        sink = lambda text: c.event("message", json.dumps({"text": text}))  # noqa: E731
        _recorder = recorder.Recorder(c)
        taps.install(_recorder)
        compile_events.install(c)
        higher_order.install(c)
    except Exception as error:
        report("compiled kernels will not be seen", error)


def at_start(c) -> None:
    """Says in a trace that begins what it will not see."""
    try:
        from . import taps

        if _recorder is not None:
            _recorder.at_start()
        for reason in taps.unseen():
            c.not_seen(reason)
    except Exception as error:
        report("cannot say which kernels are not seen", error)


def status() -> list[tuple[str, bool, str]]:
    """(what a tap gives, does it work with this torch, why not), for `ulpscope doctor`.

    Imports torch's compiler.
    """
    from . import taps

    return taps.status()
