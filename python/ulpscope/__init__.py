"""Records what PyTorch's dispatcher runs, to find the first op where two runs part.

    with ulpscope.record("run.ulps"):
        train()

Importing this package does not import torch; recording needs it, reading a trace does not.
"""

from __future__ import annotations

from ulpscope._session import (
    record,
    recording,
    region,
    start,
    step,
    stop,
)
from ulpscope._build import VERSION as __version__

__all__ = [
    "__version__",
    "open",
    "record",
    "recording",
    "region",
    "start",
    "step",
    "stop",
]


def open(path):  # noqa: A001 - ulpscope.open, as gzip.open
    """Reads the trace file at `path`; see ulpscope.trace.Trace."""
    from ulpscope.trace import Trace

    return Trace(path)
