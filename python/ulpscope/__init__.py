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
    "diff",
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


def diff(a, b, **options):
    """Names the first op at which trace `b` parts from trace `a`; see ulpscope.compare.diff."""
    from ulpscope.compare import diff

    return diff(a, b, **options)
