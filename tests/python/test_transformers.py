"""Training of small models from `transformers`: recorded, and to the bit what it is alone."""

import json

import conftest
import pytest

TRAIN = conftest.PROGRAMS / "train.py"


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
@pytest.mark.parametrize("mode", ["eager", "inductor"])
def test_recording_changes_nothing(run, tmp_path, mode, kind):
    # Inductor's scatter of the embedding's gradient adds atomically: at two threads the program
    # itself ends with other bits now and then.
    threads = "1" if mode == "inductor" else "2"
    caches = [
        {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / name), "OMP_NUM_THREADS": threads}
        for name in ("plain", "recorded")
    ]
    plain = run(TRAIN, mode, kind, record=False, **caches[0])
    cold = run(TRAIN, mode, kind, **caches[1])
    assert plain.returncode == 0, plain.stderr
    assert cold.returncode == 0, cold.stderr
    assert cold.stdout == plain.stdout  # losses, a hash of all parameters, what Dynamo counts
    assert cold.stderr == plain.stderr
    trace = cold.trace
    assert trace.complete
    assert trace.coverage.closure == 1.0
    assert {op.step for op in trace} >= {0, 1, 2}
    assert {op.phase for op in trace if op.step == 1} >= {"forward", "backward", "optimizer"}

    if mode == "inductor":
        warm_plain = run(TRAIN, mode, kind, record=False, **caches[0])
        warm = run(TRAIN, mode, kind, **caches[1])
        assert warm.stdout == warm_plain.stdout
        counters = json.loads(warm.stdout.splitlines()[-1])["counters"]
        assert counters["inductor"]["fxgraph_cache_hit"] > 0
        assert trace.coverage.kernels == warm.trace.coverage.kernels > 0
        assert [op.qualified for op in warm.trace] == [op.qualified for op in trace]
    else:
        again = run(TRAIN, mode, kind)
        described = [
            [(op.qualified, op.module, [o.digest for o in op.operands]) for op in t]
            for t in (trace, again.trace)
        ]
        assert described[0] == described[1]
        modules = {op.module for op in trace if op.phase == "backward"}
        prefix = "transformer.h.1" if kind == "gpt2" else "model.layers.1"
        assert any(module.startswith(prefix) for module in modules)
