"""Every call of a generated kernel is in the trace, however Inductor was asked to compile."""

import pathlib

import pytest

from helpers import counts, generated_code, inside_compiled, kernels, last_json, ok

PROGRAMS = pathlib.Path(__file__).parent / "programs"


def test_counts_equal_the_interpreters(run, tmp_path):
    cache = str(tmp_path / "cache")
    program = PROGRAMS / "features.py"
    counted = last_json(ok(run(program, record=False, TORCHINDUCTOR_CACHE_DIR=cache)))
    assert all(count > 0 for count in counted.values())
    for temperature in ("cold", "warm"):  # the plain run's entries are not those of a recorded one
        trace = ok(run(program, TORCHINDUCTOR_CACHE_DIR=cache, ULPSCOPE_DEBUG="1")).trace
        assert trace.meta("kernels") == ""
        seen = counts(trace)
        # Threads other than the main one have no scope around them.
        seen["threads"] += seen.pop("", 0)
        assert dict(seen) == counted, temperature
        assert trace.coverage.kernels == sum(counted.values())


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_transformers_cold_and_warm(run, tmp_path, kind):
    plain, recorded = str(tmp_path / "plain"), str(tmp_path / "recorded")
    program = PROGRAMS / "transformer.py"
    counted = ok(run(program, kind, record=False, TORCHINDUCTOR_CACHE_DIR=plain))
    cold = ok(run(program, kind, TORCHINDUCTOR_CACHE_DIR=recorded, ULPSCOPE_DEBUG="1"))
    warm = ok(run(program, kind, TORCHINDUCTOR_CACHE_DIR=recorded, ULPSCOPE_DEBUG="1"))
    expected = last_json(counted)
    traces = [cold.trace, warm.trace]
    for result, trace in zip((cold, warm), traces):
        assert last_json(result)["parameters"] == expected["parameters"]  # bit-identical
        assert len(kernels(trace)) == expected["kernels"]
        assert trace.coverage.closure == 1.0
        for op in kernels(trace) + inside_compiled(trace):
            assert op.provenance is not None and op.provenance["sources"], op.qualified
        written = {id(o): o for op in kernels(trace) for o in op.role("after")}
        assert written and all(o.digest is not None for o in written.values())
    first, second = ([(o.qualified, o.provenance) for o in kernels(t)] for t in traces)
    assert first == second
    assert any(event.kind == "graph" for event in traces[0].events)
    assert not any(event.kind == "graph" for event in traces[1].events)
    assert any(event.kind == "cache_hit" for event in traces[1].events)
    # Recording changes comments of the generated code, nothing else.
    assert generated_code(tmp_path / "plain") == generated_code(tmp_path / "recorded")
    modules = {s["module"] for op in kernels(traces[0]) for s in op.provenance["sources"]}
    assert {"transformer.h.1.ln_2", "model.layers.1.mlp.act_fn"} & modules
