"""The tap of Triton kernels, driven by a stand-in for Inductor's autotuner."""

import copy
import functools
import types

from ulpscope.inductor import triton_kernels
from ulpscope.inductor.signature import READ, READ_WRITE, SCALAR, WRITE


class Autotuner:
    """What generated code sees of CachingAutotuner."""

    def __init__(self):
        self.fn = types.SimpleNamespace(__name__="triton_poi_fused_add_0", src="def triton_poi(...)")
        self.mutated_arg_names = ["in_out_ptr0"]
        signature = {"in_out_ptr0": "*fp32", "in_ptr0": "*i64", "out_ptr0": "*bf16", "xnumel": "i32"}
        self.triton_meta = {"signature": signature}
        self.launched = []

    def run(self, *args, stream, benchmark_run=False, **kwargs):
        self.launched.append((args, stream, benchmark_run))
        return "launched"

    def __getstate__(self):
        return dict(self.__dict__)


def tapped(make):
    class Tapped(Autotuner):
        run = triton_kernels.watch_run(Autotuner.run, make)
        __getstate__ = triton_kernels.watch_getstate(Autotuner.__getstate__)

    return Tapped()


def never(*_):
    raise AssertionError("a benchmark run was tapped")


def test_roles():
    assert [(p.name, p.access) for p in triton_kernels.parameters(Autotuner())] == [
        ("in_out_ptr0", READ_WRITE), ("in_ptr0", READ), ("out_ptr0", WRITE), ("xnumel", SCALAR),
    ]  # fmt: skip


def test_each_call_goes_through_one_tap():
    made, seen = [], []

    def make(function, name, parameters, source):
        made.append((name, source))
        return lambda *args, **kwargs: (seen.append((args, kwargs)), function(*args, **kwargs))[1]

    autotuner = tapped(make)
    assert autotuner.run(1, 2, stream=7) == "launched"
    assert autotuner.run(3, stream=8) == "launched"
    assert made == [("triton_poi_fused_add_0", "def triton_poi(...)")]
    assert seen == [((1, 2), {"stream": 7}), ((3,), {"stream": 8})]
    assert autotuner.launched == [((1, 2), 7, False), ((3,), 8, False)]


def test_the_compilers_own_runs_are_not_calls():
    autotuner = tapped(never)
    autotuner.run(1, stream=0, benchmark_run=True)
    assert autotuner.launched == [((1,), 0, True)]


def test_a_tap_that_cannot_be_made_is_left_out():
    autotuner = tapped(lambda *_: 1 / 0)
    assert autotuner.run(1, stream=0) == "launched"
    assert autotuner.run(2, stream=0) == "launched"


def test_a_tap_does_not_cross_processes():
    autotuner = tapped(lambda function, *_: functools.partial(function))
    autotuner.run(1, stream=0)
    assert triton_kernels._TAP in autotuner.__dict__
    assert triton_kernels._TAP not in copy.copy(autotuner).__dict__
