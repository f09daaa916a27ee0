import json
import sys

import pytest

PROGRAM = """
import sys
import torch

x = torch.arange(12.0).reshape(3, 4).t()
y = x.exp()
if sys.argv[1] == "b":
    y.numpy()[2, 1] *= 2
    y.numpy()[0, 0] = float("nan")
    y = y.clone().view(torch.int32)
    y[1, 2] += 3
    y = y.view(torch.float32)
y.neg()
"""


@pytest.fixture(scope="module")
def runs(ulpscope, tmp_path_factory):
    folder = tmp_path_factory.mktemp("values")
    (folder / "program.py").write_text(PROGRAM)
    for name in "ab":
        done = ulpscope(
            "record", "-o", f"{name}.ulps", "--capture", "aten::neg", "--capture", "aten::exp", "--",
            sys.executable, "program.py", name, cwd=folder,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    return folder


def ids(ulpscope, trace):
    lines = ulpscope("show", trace, "--format=json").stdout.splitlines()
    return {op["op"]: op["id"] for op in map(json.loads, lines) if op["type"] == "op"}


def test_differences_have_coordinates_and_ulps(ulpscope, runs):
    a, b = ids(ulpscope, runs / "a.ulps"), ids(ulpscope, runs / "b.ulps")
    done = ulpscope(
        "values", "a.ulps", f"{a['aten::neg']}:input0", "b.ulps", f"{b['aten::neg']}:input0",
        "--format=json", cwd=runs,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    result = json.loads(done.stdout)
    assert result["schema"] == "ulpscope.values/1"
    assert result["a"]["op"] == "aten::neg" and result["a"]["operand"]["shape"] == [4, 3]
    assert result["a"]["operand"]["stride"] == [1, 4]
    assert (result["elements"], result["differing"], result["non_finite"]) == (12, 3, 1)
    assert result["histogram"] == [
        {"above": None, "to": 0.0, "count": 9},
        {"above": 2.0, "to": 4.0, "count": 1},
        {"above": 2.0**22, "to": 2.0**23, "count": 1},
    ]
    assert result["max_ulps"] == 2**23 and result["max_relative"] == 0.5
    nan, doubled, third = result["largest"]
    assert nan["index"] == [0, 0] and nan["b"] == "nan"
    assert doubled["index"] == [2, 1] and doubled["b"] == 2 * doubled["a"]
    assert third["index"] == [1, 2] and third["ulps"] == 3


def test_text_has_a_histogram_and_ends_with_the_next_command(ulpscope, runs):
    a, b = ids(ulpscope, runs / "a.ulps"), ids(ulpscope, runs / "b.ulps")
    done = ulpscope(
        "values", "a.ulps", a["aten::neg"], "b.ulps", b["aten::neg"], "--by=ulps", "--largest=2",
        cwd=runs,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "3 of 12 elements differ" in done.stdout
    assert "1 NaN or infinite on one side, not on the other" in done.stdout
    listed = done.stdout.split("largest differences (ulps)\n")[1].splitlines()[:2]
    assert [line.split("]")[0] for line in listed] == ["  [0, 0", "  [2, 1"]
    assert done.stdout.splitlines()[-1] == "next: ulpscope diff a.ulps b.ulps"


def test_equal_values_agree(ulpscope, runs):
    a = ids(ulpscope, runs / "a.ulps")
    done = ulpscope(
        "values", "a.ulps", f"{a['aten::exp']}:output", "a.ulps", f"{a['aten::neg']}:input", cwd=runs
    )
    assert done.returncode == 0, done.stderr
    assert "identical: all 12 elements are the same" in done.stdout


@pytest.mark.parametrize(
    "operand, says",
    [
        ("exp", "22:after1"),
        ("0", "22:after1"),
        ("1:inputs", "22:after1"),
        ("999999", "has no op #999999"),
        ("{neg}:before", "has no such operand"),
        ("{arange}", "--capture=aten::arange"),
        ("{exp}:output0.", "22:after1"),
    ],
)
def test_what_is_not_there_is_one_line(ulpscope, runs, error_line, operand, says):
    a = ids(ulpscope, runs / "a.ulps")
    operand = operand.format(neg=a["aten::neg"], exp=a["aten::exp"], arange=a["aten::arange"])
    assert says in error_line(ulpscope("values", runs / "a.ulps", operand, runs / "a.ulps", "1"))


def test_captured_operands_are_marked(ulpscope, runs):
    a = ids(ulpscope, runs / "a.ulps")
    lines = ulpscope("show", runs / "a.ulps", "--format=json").stdout.splitlines()
    ops = {op["id"]: op for op in map(json.loads, lines) if op["type"] == "op"}
    assert all(operand["captured"] for operand in ops[a["aten::exp"]]["operands"])
    out = ulpscope("show", runs / "a.ulps", "--operands").stdout
    assert out.count("  captured") >= 4
