"""Many ranks, with gloo on CPUs."""

import json
import os
import subprocess
import sys

import pytest
from conftest import PLANTED, ROOT
from cli_program import PROGRAM
from feature import feature

JOB = ROOT / "tests" / "features" / "rank_program.py"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
JOBS = [
    "manual", "manual:layer", "manual:weights", "manual:scale", "manual:dropped", "manual:nosync",
    "manual:kind", "ddp", "ddp:seed", "ddp:layer", "fsdp", "fsdp:layer", "manual:skip",
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The folder with a run of four ranks for each of JOBS."""
    out = tmp_path_factory.mktemp("runs")
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if "ULPSCOPE_PACKAGE_PATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["ULPSCOPE_PACKAGE_PATH"]
    done = subprocess.run(
        [*TORCHRUN, "--nproc_per_node=4", str(JOB), str(out), *JOBS],
        capture_output=True, text=True, timeout=300, env=environment,
    )  # fmt: skip
    assert len(list((out / "manual-skip").glob("run.rank*.ulps"))) == 4, done.stderr
    return out


def call(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.stdout, done.stderr
    return json.loads(done.stdout) | {"status": done.returncode}


def ranks(folder):
    return call("ranks", folder, "--format=json")


@pytest.mark.parametrize("job", ["manual", "ddp"])
@feature("all_reduce by hand, DistributedDataParallel", "parameters and reduced gradients agree on 4 ranks")
def test_ranks_that_agree(runs, job):
    answer = ranks(runs / job)
    assert (answer["verdict"], answer["status"], answer["first"]) == ("identical", 0, None)
    assert answer["groups"][0]["ranks"] == [0, 1, 2, 3]
    compared = answer["compared"]
    assert compared["parameters"] == 4 and compared["updates"] == 8
    assert compared["results"] == compared["collectives"] > 0


@feature("ranks that start with other weights", "the op that made them, and the rank")
def test_other_weights(runs):
    answer = ranks(runs / "manual-weights")
    first = answer["first"]
    assert (first["kind"], first["ranks"], answer["status"]) == ("start", [3], 1)
    assert "parameter 2 (float32[4, 16])" in first["explanation"]
    assert first["others"]["op"] == "aten::uniform_"
    assert [each["kind"] for each in answer["found"]] == ["start"]


def test_weights_that_a_broadcast_makes_equal_are_told_and_no_fault(runs):
    answer = ranks(runs / "ddp-seed")
    assert answer["status"] == 0
    assert [each["ranks"] for each in answer["healed"]] == [[3]]
    assert answer["healed"][0]["op"] == "c10d::broadcast_"


@feature("a loss scale of one rank's own", "the op, the argument, both values and the rank")
def test_scale(runs):
    answer = ranks(runs / "manual-scale")
    first = answer["first"]
    assert (first["kind"], first["ranks"], answer["status"]) == ("scalar", [3], 3)
    assert (first["op"], first["departs"]["value"], first["others"]["value"]) == ("aten::mul", "1.01", "1")


@feature("a gradient reduction left out", "the parameter, and that its gradient came through none")
def test_dropped_reduction(runs):
    answer = ranks(runs / "manual-dropped")
    assert [each["kind"] for each in answer["found"]] == ["parameter"]
    first = answer["first"]
    assert answer["status"] == 1 and first["phase"] == "optimizer" and first["step"] == 0
    assert first["explanation"].startswith("parameter 2 (float32[4, 16])")
    assert "no rank's gradient of it came through a reduction" in first["explanation"]
    assert {each["kind"] for each in ranks(runs / "manual-nosync")["found"]} == {"parameter"}


@feature("collectives that do not match", "the first that a rank lacks, or gives another form")
def test_collectives_that_mismatch(runs):
    kind = ranks(runs / "manual-kind")
    assert (kind["first"]["kind"], kind["first"]["ranks"], kind["status"]) == ("form", [3], 3)
    assert kind["first"]["sequence"] == 1
    assert "max float32 x 16" in kind["first"]["explanation"]
    skip = ranks(runs / "manual-skip")
    assert (skip["first"]["kind"], skip["first"]["ranks"], skip["status"]) == ("order", [3], 3)
    assert (skip["first"]["sequence"], skip["first"]["step"]) == (7, 1)
    assert skip["first"]["op"] == "c10d::allreduce_"


@pytest.mark.parametrize("job", ["manual", "ddp", "fsdp"])
@feature("a fault on one of four ranks before a collective", "the op with its rank, from two folders")
def test_origin_on_another_rank(runs, job):
    answer = call("diff", runs / job, runs / f"{job}-layer", "--format=json")
    assert (answer["verdict"], answer["status"]) == ("numeric", 1)
    assert (answer["first"]["op"], answer["first"]["rank"]) == (PLANTED, 3)
    assert {(each["op"], each["rank"]) for each in answer["frontier"]} == {(PLANTED, 3)}
    same = call("diff", runs / job, runs / job, "--format=json")
    assert (same["verdict"], same["first"]) == ("identical", None)


@feature("fully_shard (FSDP2) with DTensor", "local shards; which parameters are shards is told")
def test_shards_are_told(runs):
    answer = ranks(runs / "fsdp")
    assert answer["status"] == 0
    assert any(note.startswith("4 of 4 parameters are shards") for note in answer["notes"])


def test_folders_that_hold_no_run(runs, tmp_path):
    for arguments, says in [
        (["ranks", tmp_path], "no trace (.ulps) in"),
        (["ranks", tmp_path / "none"], "is no folder"),
        (["diff", runs / "manual", tmp_path], "no trace (.ulps) in"),
    ]:
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and says in done.stderr


def test_record_into_a_folder(tmp_path):
    """One command for all ranks; an earlier run's ranks do not stay among them."""
    folder = tmp_path / "made" / "run"
    folder.mkdir(parents=True)
    for count in (2, 1):
        done = subprocess.run(
            [PROGRAM, "record", "-o", f"{folder}/", "--", *TORCHRUN, f"--nproc_per_node={count}",
             str(JOB), "-", "ddp"],
            capture_output=True, text=True, timeout=300, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        names = sorted(path.name for path in folder.glob("*.ulps"))
        if count == 2:
            assert names == ["run.rank0.ulps", "run.rank1.ulps"]
            assert "ulpscope ranks made/run" in done.stderr  # as seen from where it was typed
        else:
            assert names == ["run.ulps"]
