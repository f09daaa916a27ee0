"""Kernels of AOTInductor packages, run in Python and by a C++ program without Python."""

import json
import os
import pathlib
import re
import subprocess
import zipfile

import conftest
import pytest
import ulpscope
from helpers import kernels, ok

PROGRAM = pathlib.Path(__file__).parent / "programs" / "package.py"
ULPSCOPE = os.environ.get("ULPSCOPE_PROGRAM", "ulpscope")


def run_package() -> str:
    """tests/hook/programs/run_package.cpp, as the newest build made it."""
    if "ULPSCOPE_RUN_PACKAGE" in os.environ:
        return os.environ["ULPSCOPE_RUN_PACKAGE"]
    built = [*conftest.ROOT.glob("build/*/tests/hook/ulpscope_run_package")]
    assert built, "build the target ulpscope_run_package"
    return str(max(built, key=lambda path: path.stat().st_mtime))


def native(package, trace, *arguments, runs=1):
    """Runs a package in C++, recorded where `trace` is given; returns its lines."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ULPSCOPE_")}
    if trace is not None:
        environment["LD_PRELOAD"] = str(conftest.PACKAGE / "lib" / "libulpscope_preload.so")
        environment["ULPSCOPE_OUTPUT"] = str(trace)
    done = subprocess.run(
        [run_package(), *arguments, str(package), str(runs), "2", "8", "32"],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", done.stderr
    return done.stdout.splitlines()


def written_calls(package):
    """Calls of kernels and of aoti_torch_cpu_* in the package's wrapper."""
    with zipfile.ZipFile(package) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".wrapper.cpp"))
        text = archive.read(name).decode()
    body = text[text.index("void AOTInductorModel::run_impl(") :]
    body = body[: body.index("} // AOTInductorModel::run_impl")]
    return len(re.findall(r"^\s*cpp_\w+\(", body, re.M)), len(re.findall(r"\baoti_torch_cpu_\w+\(", body))


def stripped(package, to):
    """The package as it is where neither ulpscope nor Inductor's own tracking was there."""
    with zipfile.ZipFile(package) as source, zipfile.ZipFile(to, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith(("/ulpscope.json", "/kernel_information.json")):
                continue
            if entry.filename.endswith(".cpp"):
                data = re.sub(rb"[^\n]*\[Provenance debug handles\][^\n]*\n", b"", data)
            target.writestr(entry, data)
    return to


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with block.pt2, plain.pt2 and eager.ulps."""
    folder = tmp_path_factory.mktemp("package")

    def python(output, *arguments):
        variables = conftest.environment(output, TORCHINDUCTOR_CACHE_DIR=str(folder / "cache"))
        command = [conftest.sys.executable, str(PROGRAM), *arguments]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done

    python(folder / "compile.ulps", "compile", str(folder / "block.pt2"))
    stripped(folder / "block.pt2", folder / "plain.pt2")
    python(folder / "eager.ulps", "eager")
    return folder


def differences(a, b):
    done = subprocess.run([ULPSCOPE, "diff", a, b, "--format=json"], capture_output=True, text=True)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    return json.loads(done.stdout)


@pytest.mark.parametrize("package", ["block.pt2", "plain.pt2"])
def test_native_run_aligns_with_eager(built, package, tmp_path):
    bare = native(built / package, None)
    assert native(built / package, tmp_path / "run.ulps") == bare  # bit-identical
    trace = ulpscope.open(tmp_path / "run.ulps")
    of_kernels, of_ops = written_calls(built / package)
    inside = [op for op in trace if any(region.kind == "compiled" for region in op.regions)]
    assert len(kernels(trace)) == of_kernels > 0
    assert len([op for op in inside if op.kind == "op"]) == of_ops > 0
    assert trace.coverage.closure == 1.0
    assert trace.meta("kernels") == ""
    assert not [event for event in trace.events if event.kind == "message"]
    for op in kernels(trace):
        assert op.provenance["sources"] and op.provenance["ties"], op.name
        assert all(operand.digest is not None for operand in op.role("input") + op.role("after"))
    lines = [s["stack"] for op in kernels(trace) for s in op.provenance["sources"]]
    assert all(lines) == (package == "block.pt2")

    found = differences(built / "eager.ulps", tmp_path / "run.ulps")
    counts = found["counts"]
    assert counts["opaque"] == counts["source"] == 0 and counts["origin"] <= 2, counts
    compared = counts["identical"] + counts["origin"] + counts["propagated"] + counts["healed"]
    assert compared >= of_kernels + of_ops, counts
    first = found["first"]
    if first is not None and first["label"] == "origin":
        # What rounds otherwise depends on the machine; that it is a rounding does not.
        assert first["difference"] == "rounding", first
        assert first["a"]["op"].startswith("aten::") and first["module"]


def test_python_runs_a_package(built, run):
    bare = ok(run(PROGRAM, "run", built / "block.pt2", record=False)).stdout
    result = ok(run(PROGRAM, "run", built / "block.pt2", ULPSCOPE_DEBUG="1"))
    assert result.stdout == bare
    of_kernels, of_ops = written_calls(built / "block.pt2")
    trace = result.trace
    assert len(kernels(trace)) == of_kernels
    (graph,) = (op for op in trace if op.kind == "compiled")
    assert len([op for op in trace if op.parent == graph.id and op.kind == "op"]) == of_ops
    assert trace.meta("kernels") == ""


def test_several_threads_run_one_model(built, tmp_path):
    sums = native(built / "block.pt2", tmp_path / "run.ulps", "--threads", "3", runs=2)
    assert sums == native(built / "block.pt2", None, "--threads", "3", runs=2)
    trace = ulpscope.open(tmp_path / "run.ulps")
    of_kernels, _ = written_calls(built / "block.pt2")
    assert len(kernels(trace)) == 3 * 2 * of_kernels
    assert trace.coverage.closure == 1.0
    calls = {}
    for op in kernels(trace):
        key = (op.name, tuple(s["node"] for s in op.provenance["sources"]))
        calls.setdefault(key, set()).add(tuple(o.digest for o in op.role("after")))
    assert all(len(results) == 1 for results in calls.values())  # each thread computes the same
