"""Writes docs/supported.md from the tests of this folder: python tests/features/supported.py [--check]."""

from __future__ import annotations

import importlib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs" / "supported.md"
HEAD = """# What is seen of today's PyTorch

Each row is proved by a test under `tests/features/`: the feature is recorded with and without itself, or
twice with a fault in the second run, and the op that `ulpscope diff` names is checked. This page is made
from those tests by `python tests/features/supported.py`.

Tensors on devices other than the CPU are recorded without a fingerprint, with the reason `device`: no
GPU has tested anything here.
"""


def page() -> str:
    sys.path.insert(0, str(FOLDER))
    from feature import ROWS

    text = HEAD
    for path in sorted(FOLDER.glob("test_*.py")):
        ROWS.clear()
        module = importlib.import_module(path.stem)
        if not ROWS:
            continue
        heading = module.__doc__.splitlines()[0].rstrip(".")
        text += f"\n## {heading}\n\n| feature | seen in a trace | test |\n|---|---|---|\n"
        for name, seen, test in ROWS:
            text += f"| {name} | {seen} | `{test}` |\n"
    return text


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        sys.exit("docs/supported.md is not what the tests say; run this without --check")
