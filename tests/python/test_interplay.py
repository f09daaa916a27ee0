"""Other tools that watch the same ops are there at the same time."""

import threading

import pytest
import torch
from torch import nn
from torch.utils._debug_mode import DebugMode
from torch.utils._python_dispatch import TorchDispatchMode

import ulpscope

X = torch.randn(3, 4)


def names(trace):
    return [op.qualified for op in trace]


def program():
    return nn.functional.layer_norm(X, (4,)).sin().sum()


def test_debug_mode(recorded):
    logged = []

    def watched():
        with DebugMode() as mode:
            program()
        logged.extend(str(call.op) for call in mode.operators)

    assert names(recorded(watched)) == names(recorded(program))
    assert logged == ["aten.native_layer_norm.default", "aten.sin.default", "aten.sum.default"]


def test_a_dispatch_mode_that_runs_ops_of_its_own(recorded):
    class Doubles(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            return result * 2 if function is torch.ops.aten.sin.default else result

    def watched():
        with Doubles():
            return program()

    expected = watched()
    results = []
    trace = recorded(lambda: results.append(watched()))
    assert torch.equal(results[0], expected)
    assert "aten::sin" in names(trace)


def test_profiler_sees_what_it_sees_alone(recorded):
    def profiled():
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
            program()
        return sorted((e.key, e.count) for e in profiler.key_averages())

    alone = profiled()
    results = []
    trace = recorded(lambda: results.append(profiled()))
    assert results[0] == alone
    assert "aten::native_layer_norm" in names(trace)


def test_vmap_grad_and_anomaly_mode(recorded):
    def watched():
        torch.func.vmap(torch.sin)(X)
        torch.func.grad(lambda x: x.cos().sum())(X)
        with torch.autograd.detect_anomaly(check_nan=False):
            X.clone().requires_grad_().exp().sum().backward()

    with pytest.warns(UserWarning, match="Anomaly"):
        seen = names(recorded(watched))
    assert {"aten::sin", "aten::cos", "aten::exp"} <= set(seen)


def test_many_threads(tmp_path):
    """Each thread's ops are there, whole and in order."""
    barrier = threading.Barrier(8)

    def work(number):
        barrier.wait()
        for _ in range(50):
            torch.full((2,), float(number)).sin()

    with ulpscope.record(tmp_path / "a.ulps"):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    by_thread = {}
    for op in ulpscope.open(tmp_path / "a.ulps"):
        by_thread.setdefault(op.thread, []).append(op.name)
    assert list(by_thread.values()) == [["aten::full", "aten::sin"] * 50] * 8
