import json
import sys

import pytest


def first_of(ulpscope, a, b):
    return json.loads(ulpscope("diff", a, b, "--format=json").stdout)["first"]


def test_the_first_op_is_explained_by_its_operands(ulpscope, traces):
    a, b = traces / "a.ulps", traces / "other.ulps"
    first = first_of(ulpscope, a, b)
    done = ulpscope("explain", a, b, first["a"]["id"])
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("aten::mul ")
    assert any(line.startswith("reads") and "identical" in line for line in lines)
    assert any(line.startswith("writes") and "relative" in line for line in lines)
    assert any("first of the frontier" in line for line in lines)
    assert lines[-1] == f"next: ulpscope view {a} {b}"


def test_what_is_inherited_is_led_back_to_its_origin(ulpscope, traces):
    a, b = traces / "a.ulps", traces / "other.ulps"
    first = first_of(ulpscope, a, b)
    done = ulpscope("explain", a, b, first["a"]["id"] + 1)
    inherited = [line for line in done.stdout.splitlines() if line.startswith("inherited")]
    assert len(inherited) == 1 and f"#{first['a']['id']}" in inherited[0], done.stdout
    assert done.stdout.splitlines()[-1] == f"next: ulpscope explain {a} {b} {first['a']['id']}"


def test_an_op_of_b_alone(ulpscope, traces):
    a, b = traces / "a.ulps", traces / "extra.ulps"
    first = first_of(ulpscope, a, b)
    done = ulpscope("explain", a, b, first["b"]["id"], "--of-b")
    assert done.stdout.startswith("aten::relu ") and "No op of A" in done.stdout


@pytest.mark.parametrize("op", ["100000", "mm", "-"])
def test_no_such_op(ulpscope, error_line, traces, op):
    line = error_line(ulpscope("explain", traces / "a.ulps", traces / "same.ulps", op))
    assert "show" in line


UNSTEADY = """
import os, torch
torch.manual_seed(0)
x = torch.ones(4, 4) + 1
torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
(torch.rand(4, 4) * x).sum()
"""


def test_repeat_names_the_op_that_is_not_deterministic(ulpscope, tmp_path):
    (tmp_path / "unsteady.py").write_text(UNSTEADY)
    done = ulpscope("repeat", "-n", 3, "-o", "runs", "--format=json", "--", sys.executable, "unsteady.py",
                    cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    assert [op["op"] for op in answer["ops"]] == ["aten::rand"]
    assert answer["ops"][0]["distinct_results"] == 3 and answer["ops"][0]["runs_that_differ"] == 2
    assert not answer["deterministic"] and len(answer["traces"]) == 3
    assert all((tmp_path / trace).exists() for trace in answer["traces"])


def test_repeat_of_a_steady_command(ulpscope, tmp_path):
    (tmp_path / "steady.py").write_text("import torch\ntorch.ones(3).exp().sum()\n")
    done = ulpscope("repeat", "-n", 2, "--", sys.executable, "steady.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Deterministic:" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("next: ulpscope diff repeat-1/run-1.ulps")


def test_repeat_without_a_command(ulpscope, error_line):
    assert "after --" in error_line(ulpscope("repeat", "-n", 2))
