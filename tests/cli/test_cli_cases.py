"""Small programs that diverge, recorded and compared from the command line: the true answers."""

import json
import pathlib
import sys

import pytest

CASES = pathlib.Path(__file__).resolve().parents[1] / "cases"


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("inductor")


@pytest.fixture
def case(ulpscope, tmp_path, cache):
    """case(program, a, b) -> (exit status, JSON) of the diff of its runs with arguments a and b."""

    def call(program, *runs):
        environment = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "HF_HUB_OFFLINE": "1"}
        for number, arguments in enumerate(runs):
            done = ulpscope(
                "record", "-o", tmp_path / f"{number}.ulps", "--",
                sys.executable, CASES / program, *arguments, env=environment,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        done = ulpscope("diff", tmp_path / "0.ulps", tmp_path / "1.ulps", "--format=json", env=environment)
        return done.returncode, json.loads(done.stdout)

    return call


def ops(answer):
    return {origin["op"] for origin in answer["frontier"]}


def test_threads(case):
    status, answer = case("threads.py", ["1"], ["2"])
    assert status == 1
    assert answer["first"]["op"] == "aten::mm"
    assert answer["first"]["phase"] == "backward"
    assert answer["dominant"]["op"] == "aten::convolution_backward"
    assert ops(answer) == {"aten::mm", "aten::convolution_backward"}


def test_optimizer_foreach(case):
    status, answer = case("optimizer_foreach.py", ["1e-3"], ["1"])
    assert status == 3
    assert answer["first"]["op"] == "aten::_foreach_mul_"
    assert answer["first"]["difference"] == "scalar"
    assert answer["first"]["phase"] == "optimizer"


def test_alias_view(case):
    status, answer = case("alias_view.py", ["eager"], ["inductor"])
    assert status == 1
    first = answer["first"]
    assert (first["op"], first["label"], first["difference"]) == ("aten::select", "origin", "alias")
    assert answer["counts"]["source"] == 0


def test_dropout_rng(case):
    status, answer = case("dropout_rng.py", ["eager"], ["inductor"])
    assert answer["first"]["difference"] == "random"
    assert "fallback_random" in answer["first"]["explanation"]


@pytest.mark.parametrize("model", ["gpt2", "llama"])
def test_equal_runs_of_transformers_are_identical(case, model):
    status, answer = case("transformer_step.py", ["eager", model], ["eager", model])
    assert (status, answer["verdict"], answer["first"]) == (0, "identical", None)
    assert answer["a"]["ops"] > 1800
    assert answer["coverage"]["a"]["closure"] == 1


def test_a_compiled_transformer(case):
    status, answer = case("transformer_step.py", ["eager", "gpt2"], ["inductor", "gpt2"])
    assert status == 1
    first = answer["first"]
    assert (first["op"], first["module"]) == ("aten::native_layer_norm", "transformer.h.0.ln_1")
    assert first["difference"] == "rounding"
    assert first["b"]["kernel"].startswith("cpp_fused")
    assert answer["b"]["kernels"] == 66
