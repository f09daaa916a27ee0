"""Today's PyTorch under the recorder: each feature is recorded with and without itself, or with a fault.

A test carries @feature(name, seen): its row of docs/supported.md, which is made from the tests by
`python tests/features/supported.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
if "ULPSCOPE_PACKAGE_PATH" in os.environ:
    sys.path.insert(0, os.environ["ULPSCOPE_PACKAGE_PATH"])

import torch  # noqa: E402
import ulpscope  # noqa: E402
from cli_program import PROGRAM  # noqa: E402
from torch import nn  # noqa: E402

_factor = 1.0


@torch.library.custom_op("planted::layer", mutates_args=())
def _layer(x: torch.Tensor) -> torch.Tensor:
    """tanh, and in the faulty run a little more of it: one op to the recorder."""
    return torch.tanh(x) * _factor


@_layer.register_fake
def _(x):
    return torch.empty_like(x)


def _keep(ctx, inputs, output):
    ctx.save_for_backward(output)


def _backward(ctx, gradient):
    (output,) = ctx.saved_tensors
    return gradient * (1 - output**2)


_layer.register_autograd(_backward, setup_context=_keep)


@_layer.register_vmap
def _(info, dims, x):
    return _layer(x), dims[0]


PLANTED = "planted::layer"


@contextlib.contextmanager
def _fault():
    """Inside it the op planted::layer is off by 1%, its inputs the same."""
    global _factor
    _factor = 1.01
    try:
        yield
    finally:
        _factor = 1.0


class Net(nn.Module):
    """Two layers with the planted op between them."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        return self.second(_layer(self.first(x)))


class Answer(dict):
    """What `ulpscope diff --format=json` prints, and the exit status it ends with."""

    status: int

    @property
    def first_op(self):
        return self["first"]["op"] if self["first"] else None


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def data():
    return torch.randn(6, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def diff(tmp_path):
    def call(a, b):
        done = subprocess.run(
            [PROGRAM, "diff", str(a), str(b), "--format=json"], capture_output=True, text=True, timeout=300
        )
        assert done.stdout, done.stderr
        answer = Answer(json.loads(done.stdout))
        answer.status = done.returncode
        return answer

    return call


@pytest.fixture
def record(tmp_path):
    """record(function, fault=False) -> path of the trace of one call of it, from a fixed seed."""
    count = 0

    def call(function, fault=False, **options):
        nonlocal count
        count += 1
        path = tmp_path / f"{count}.ulps"
        torch.manual_seed(2)
        with _fault() if fault else contextlib.nullcontext():
            with ulpscope.record(path, **options):
                function()
        return path

    return call


@pytest.fixture
def compare(record, diff):
    """compare(plain, featured) -> the answer for recordings of the two."""
    return lambda a, b: diff(record(a), record(b))


@pytest.fixture
def planted(record, diff):
    """planted(function): twice the same is identical, and with the fault the planted op is first."""

    def check(function, module=None):
        function()  # what is done once only (compiling, caches) is no part of the comparison
        clean = record(function)
        same = diff(clean, record(function))
        assert (same["verdict"], same.status) == ("identical", 0), same["first"]
        faulty = diff(clean, record(function, fault=True))
        assert faulty["verdict"] == "numeric", faulty["first"]
        assert faulty.first_op == PLANTED, faulty["first"]
        if module is not None:
            assert faulty["first"]["module"] == module
        return faulty

    return check


def train(model, data, steps=2, optimizer=None, **options):
    """Steps of a training run; a fresh copy of the model, so that each call starts alike."""
    import copy

    model = copy.deepcopy(model)
    optimizer = (optimizer or torch.optim.AdamW)(model.parameters(), lr=1e-2, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()
    return model
