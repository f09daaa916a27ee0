"""Drives the installed `ulpscope` (or the one that ULPSCOPE_PROGRAM names) as a user does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from cli_program import PROGRAM

TRAIN = """
import sys
import torch

scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if sys.argv[2:] == ["seed"]:
    torch.manual_seed(1)
x = torch.randn(5, 8)
for step in range(2):
    optimizer.zero_grad()
    hidden = model[1](model[0](x))
    if sys.argv[2:] == ["relu"]:
        hidden = hidden.relu()
    loss = (model[2](hidden) * scale).square().mean()
    loss.backward()
    optimizer.step()
"""


@pytest.fixture(scope="session")
def ulpscope():
    """ulpscope(*arguments, cwd=..., env=...) -> CompletedProcess, with text and no terminal."""
    assert shutil.which(PROGRAM), f"{PROGRAM} is not there; run scripts/setup, or set ULPSCOPE_PROGRAM"

    def call(*arguments, **options):
        options.setdefault("timeout", 300)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ULPSCOPE_")}
        environment |= options.pop("env", {})
        return subprocess.run(
            [PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=environment, **options
        )

    return call


@pytest.fixture(scope="session")
def traces(ulpscope, tmp_path_factory):
    """A folder with a.ulps and same.ulps of equal runs, other.ulps of a run whose loss is scaled,
    extra.ulps of one that runs one more op, and seed.ulps of one with other data."""
    folder = tmp_path_factory.mktemp("traces")
    (folder / "train.py").write_text(TRAIN)
    runs = {"a": [], "same": [], "other": ["1.5"], "extra": ["1.0", "relu"], "seed": ["1.0", "seed"]}
    for name, arguments in runs.items():
        done = ulpscope(
            "record", "-o", f"{name}.ulps", "--", sys.executable, "train.py", *arguments, cwd=folder
        )
        assert done.returncode == 0, done.stderr
        assert (folder / f"{name}.ulps").exists(), done.stderr
    return folder


def one_line(done):
    """The single line of an error, which must say nothing on stdout and end with status 2."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("ulpscope: ")
    return lines[0]


@pytest.fixture(scope="session")
def error_line():
    return one_line
