"""Which `ulpscope` the tests drive."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ULPSCOPE_PROGRAM") or str(pathlib.Path(sys.executable).parent / "ulpscope")
