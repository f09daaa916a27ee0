"""Taps fit the torch that is installed; where torch moved something, that is said, not guessed."""

import pytest

from ulpscope import inductor
from ulpscope.inductor import taps


class Moved:
    def renamed(self, argtypes, source_code): ...

    def wait(self, scope, timeout): ...

    def post_compile(self, compiled): ...


@pytest.mark.parametrize(
    "attribute, parameters, reason",
    [
        ("cpp_pybinding", ["self", "argtypes", "source_code"], "not in this torch"),
        ("wait", ["self", "scope"], ""),  # more parameters than before do no harm
        ("post_compile", ["self", "example_inputs"], "its parameters are (self, compiled)"),
    ],
)
def test_a_method_that_changed_is_not_patched(attribute, parameters, reason):
    assert taps._misfit(Moved, attribute, parameters) == reason


def test_a_class_that_is_gone():
    assert taps._misfit(None, "wait", ["self"]) == "not in this torch"


def test_all_fit_this_torch():
    assert [line for line in inductor.status() if not line[1]] == []


#: Before the program's first import of Inductor: moves a symbol, as a later torch might.
MOVED = """
    from ulpscope.inductor import taps
    taps.PATCHES[:] = [
        (name, cls, "moved_" + attribute if attribute == "wait" else attribute, *rest)
        for name, cls, attribute, *rest in taps.PATCHES
    ]
    import torch
    torch.compile(lambda x: x.sin() + 1)(torch.ones(4))
    """


def test_a_moved_symbol_is_told_and_the_program_goes_on(run, tmp_path):
    result = run(MOVED, TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "cache"))
    assert result.returncode == 0, result.stderr
    trace = result.trace
    assert "AsyncCompile.moved_wait: not in this torch" in trace.meta("kernels")
    assert not [op for op in trace if op.kind == "kernel"]
    assert [op for op in trace if op.kind == "compiled"]

