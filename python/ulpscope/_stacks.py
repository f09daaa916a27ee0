"""Tells the stack provider (src/stack_provider.h) whose code is whose."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from types import ModuleType


def install(c: ModuleType) -> None:
    import torch

    def folder(module: ModuleType) -> str:
        return os.path.dirname(os.path.abspath(module.__file__ or "")) + os.sep

    import ulpscope

    generated = [
        os.environ.get("TORCHINDUCTOR_CACHE_DIR"),
        os.path.join(tempfile.gettempdir(), "torchinductor_"),
    ]
    c.install_stacks(
        [folder(torch), "<eval_with_key>", *filter(None, generated)],
        [folder(ulpscope), contextlib.__file__, folder(importlib), "<frozen "],
    )
