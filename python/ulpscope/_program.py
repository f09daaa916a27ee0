"""The `ulpscope` command line of this installation, for the parts of the package that use it."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys


def find() -> str:
    """Its path. FileNotFoundError, with one line that says what to do, where there is none."""
    package = pathlib.Path(__file__).absolute().parent
    candidates = [
        os.environ.get("ULPSCOPE_PROGRAM"),
        pathlib.Path(sys.executable).parent / "ulpscope",
        package.parent.parent / "cli" / "ulpscope",  # a build folder
        package.parents[3] / "bin" / "ulpscope",  # PREFIX/lib/python3.x/site-packages/ulpscope
        shutil.which("ulpscope"),
    ]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return str(candidate)
    raise FileNotFoundError(
        "the program `ulpscope` is not there; install the package with its command line, put it on "
        "PATH, or name it in ULPSCOPE_PROGRAM"
    )


def run(*arguments: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
    """Runs it, as a child that is not recorded itself."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ULPSCOPE_")}
    return subprocess.run(
        [find(), *map(os.fspath, arguments)], capture_output=True, text=True, env=environment
    )
