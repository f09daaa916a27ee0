"""Recording that follows an earlier trace and acts where it parts from it."""

import json
import subprocess
import sys

import pytest
import torch

import ulpscope

# `change` names what the second run does otherwise.
PROGRAM = """
import sys
import torch

change = sys.argv[1] if len(sys.argv) > 1 else ""
torch.manual_seed(0)
x, w, b = torch.randn(6, 4), torch.randn(4, 3), torch.randn(3)
if change == "data":
    x[0, 0] += 1
print("begins")
h = x @ w
if change == "behind":
    h.numpy()[1, 1] += 0.5
h.add_(b)
h.mul_(3 if change == "scalar" else 2)
if change == "extra":
    torch.ones(6, 3).exp()
y = torch.sigmoid(h)
z = y.sum()
print("ends", z.item())
"""


def fast(x, w, b, factor):
    h = x @ w
    h.add_(b)
    h.mul_(factor)
    return torch.sigmoid(h).sum()


@pytest.fixture(scope="module")
def tensors():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in ((6, 4), (4, 3), (3,))]


@pytest.fixture
def reference(tmp_path, tensors):
    with ulpscope.record(tmp_path / "reference.ulps", capture=[]):
        fast(*tensors, 2)
    return tmp_path / "reference.ulps"


def follow(path, reference, run, **options):
    with ulpscope.record(path, against=reference, **options):
        run()
    return ulpscope.open(path)


def divergences(trace):
    return [json.loads(event.text) for event in trace.events if event.kind == "divergence"]


def test_equal_runs_do_not_part(tmp_path, reference, tensors):
    trace = follow(tmp_path / "a.ulps", reference, lambda: fast(*tensors, 2))
    assert divergences(trace) == []
    assert trace.meta("against") == str(reference) and trace.meta("divergence") == ""
    assert not any(operand.captured for op in trace for operand in op.operands)


def test_another_scalar_is_where_a_run_parts_and_its_operands_are_kept(
    tmp_path, reference, tensors
):
    trace = follow(tmp_path / "a.ulps", reference, lambda: fast(*tensors, 3))
    (found,) = divergences(trace)  # what carries the difference on is not captured
    op = trace.op(found["op"])
    assert op.name == "aten::mul_"
    assert found["inputs"] == "agree" and found["first"] and found["captured"]
    assert ulpscope.open(reference).op(found["reference"]).name == "aten::mul_"
    x, w, b = tensors
    assert torch.equal(trace.capture(op.id, "before", 0), (x @ w).add_(b))
    assert torch.equal(trace.capture(op.id, "after", 0), (x @ w).add_(b).mul_(3))
    assert json.loads(trace.meta("divergence")) == found


def test_other_data_is_not_an_op_that_parts_by_itself(tmp_path, reference, tensors):
    x, w, b = tensors
    trace = follow(tmp_path / "a.ulps", reference, lambda: fast(x + 1, w, b, 2))
    (found,) = divergences(trace)
    assert trace.op(found["op"]).name == "aten::mm"
    assert found["inputs"] == "differ" and found["first"]
    assert torch.equal(trace.capture(found["op"], "input", 0), x + 1)


def test_an_op_that_is_added_or_left_out_has_no_partner(tmp_path, reference, tensors):
    x, w, b = tensors

    def run():
        (w * 2).mm(torch.ones(3, 2))
        fast(*tensors, 2)

    assert divergences(follow(tmp_path / "a.ulps", reference, run)) == []


def test_what_a_kernel_computes_is_followed_in_the_ops_of_the_reference(run, tmp_path):
    program = """
        import sys
        import torch
        torch.manual_seed(0)
        def f(x):
            return torch.nn.functional.elu(x, 1.24).exp() + x.mul(2)
        g = f if sys.argv[1] == "eager" else torch.compile(f)
        print(g(torch.randn(24, 57, 37)).sum().item())
    """
    eager = run(program, "eager")
    compiled = run(
        program, "inductor", ULPSCOPE_AGAINST=str(eager.files[0]), ULPSCOPE_CAPTURE="none"
    )
    (found,) = divergences(compiled.trace)
    op = compiled.trace.op(found["op"])
    assert op.kind == "kernel" and found["inputs"] == "agree" and found["captured"]
    assert all(operand.captured for operand in op.operands)
    # And the other way round, with the compiled run as the reference.
    back = run(program, "eager", ULPSCOPE_AGAINST=str(compiled.files[0]))
    found = divergences(back.trace)[0]
    assert back.trace.op(found["op"]).name == "aten::add" and found["reference"] == op.id


