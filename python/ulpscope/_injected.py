"""Recording of a program that does not know of it; see _inject/sitecustomize.py."""

from __future__ import annotations

import sys
from types import ModuleType

from ulpscope._imports import when_imported


def install() -> None:
    """Recording starts when the program has imported torch, before its next statement."""
    when_imported("torch", _start)


def _start(torch: ModuleType) -> None:
    from ulpscope import _session

    try:
        _session.start_from_environment()
    except RuntimeError as error:
        print(f"ulpscope: not recording: {error}", file=sys.stderr)
