"""The op inside a fused kernel, from the command line: named by diff, opened, extracted, checked."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

CASES = pathlib.Path(__file__).resolve().parents[1] / "cases"

# first op, the ops on the frontier, the dominant one, a setting that cures it
TRUTH = {
    "reciprocal_elu": ("aten::elu", ["aten::elu"], "aten::elu", None),
    "groupnorm_log": (
        "aten::elu",
        ["aten::elu", "aten::native_group_norm"],
        "aten::native_group_norm",
        None,
    ),
    "argmax_strided": ("aten::argmax", ["aten::argmax"], "aten::argmax", None),
    "cast_elided": ("aten::_to_copy", ["aten::_to_copy"], "aten::_to_copy", "emulate_precision_casts"),
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("caches")
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "XDG_CACHE_HOME": str(folder / "own"),
        "OMP_NUM_THREADS": "2",
    }


@pytest.fixture(scope="module")
def recorded(ulpscope, environment, tmp_path_factory):
    """recorded(case) -> (eager trace, compiled trace); each case runs once."""
    folder = tmp_path_factory.mktemp("traces")

    def call(case):
        traces = []
        for mode in ("eager", "inductor"):
            trace = folder / f"{case}.{mode}.ulps"
            if not trace.exists():
                done = ulpscope(
                    "record", "-o", trace, "--", sys.executable, CASES / f"{case}.py", mode,
                    env=environment,
                )  # fmt: skip
                assert done.returncode == 0, done.stderr
            traces.append(trace)
        return traces

    return call


@pytest.mark.parametrize("case", TRUTH)
def test_diff_names_the_op_inside_the_kernel(ulpscope, recorded, environment, case):
    first, frontier, dominant, cure = TRUTH[case]
    done = ulpscope("diff", *recorded(case), "--format=json", env=environment)
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    assert answer["first"]["op"] == first
    assert list(dict.fromkeys(origin["op"] for origin in answer["frontier"])) == frontier
    assert answer["dominant"]["op"] == dominant
    assert first in answer["first"]["ops"] and len(answer["first"]["ops"]) > 1
    assert answer["first"]["a"]["op"] == first, "the eager side is the op itself"
    assert answer["first"]["a"]["kernel"] is None
    assert answer["first"]["b"]["kernel"].startswith("cpp_fused")
    assert (cure or "") in answer["first"]["explanation"]


def test_without_the_microscope_the_kernel_is_one_op(ulpscope, recorded, environment):
    done = ulpscope(
        "diff", *recorded("reciprocal_elu"), "--format=json", "--no-microscope", env=environment
    )
    answer = json.loads(done.stdout)
    assert answer["first"]["op"] == "aten::reciprocal"
    assert len(answer["frontier"]) == 1


def kernel_of(ulpscope, recorded, environment, case):
    done = ulpscope("diff", *recorded(case), "--format=json", "--no-microscope", env=environment)
    return json.loads(done.stdout)["first"]["b"]["id"]


def test_microscope_tells_what_each_op_adds(ulpscope, recorded, environment):
    case = "groupnorm_log"
    op = kernel_of(ulpscope, recorded, environment, case)
    done = ulpscope("microscope", recorded(case)[1], op, "--format=json", env=environment)
    assert done.returncode == 1, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert kernel["faithful"] is True, "compiled again it writes the recorded bits"
    ops = {op["op"]: op for op in kernel["ops"]}
    assert not ops["aten::native_batch_norm"]["origin"]
    assert ops["aten::elu"]["own"]["differing"] > 0
    assert not ops["aten::elu"]["inherits"]
    assert ops["aten::native_group_norm"]["share"] > 8 * ops["aten::elu"]["share"]
    assert ops["aten::clamp"]["inherits"] and not ops["aten::clamp"]["origin"]
    assert ops["aten::elu"]["nearer"] == "eager"
    assert ops["aten::elu"]["stack"][0]["file"].endswith("groupnorm_log.py")


def test_extract_writes_a_repro_that_stands_alone(ulpscope, recorded, environment, tmp_path):
    case = "cast_elided"
    op = kernel_of(ulpscope, recorded, environment, case)
    done = ulpscope("extract", recorded(case)[1], op, "-o", tmp_path / "repro", env=environment)
    assert done.returncode == 0, done.stderr
    assert "next: " in done.stdout.splitlines()[-1]

    def run(**more):
        plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "ULPSCOPE_PACKAGE_PATH")}
        return subprocess.run(
            [sys.executable, tmp_path / "repro" / "repro.py"],
            env=plain | environment | more, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    there = run()
    assert there.returncode == 1, there.stdout + there.stderr
    assert "the divergence is there" in there.stdout
    text = (tmp_path / "repro" / "repro.py").read_text()
    assert "ulpscope" not in "".join(line for line in text.splitlines() if "import" in line)
    cured = run(TORCHINDUCTOR_EMULATE_PRECISION_CASTS="1")
    assert cured.returncode == 0, cured.stdout + cured.stderr


def test_check_needs_no_reference(ulpscope, environment, tmp_path):
    done = ulpscope(
        "check", "--format=json", "-o", tmp_path / "one.ulps", "--",
        sys.executable, CASES / "cast_elided.py", "inductor", env=environment,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout[done.stdout.index('{"schema"') :])
    (kernel,) = answer["departs"]
    origin = kernel["origins"][0]
    assert kernel["ops"][origin["named"]]["op"] == "aten::_to_copy"
    assert kernel["ops"][origin["at"]]["op"] == "aten::add"
    assert (answer["agree"], answer["unopened"]) == (1, [])


def test_what_cannot_be_opened_is_told_in_one_line(ulpscope, traces, error_line):
    assert "no compiled kernel" in error_line(ulpscope("microscope", traces / "a.ulps", "1"))
    assert "has no op #999999" in error_line(ulpscope("microscope", traces / "a.ulps", "999999"))


def test_bisect_finds_nothing_where_nothing_differs(ulpscope, environment, tmp_path):
    program = tmp_path / "same.py"
    program.write_text("import torch\nprint(torch.compile(lambda x: x + 1)(torch.arange(4.0)))\n")
    done = ulpscope("bisect", "--", sys.executable, program, env=environment)
    assert done.returncode == 0, done.stderr
    assert "nothing to bisect" in done.stdout
