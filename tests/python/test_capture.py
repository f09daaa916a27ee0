"""Values that a trace keeps, and reading them back."""

import pytest
import torch

import ulpscope


def record(path, run, **options):
    with ulpscope.record(path, **options):
        run()
    return ulpscope.open(path)


def named(trace, name):
    return [op for op in trace if op.name == name]


def same(left, right):
    assert left.dtype == right.dtype
    assert left.stride() == right.stride()
    left, right = (t.contiguous().reshape(-1).view(torch.uint8) for t in (left, right))
    assert torch.equal(left, right)


def test_values_come_back_with_their_layout(tmp_path):
    torch.manual_seed(0)
    operands = [
        torch.randn(3, 4),
        torch.randn(4, 3).t(),
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.randn(10)[::3],
        torch.randn(1, 4).expand(3, 4),
        torch.arange(6.0).as_strided((4, 3), (1, 1)),
        torch.randn(()),
        torch.randn(5).to(torch.bfloat16),
        torch.randn(5).to(torch.float8_e4m3fn),
        torch.randn(5, dtype=torch.complex64),
        torch.tensor([True, False]),
        torch.tensor([2**60, -1]),
        torch.randn(2000, 700),  # larger than a part
    ]
    trace = record(
        tmp_path / "a.ulps",
        lambda: [torch.ops.aten.clone(x) for x in operands],
        capture=["aten::clone"],
    )
    clones = named(trace, "aten::clone")
    assert len(clones) == len(operands)
    for op, expected in zip(clones, operands):
        same(trace.capture(op.id, "input", 0), expected)
        assert trace.capture(op.id, "output", 0) is not None


def test_lazy_bits_are_resolved(tmp_path):
    x = torch.randn(3, dtype=torch.complex64)
    trace = record(tmp_path / "a.ulps", lambda: x.conj() + 1, capture=["aten::add"])
    (op,) = named(trace, "aten::add")
    same(trace.capture(op.id, "input", 0), torch.complex(x.real, -x.imag))


def test_a_written_input_is_kept_as_it_was(tmp_path):
    x, y = torch.ones(4), torch.full((4,), 2.0)
    trace = record(tmp_path / "a.ulps", lambda: x.add_(y), capture=["aten::add_"])
    (op,) = named(trace, "aten::add_")
    assert trace.capture(op.id, "before", 0).tolist() == [1.0] * 4
    assert trace.capture(op.id, "after", 0).tolist() == [3.0] * 4
    assert trace.capture(op.id, "output", 0) is None


def test_operands_with_equal_elements_share_them(tmp_path):
    x = torch.randn(8)
    trace = record(tmp_path / "a.ulps", lambda: (x.neg(), x.abs()), capture=["aten::neg"])
    same(trace.capture(named(trace, "aten::abs")[0].id, "input", 0), x)
    assert trace.capture(named(trace, "aten::abs")[0].id, "output", 0) is None


def test_steps_and_trust_hold_for_values_too(tmp_path):
    x = torch.ones(4)

    def run():
        for _ in range(3):
            x.add_(1)
            ulpscope.step()

    trace = record(
        tmp_path / "a.ulps", run, capture=["*"], inputs="tracked", steps=(1, 2)
    )
    values = [trace.capture(op.id, "after", 0) for op in named(trace, "aten::add_")]
    assert values[0] is None and values[2] is None
    assert values[1].tolist() == [3.0] * 4


def test_a_stale_trusted_input_is_kept_under_its_own_digest(tmp_path):
    x = torch.zeros(4)

    def run():
        y = x + 1
        y.numpy()[0] = 7  # behind the recorder's back
        y.neg()

    trace = record(tmp_path / "a.ulps", run, capture=["aten::neg"], inputs="tracked")
    (op,) = named(trace, "aten::neg")
    assert op.operands[0].skipped == "trusted"
    assert trace.capture(op.id, "input", 0) is None
    assert trace.capture(op.id, "output", 0).tolist() == [-7.0, -1.0, -1.0, -1.0]


def test_calls_over_the_limit_are_left_out_whole(tmp_path):
    small, large = torch.randn(100), torch.randn(1000)
    trace = record(
        tmp_path / "a.ulps",
        lambda: (small + 1, large + large.neg(), small.neg()),
        capture=["aten::add", "aten::neg"],
        capture_limit=6200,
    )
    adds, negs = named(trace, "aten::add"), named(trace, "aten::neg")
    same(trace.capture(adds[0].id, "input", 0), small)
    same(trace.capture(negs[0].id, "input", 0), large)
    assert trace.capture(negs[0].id, "output", 0) is None  # did not fit any more
    assert trace.capture(adds[1].id, "output", 0) is None
    same(trace.capture(negs[1].id, "output", 0), -small)  # still does
    assert int(trace.meta("captured_bytes")) <= 6200
    assert int(trace.meta("capture_left_out")) == 2
    (event,) = [event for event in trace.events if event.kind == "capture"]
    assert '"left_out": "limit"' in event.text and event.at == negs[0].id


def test_nothing_is_captured_of_eager_ops_by_default(tmp_path):
    trace = record(tmp_path / "a.ulps", lambda: torch.randn(8).neg())
    assert trace.meta("capture") == "first"
    assert not any(operand.captured for op in trace for operand in op.operands)


def test_first_calls_of_kernels_are_captured_by_default(run):
    result = run(
        """
        import torch
        def f(x, y):
            y.mul_(2)
            return torch.sin(x).sum() + torch.cos(y)
        g = torch.compile(f)
        torch.manual_seed(0)
        x, y = torch.randn(4, 300), torch.ones(300)
        for _ in range(2):
            g(x, y)
        """
    )
    trace = result.trace
    kernels = [op for op in trace if op.kind == "kernel"]
    sites = {(op.provenance["graph"], op.name) for op in kernels}
    first, second = kernels[: len(sites)], kernels[len(sites) :]
    assert len(second) == len(first) >= 1
    for op in first:
        for operand in op.operands:
            assert operand.captured == (operand.skipped is None), (op.name, operand)
    written = [o for op in first for o in op.operands if o.role == "after" and o.shape == (300,)]
    assert written
    ones = torch.ones(300)
    assert any(torch.equal(trace.tensor(o), 2 * ones) for o in written)
    # The second call reads and writes other values of y, which were not kept.
    assert not all(o.captured for op in second for o in op.operands if o.skipped is None)


def test_bad_limits_are_refused(tmp_path):
    with pytest.raises(ValueError, match="capture_limit"):
        ulpscope.start(tmp_path / "a.ulps", capture_limit=-1)
