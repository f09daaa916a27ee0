import json

import pytest


def lines(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_tree_has_steps_phases_and_ops(ulpscope, traces):
    out = ulpscope("show", traces / "a.ulps").stdout.splitlines()
    assert out[0].startswith(f"{traces / 'a.ulps'}: ") and "ops in" in out[0]
    headings = [line for line in out if line and "#" not in line and ":" not in line]
    assert "step 0" in headings and "step 1" in headings
    assert "  forward" in headings and "  backward" in headings and "  optimizer" in headings
    assert any("aten::addmm(f32[16], f32[5, 8], f32[8, 16]) -> f32[5, 16]" in line for line in out)
    assert out[-1].startswith("next: ulpscope ")


def test_json_has_the_trace_and_then_an_op_a_line(ulpscope, traces):
    trace, *rest = lines(ulpscope("show", traces / "a.ulps", "--format=json"))
    ops = [entry for entry in rest if entry["type"] == "op"]
    assert trace["type"] == "trace" and trace["complete"] is True
    assert trace["coverage"]["ops"] == len(ops) > 20
    assert [op["id"] for op in ops] == sorted(op["id"] for op in ops)
    addmm = next(op for op in ops if op["op"] == "aten::addmm")
    assert addmm["phase"] == "forward"
    assert [operand["role"] for operand in addmm["operands"]] == ["input"] * 3 + ["output"]
    output = addmm["operands"][-1]
    assert output["shape"] == [5, 16] and output["dtype"] == "float32"
    assert len(output["digest"]) == 32 and output["statistics"]["components"] == 80
    tanh = next(op for op in ops if op["op"] == "aten::tanh")
    read = tanh["operands"][0]
    assert read["digest"] == output["digest"] and read["closure"] == "matched" and read["writer"] == addmm["id"]


def test_filters(ulpscope, traces):
    def ops(*flags):
        return [e for e in lines(ulpscope("show", traces / "a.ulps", "--format=json", *flags)) if e["type"] == "op"]

    everything = ops()
    assert ops("--step", "1") == [op for op in everything if op["step"] == 1] != []
    addmm = ops("--op", "aten::addmm")
    assert addmm == [op for op in everything if op["op"] == "aten::addmm"]
    assert len(addmm) == 4
    assert ops("--op", "aten::addmm", "--step", "0") == addmm[:2]
    assert ops("--limit", "3") == everything[:3]
    assert ops("--op", "no::such") == []


def test_a_limit_tells_how_many_are_left_out(ulpscope, traces):
    total = int(json.loads(ulpscope("show", traces / "a.ulps", "--format=json").stdout.splitlines()[0])["entries"])
    out = ulpscope("show", traces / "a.ulps", "--limit", "5").stdout
    assert f"... and {total - 5} more" in out


def test_environment(ulpscope, traces):
    out = ulpscope("show", traces / "a.ulps", "--environment").stdout
    assert "2.13.0" in out and "#1 " not in out


@pytest.mark.parametrize("terminal, expected", [("xterm", False), ("dumb", False)])
def test_no_colour_outside_a_terminal(ulpscope, traces, terminal, expected):
    out = ulpscope("show", traces / "a.ulps", env={"TERM": terminal}).stdout
    assert ("\x1b" in out) is expected
