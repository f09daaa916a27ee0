"""The gate as a project uses it: the example in examples/gate_python, and what it says of changes."""

import json
import os
import pathlib
import shutil
import sys

import pytest

from cli_program import ROOT

EXAMPLE = ROOT / "examples" / "gate_python"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


PYTHON_FIRST = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
NORM = "return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)"
# One line of layers.py, before and after.
CHANGES = {
    "numeric": (NORM, "return x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps)"),
    "small": (NORM, f"{NORM} * 1.00001"),
    "large": (NORM, f"{NORM} * 1.01"),
    "structural": ("self.up(rms_norm(x, 1e-6))", "self.up(rms_norm(x.clamp(-3, 3), 1e-6))"),
}


def copy(folder: pathlib.Path, change: str | None = None) -> pathlib.Path:
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__", "checked"))
    if change:
        before, after = CHANGES[change]
        layers = folder / "layers.py"
        assert layers.read_text().count(before) == 1
        layers.write_text(layers.read_text().replace(before, after))
    return folder


@pytest.fixture(scope="module")
def runs(ulpscope, tmp_path_factory):
    """Traces of the example as it is and with one line changed: runs["numeric"]; with two threads:
    runs["large2"]."""
    folder = tmp_path_factory.mktemp("runs")
    found = {}
    for name, change, threads in [
        ("base", None, 1), ("numeric", "numeric", 1), ("small", "small", 1),
        ("structural", "structural", 1), ("base2", None, 2), ("large2", "large", 2),
    ]:  # fmt: skip
        project = copy(folder / name, change)
        found[name] = project / "run.ulps"
        done = ulpscope("record", "-o", "run.ulps", "--", sys.executable, "train.py", cwd=project,
                        env=ENVIRONMENT | {"OMP_NUM_THREADS": str(threads)})  # fmt: skip
        assert done.returncode == 0, done.stderr
    return found


@pytest.fixture
def gate(ulpscope, runs, tmp_path):
    """gate("check", ...) in a folder whose gate has accepted runs["base"]."""

    def call(*arguments):
        return ulpscope("gate", *arguments, cwd=tmp_path, env=ENVIRONMENT)

    assert call("record", "--trace", runs["base"]).returncode == 0
    return call


def check(gate, trace, status: int, *flags) -> dict:
    done = gate("check", "--trace", trace, "--format=json", *flags)
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_example_passes_with_the_baseline_that_is_committed(ulpscope, tmp_path):
    project = copy(tmp_path / "project")
    done = ulpscope("gate", "check", cwd=project, env=ENVIRONMENT | {"PATH": PYTHON_FIRST})
    # The very bits where the machine is of the kind that accepted it, else within the fallback.
    assert done.returncode == 0, done.stdout + done.stderr
    assert "loss" not in done.stdout and "step 0 loss" in done.stderr


def test_a_command_is_recorded_and_run_again(ulpscope, tmp_path):
    project = copy(tmp_path / "project")
    shutil.rmtree(project / "ulpscope-gate")
    environment = ENVIRONMENT | {"PATH": PYTHON_FIRST}
    done = ulpscope("gate", "record", "--", "python", "train.py", cwd=project, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "next: git add ulpscope-gate && ulpscope gate check"
    again = ulpscope("gate", "record", "--", "python", "train.py", cwd=project, env=environment)
    assert again.returncode == 2 and "is there already" in again.stderr
    done = ulpscope("gate", "check", cwd=project, env=environment)
    assert done.returncode == 0 and done.stdout.startswith("Identical: all "), done.stdout + done.stderr
    failing = ulpscope("gate", "check", "--", "python", "-c", "import sys; sys.exit(7)", cwd=project, env=environment)
    assert failing.returncode == 2 and "status 7" in failing.stderr


def test_a_numeric_change_fails_with_its_op_until_it_is_accepted(gate, runs, tmp_path):
    assert check(gate, runs["base"], 0)["verdict"] == "identical"
    first = check(gate, runs["numeric"], 1)["first"]
    assert first["op"] == "shop::rms_norm"
    assert (first["step"], first["phase"], first["module"]) == (0, "forward", "1")
    assert any(frame["file"].endswith("layers.py") for frame in first["b"]["stack"])

    text = gate("check", "--trace", runs["numeric"]).stdout
    assert text.startswith("First divergent op: shop::rms_norm, output 0")
    assert "by op" in text and "If the change is wanted: ulpscope gate accept" in text
    assert text.splitlines()[-1].startswith("next: ulpscope gate check")

    refused = gate("accept")
    assert refused.returncode == 2 and "--reason" in refused.stderr
    accepted = gate("accept", "--reason", "division rounds better")
    assert accepted.returncode == 0, accepted.stderr
    assert "shop::rms_norm" in accepted.stdout
    assert check(gate, runs["numeric"], 0)["verdict"] == "identical"
    assert check(gate, runs["base"], 1)["first"]["op"] == "shop::rms_norm"
    history = (tmp_path / "ulpscope-gate" / "history.md").read_text()
    assert "division rounds better" in history and "shop::rms_norm" in history


def test_a_structural_change_ends_with_3(gate, runs):
    first = check(gate, runs["structural"], 3)["first"]
    assert (first["op"], first["difference"]) == ("aten::clamp", "extra")


def test_another_thread_count_compares_statistics(gate, runs, tmp_path):
    done = gate("check", "--trace", runs["base2"])
    assert done.returncode == 0, done.stdout
    assert "no baseline of this environment" in done.stdout and "threads.intra_op" in done.stdout
    assert check(gate, runs["large2"], 1)["first"]["op"] == "shop::rms_norm"
    assert check(gate, runs["large2"], 0, "--fallback-rtol", "0.5")["verdict"] == "within_tolerance"
    assert gate("accept", "--reason", "two threads, and louder").returncode == 0
    assert check(gate, runs["large2"], 0)["verdict"] == "identical"
    assert len(list((tmp_path / "ulpscope-gate").glob("*.baseline"))) == 2
    assert gate("status").stdout.count("607 ops in 4 steps") == 2


def test_rules_and_reports(gate, runs, tmp_path):
    done = gate("check", "--trace", runs["small"], "--report", "html=gate.html", "--report", "junit=gate.xml",
                "--format=github")  # fmt: skip
    assert done.returncode == 1 and done.stdout.startswith("::error "), done.stdout
    assert (tmp_path / "gate.html").read_text().startswith("<!DOCTYPE html>")
    assert "<failure" in (tmp_path / "gate.xml").read_text()
    (tmp_path / "ulpscope-gate" / "rules.toml").write_text("[[rule]]\nrtol = 1e-2\n")
    assert check(gate, runs["small"], 0)["verdict"] == "within_tolerance"


def test_mistakes_are_told_in_one_line(gate, runs, error_line, tmp_path):
    error_line(gate("check", "--dir", "nowhere"))
    error_line(gate("record", "--dir", "new"))
    error_line(gate("record", "--dir", "new", "--trace", "no.ulps"))
    error_line(gate("check", "--report", "nonsense=x"))
    assert "nothing to accept" in error_line(gate("accept", "--reason", "x"))
    baseline = next((tmp_path / "ulpscope-gate").glob("*.baseline"))
    baseline.write_text(baseline.read_text().replace("values\n", "value\n"))
    assert "version control" in error_line(gate("check", "--trace", runs["base"]))
