"""ulpscope.record, start, stop, step, region, open."""

import pathlib

import pytest
import torch

import ulpscope

X = torch.randn(3, 4)


def test_context_manager_and_decorator(tmp_path):
    with ulpscope.record(tmp_path / "a.ulps") as recording:
        assert ulpscope.recording()
        X.sin()
    assert not ulpscope.recording()
    assert recording.path == str(tmp_path / "a.ulps")

    @ulpscope.record(tmp_path / "b.ulps")
    def work():
        return X.cos()

    assert torch.equal(work(), X.cos())
    assert [op.name for op in ulpscope.open(tmp_path / "a.ulps")] == ["aten::sin"]
    trace = ulpscope.open(tmp_path / "b.ulps")
    assert [op.qualified for op in trace] == ["aten::cos"]
    assert trace.complete


def test_an_exception_is_the_programs_own(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with ulpscope.record(tmp_path / "a.ulps"):
            X.sin()
            raise ZeroDivisionError
    assert ulpscope.open(tmp_path / "a.ulps").complete


def test_refusals_are_one_line(tmp_path):
    with ulpscope.record(tmp_path / "a.ulps"):
        with pytest.raises(RuntimeError) as refusal:
            ulpscope.start(tmp_path / "b.ulps")
        assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match="inputs must be"):
        ulpscope.start(tmp_path / "c.ulps", inputs="some")
    with pytest.raises(ValueError, match="level must be"):
        ulpscope.start(tmp_path / "c.ulps", level="most")
    assert not ulpscope.recording()


def test_steps_and_regions(recorded):
    def program():
        X.sin()
        ulpscope.step()
        with ulpscope.region("warm up"):
            X.cos()
        ulpscope.step()
        with torch.profiler.record_function("mine"):
            X.tan()

    ops = {op.name: op for op in recorded(program)}
    assert [ops[f"aten::{n}"].step for n in ("sin", "cos", "tan")] == [0, 1, 2]
    assert ("scope", "warm up") in {(r.kind, r.name) for r in ops["aten::cos"].regions}
    assert ("scope", "mine") in {(r.kind, r.name) for r in ops["aten::tan"].regions}
    assert not ops["aten::sin"].regions


def test_optimizer_ends_a_step_and_phases_are_told(recorded):
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)

    def program():
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(X).square().mean()
            loss.backward()
            optimizer.step()
            loss.item()

    trace = recorded(program)
    assert trace.steps == [0, 1]
    phases = {}
    for op in trace:
        phases.setdefault(op.name, set()).add((op.step, op.phase))
    assert phases["aten::addmm"] == {(0, "forward"), (1, "forward")}
    assert phases["aten::mm"] == {(0, "backward"), (1, "backward")}
    assert phases["aten::_foreach_mul_"] == {(0, "optimizer"), (1, "optimizer")}
    region = {r.name for op in trace if op.phase == "optimizer" for r in op.regions}
    assert "AdamW" in " ".join(region)


def test_options(tmp_path, recorded):
    def program():
        X.sin()
        X.cos()

    digests = recorded(program, level="digest", inputs="off")
    operands = [o for op in digests for o in op.operands]
    assert all(o.statistics is None for o in operands)
    assert {o.skipped for o in operands if o.role == "input"} == {"option"}
    assert all(o.digest for o in operands if o.role == "output")

    for options in ({"exclude": ["aten::cos"]}, {"include": ["aten::s*"]}):
        hashed = [op.name for op in recorded(program, **options) for o in op.operands if o.digest]
        assert set(hashed) == {"aten::sin"}


def test_a_trace_read_back(recorded):
    trace = recorded(lambda: torch.add(X, X, alpha=0.5))
    (op,) = trace
    assert (op.kind, op.name, op.overload) == ("op", "aten::add", "Tensor")
    assert op.scalars == {"alpha": "0.5"}
    first, second, result = op.operands
    assert (first.role, first.dtype, first.shape, first.strides) == ("input", "float32", (3, 4), (4, 1))
    assert first.digest == second.digest != result.digest
    assert result.statistics["max"] == float((X * 1.5).max())
    assert len(result.sketch) == 16
    assert trace.coverage.ops == 1 and trace.coverage.hashed == 3
    assert trace.environment["torch.version"] == "2.13.0"
    assert trace.environment["default_dtype"] in ("float", "float32", "Float")
    assert pathlib.Path(op.stack[-1].file).name == "test_api.py"


def test_files_that_are_no_trace(tmp_path):
    missing = tmp_path / "missing.ulps"
    with pytest.raises(OSError) as error:
        ulpscope.open(missing)
    assert "\n" not in str(error.value)
    foreign = tmp_path / "foreign.ulps"
    foreign.write_text("no trace")
    with pytest.raises(OSError):
        ulpscope.open(foreign)


def test_a_recording_without_ops_leaves_a_trace(recorded):
    trace = recorded(lambda: None)
    assert trace.complete
    assert list(trace) == []


def test_a_path_that_cannot_be_written_is_said_at_the_start(tmp_path):
    with pytest.raises(RuntimeError, match="missing"):
        ulpscope.record(tmp_path / "missing" / "run.ulps").__enter__()
    assert not ulpscope.recording()
    with ulpscope.record(tmp_path / "run.ulps"):
        torch.ones(2)
    assert (tmp_path / "run.ulps").exists()
