"""Runs real programs under the recorder, in this process or as `ulpscope record` starts them."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
CASES = ROOT / "tests" / "cases"

# A build that is not installed: the folder that holds the built package.
if "ULPSCOPE_PACKAGE_PATH" in os.environ:
    sys.path.insert(0, os.environ["ULPSCOPE_PACKAGE_PATH"])

import ulpscope  # noqa: E402

PACKAGE = pathlib.Path(ulpscope.__file__).parent


@dataclasses.dataclass
class Result:
    """What a program did, and the traces that it left."""

    returncode: int
    stdout: str
    stderr: str
    folder: pathlib.Path

    @property
    def files(self) -> list[pathlib.Path]:
        return sorted(self.folder.glob("*.ulps"))

    @property
    def trace(self):
        assert (self.folder / "run.ulps").exists(), f"no trace; stderr: {self.stderr}"
        return ulpscope.open(self.folder / "run.ulps")


def environment(output: pathlib.Path | None, inject=PACKAGE / "_inject", **more: str) -> dict:
    """The variables that `ulpscope record -o output` sets for its command; None: not recorded."""
    result = {k: v for k, v in os.environ.items() if not k.startswith("ULPSCOPE_")}
    result |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "2"}
    result |= more
    if output is not None:
        result |= {"ULPSCOPE_RECORD": "1", "ULPSCOPE_OUTPUT": str(output)}
        own = result.get("PYTHONPATH")
        result["PYTHONPATH"] = str(inject) + (os.pathsep + own if own else "")
    return result


@pytest.fixture
def run(tmp_path):
    """run(program, *arguments, record=True, ...) -> Result.

    `program`: a path, or the text of one. `python`: what stands between the interpreter and the
    arguments instead of the program, ["-m", "package"].
    """
    count = 0

    def call(program=None, *arguments, record=True, python=None, timeout=600, inject=None, **env):
        nonlocal count
        count += 1
        folder = tmp_path / f"run{count}"
        folder.mkdir()
        if isinstance(program, str):
            text = textwrap.dedent(program)
            program = tmp_path / f"program_{hashlib.sha1(text.encode()).hexdigest()[:8]}.py"
            program.write_text(text)
        command = [sys.executable, *(python if python is not None else [str(program)])]
        done = subprocess.run(
            [*command, *map(str, arguments)],
            env=environment(
                folder / "run.ulps" if record else None, inject or PACKAGE / "_inject", **env
            ),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Result(done.returncode, done.stdout, done.stderr, folder)

    return call


@pytest.fixture
def recorded(tmp_path):
    """recorded(function, **options) -> the trace of one call of it, recorded in this process."""
    count = 0

    def call(function, **options):
        nonlocal count
        count += 1
        path = tmp_path / f"recorded{count}.ulps"
        with ulpscope.record(path, **options):
            function()
        return ulpscope.open(path)

    return call
