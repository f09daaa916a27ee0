"""The Python stack of an op: the program's frame and what lies between it and torch."""

import threading

import torch
from torch import nn

X = torch.randn(3, 4, requires_grad=True)
HERE = __file__


def line_of(function, offset):
    return function.__code__.co_firstlineno + offset


def test_ends_at_the_first_frame_outside_torch(recorded):
    def inner():
        return nn.functional.gelu(X)

    def program():
        inner()

    ops = {op.name: op for op in recorded(program)}
    stack = ops["aten::gelu"].stack
    assert (stack[-1].file, stack[-1].line, stack[-1].function) == (HERE, line_of(inner, 1), "inner")
    assert not any("ulpscope" in f.file and "tests" not in f.file for f in stack)


def test_frames_of_torch_come_before(recorded):
    layer = nn.Linear(4, 4)

    def program():
        layer(X)

    ops = {op.name: op for op in recorded(program)}
    stack = ops["aten::addmm"].stack
    assert [f.function for f in stack] == ["forward", "_call_impl", "program"]
    assert stack[0].file.endswith("torch/nn/modules/linear.py")


def test_whole_stacks(recorded):
    def inner():
        X.sin()

    def outer():
        inner()

    ops = {op.name: op for op in recorded(outer, stacks=True)}
    functions = [f.function for f in ops["aten::sin"].stack]
    assert functions[:2] == ["inner", "outer"]
    assert "test_whole_stacks" in functions and functions[-1] == "<module>"


def test_two_lines_of_one_function_differ(recorded):
    def program():
        X.sin()
        X.cos()
        for _ in range(2):
            X.tan()

    trace = list(recorded(program))
    lines = {op.name: op.stack[-1].line - program.__code__.co_firstlineno for op in trace}
    assert (lines["aten::sin"], lines["aten::cos"], lines["aten::tan"]) == (1, 2, 4)


def test_generators_and_threads(recorded):
    def produce():
        yield X.sin()

    def work():
        X.cos()

    def program():
        list(produce())
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    ops = {op.name: op for op in recorded(program)}
    assert ops["aten::sin"].stack[-1].function == "produce"
    assert ops["aten::cos"].stack[-1].function == "work"


def test_backward_is_seen_from_the_call(recorded):
    def program():
        X.sin().sum().backward()

    ops = [op for op in recorded(program) if op.phase == "backward"]
    assert ops and all(op.stack[-1].function == "program" for op in ops)


def test_many_code_objects(recorded):
    """Code that is made and dropped while recording never lends its address to another stack."""

    def program():
        for i in range(300):
            scope = {"x": X}
            exec(compile(f"def f{i}():\n    x.sin()\n\nf{i}()", f"made{i}.py", "exec"), scope)

    stacks = [op.stack[-1] for op in recorded(program) if op.name == "aten::sin"]
    assert [(f.file, f.function, f.line) for f in stacks] == [
        (f"made{i}.py", f"f{i}", 2) for i in range(300)
    ]


def test_a_pending_exception_survives(recorded):
    def program():
        try:
            raise KeyError("kept")
        except KeyError as error:
            X.exp()
            assert error.args == ("kept",)
            raise

    try:
        recorded(program)
    except KeyError as error:
        assert error.args == ("kept",)


def test_daemon_threads_at_exit(run):
    """Threads that still run ops while the interpreter ends (torch itself may abort then)."""
    result = run(
        """
        import threading, time, torch
        x = torch.randn(8)
        def work():
            while True:
                torch.sin(x)
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.3)
        """,
        timeout=120,
    )
    assert result.trace.complete and len(result.trace) > 0
    assert result.stderr in ("", "terminate called without an active exception\n")