@pytest.mark.parametrize(
    "change, op", [("scalar", "aten::mul_"), ("behind", "aten::add_"), ("data", "aten::mm")]
)
def test_stop_ends_the_program_at_the_op(run, change, op):
    first = run(PROGRAM)
    second = run(
        PROGRAM, change, ULPSCOPE_AGAINST=str(first.files[0]), ULPSCOPE_ON_DIVERGENCE="stop"
    )
    assert second.returncode == 100
    assert second.stdout == "begins\n"
    lines = second.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("ulpscope: parts from the reference at #")
    assert not second.trace.complete
    (found,) = divergences(second.trace)
    *_, last = second.trace
    assert found["op"] == last.id and last.name == op


def test_an_extra_op_stops_nothing(run):
    first = run(PROGRAM)
    second = run(
        PROGRAM, "extra", ULPSCOPE_AGAINST=str(first.files[0]), ULPSCOPE_ON_DIVERGENCE="stop"
    )
    assert second.returncode == 0 and second.stdout.splitlines()[-1].startswith("ends")


def debug(tmp_path, reference, commands):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    script = (
        "import sys, ulpscope\n"
        "path, reference, program = sys.argv[1:4]\n"
        "sys.argv = [program, 'scalar']\n"
        "source = compile(open(program).read(), program, 'exec')\n"
        "with ulpscope.record(path, against=reference, on_divergence='pdb'):\n"
        "    exec(source, {'__name__': '__main__'})\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script, tmp_path / "b.ulps", reference, program],
        input="\n".join([*commands, ""]), capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_pdb_opens_at_the_line_with_the_operands_at_hand(run, tmp_path):
    reference = run(PROGRAM).files[0]
    done = debug(
        tmp_path,
        reference,
        [
            "p torch.equal(h, divergence['before0'] * 3), divergence.operands.keys()",
            "p (x @ w + b - divergence['before0']).abs().max().item()",
            "n",
            "p h.shape",
            "c",
        ],
    )
    assert done.returncode == 0, done.stderr
    assert "-> h.mul_(3 if change ==" in done.stdout
    assert "(True, dict_keys(" in done.stdout
    assert '-> if change == "extra"' in done.stdout  # stepped to the next line
    assert "(Pdb) ends" in done.stdout
    # What the debugger's own expressions ran is not in the trace while the op was under way.
    ops = [op.name for op in ulpscope.open(tmp_path / "b.ulps")]
    assert ops.count("aten::mm") == 1


def test_quitting_the_debugger_ends_the_program(run, tmp_path):
    done = debug(tmp_path, run(PROGRAM).files[0], ["q"])
    assert done.returncode == 1 and "bdb.BdbQuit" in done.stderr
    assert "ends" not in done.stdout


def test_a_reference_that_is_none_is_one_line(tmp_path):
    (tmp_path / "no.ulps").write_text("no trace")
    for path, says in ((tmp_path / "no.ulps", "not an ulpscope trace"), ("gone.ulps", "no such file")):
        with pytest.raises(RuntimeError, match=says):
            ulpscope.start(tmp_path / "a.ulps", against=path)
        assert not ulpscope.recording()
    with pytest.raises(ValueError, match="on_divergence"):
        ulpscope.start(tmp_path / "a.ulps", on_divergence="explode")


def test_parameters_too_large_to_copy_are_said_to_be_lost(tmp_path, tensors):
    big = [torch.ones(1000) for _ in range(2)]

    def step(factor):
        with torch.no_grad():
            torch._foreach_mul_([t.clone() for t in big], factor)

    with ulpscope.record(tmp_path / "reference.ulps"):
        step(2.0)
    trace = follow(
        tmp_path / "a.ulps", tmp_path / "reference.ulps", lambda: step(3.0), capture_limit=1000
    )
    (found,) = divergences(trace)
    assert trace.op(found["op"]).name == "aten::_foreach_mul_" and not found["captured"]
    assert int(trace.meta("captured_bytes")) == 0
