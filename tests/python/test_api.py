"""What scripts, notebooks and pytest use of the package beside recording."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import ulpscope
import ulpscope.export


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    import torch

    folder = tmp_path_factory.mktemp("api")

    def run(path, scale):
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 4)
        x = torch.randn(2, 4)
        factor = torch.tensor([scale])
        with ulpscope.record(path):
            (layer(x) * factor).sum().backward()

    for name, scale in ("a", 2.0), ("same", 2.0), ("b", 2.5):
        run(folder / f"{name}.ulps", scale)
    return folder


def test_diff_is_typed(traces):
    found = ulpscope.diff(traces / "a.ulps", ulpscope.open(traces / "b.ulps"))
    assert not found and found.verdict == "numeric"
    assert found.first.op == "aten::mul" and found.first.phase == "forward"
    assert found.first.b.stack[-1].file.endswith("test_api.py")
    assert found.counts.pairs == len(ulpscope.open(traces / "a.ulps"))
    assert found.json["schema"] == "ulpscope.diff/1"
    assert repr(found).startswith("<ulpscope.Diff numeric: ") and "aten::mul" in repr(found)
    assert str(found).startswith("First ")
    assert "<td" in found._repr_html_() and found.html().startswith("<!DOCTYPE html>")


def test_diff_of_equal_runs_is_true_and_tolerances_count(traces):
    assert ulpscope.diff(traces / "a.ulps", traces / "same.ulps").verdict == "identical"
    assert ulpscope.diff(traces / "a.ulps", traces / "b.ulps", rtol=0.9).verdict == "within_tolerance"
    with pytest.raises(RuntimeError, match="missing.ulps"):
        ulpscope.diff(traces / "a.ulps", traces / "missing.ulps")


def test_chrome_trace_encloses_ops(traces, tmp_path):
    ulpscope.export.to_chrome(traces / "a.ulps", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    ops = [event for event in events if "args" in event]
    assert [event["args"]["id"] for event in ops] == [op.id for op in ulpscope.open(traces / "a.ulps")]
    step = next(event for event in events if event["cat"] == "step")
    module = next(event for event in events if event["cat"] == "module")
    inside = [event for event in ops if module["ts"] <= event["ts"] < module["ts"] + module["dur"]]
    assert "aten::addmm" in [event["name"] for event in inside]
    assert all(step["ts"] <= event["ts"] <= step["ts"] + step["dur"] for event in ops)


def test_tables(traces, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="an optional extra")
    pytest.importorskip("pandas", reason="an optional extra")
    import pyarrow.parquet

    operands = sum(len(op.operands) for op in ulpscope.open(traces / "a.ulps"))
    table = ulpscope.export.to_arrow(traces / "a.ulps")
    frame = ulpscope.export.to_pandas(traces / "a.ulps")
    assert table.num_rows == len(frame) == operands
    assert table.column_names == list(frame.columns) == list(ulpscope.export.COLUMNS)
    ulpscope.export.to_parquet(traces / "a.ulps", tmp_path / "a.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "a.parquet").equals(table)


PLUGIN = """
    import os
    import pytest
    import torch

    FACTOR = float(os.environ.get("FACTOR", "2"))

    @pytest.mark.ulpscope
    def test_marked():
        torch.manual_seed(0)
        torch.randn(3) * torch.tensor(FACTOR)

    @pytest.mark.parametrize("n", [1, 2])
    def test_fixture(ulpscope_gate, n):
        torch.manual_seed(n)
        x = torch.randn(4, 4)
        with ulpscope_gate("square"):
            x @ x

    @pytest.mark.ulpscope
    def test_fails_by_itself():
        torch.ones(2).sum()
        raise ValueError("its own")
"""


def test_pytest_plugin(tmp_path):
    (tmp_path / "test_numbers.py").write_text(textwrap.dedent(PLUGIN))

    def run(*flags, **environment):
        package = pathlib.Path(ulpscope.__file__).parent.parent
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "ulpscope.pytest_plugin", "-p", "no:cacheprovider", "-q", *flags],
            cwd=tmp_path, capture_output=True, text=True, timeout=600,
            env=os.environ | {"PYTHONPATH": str(package)} | environment,
        ).stdout  # fmt: skip

    assert "there is no baseline" in run("-k", "marked")
    assert "3 passed, 1 failed" in flat(run("--ulpscope-update"))
    assert "3 passed, 1 failed" in flat(run())
    moved = run(FACTOR="3")
    assert "2 passed, 2 failed" in flat(moved) and "aten::mul" in moved and "its own" in moved
    assert "pytest --ulpscope-update" in moved and "gate accept" not in moved
    run("--ulpscope-update", "--ulpscope-reason", "thrice", FACTOR="3")
    assert "3 passed, 1 failed" in flat(run(FACTOR="3"))
    folders = sorted(path.name for path in (tmp_path / "ulpscope-gate" / "test_numbers").iterdir())
    assert folders == ["test_fixture_1-square", "test_fixture_2-square", "test_marked"]
    history = (tmp_path / "ulpscope-gate" / "test_numbers" / "test_marked" / "history.md").read_text()
    assert "thrice" in history


def flat(output: str) -> str:
    """Counts in one order: "3 passed, 1 failed"."""
    last = output.splitlines()[-1]
    words = last.replace(",", "").split()
    counts = {kind: words[words.index(kind) - 1] for kind in ("passed", "failed") if kind in words}
    return ", ".join(f"{number} {kind}" for kind, number in counts.items())
