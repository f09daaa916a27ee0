"""The op whose value a kernel's output is said to hold is the right one, in value."""

import pathlib

import pytest

from helpers import last_json, ok

PROGRAM = pathlib.Path(__file__).parent / "programs" / "ties.py"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory, request):
    import ulpscope

    folder = tmp_path_factory.mktemp("ties")
    package = pathlib.Path(ulpscope.__file__).parent.parent

    import os
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env={**os.environ, "PYTHONPATH": str(package), "HF_HUB_OFFLINE": "1", "ULPSCOPE_DEBUG": "1",
             "TORCHINDUCTOR_CACHE_DIR": str(folder), "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    return last_json(ok(done))


def test_no_tie_is_wrong(outcome):
    assert {name: wrong for name, (_, wrong) in outcome.items() if wrong} == {}


#: Bytes that a case's kernels write and eager has no value for, and why.
WITHOUT = {"inside a decomposition", "a partial result of the compiler", "no such op in eager"}


def test_what_has_a_counterpart_is_tied(outcome):
    for name, (bytes_, _) in outcome.items():
        assert bytes_.get("tied", 0) > 0, name
        assert set(bytes_) <= WITHOUT | {"tied", "a value under way"}, name


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_transformers(outcome, name):
    bytes_ = outcome[name][0]
    decomposed = bytes_.get("inside a decomposition", 0)
    assert bytes_["tied"] >= 0.99 * (sum(bytes_.values()) - decomposed)
    assert bytes_["tied"] >= 0.9 * sum(bytes_.values())
