"""torch.compile under the recorder: nothing is compiled otherwise, nothing of compiling is recorded."""

import json

import pytest
import torch
from torch import nn

import ulpscope

# One process for each setting: what Dynamo counts is the process's.
PROGRAM = """
    import json, sys, torch
    from torch import nn
    from torch._dynamo.utils import counters

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(8)
            self.linear = nn.Linear(8, 8)
            self.linear.register_forward_hook(lambda module, args, result: result * 2)
        def forward(self, x):
            return x + self.linear(self.norm(x)).relu()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block() for _ in range(2)])
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            if x.sum() > 1e9:  # breaks the graph
                x = x + 1
            return self.blocks[0](x)

    def compiled(backend, fullgraph=False):
        torch._dynamo.reset()
        counters.clear()
        torch.manual_seed(0)
        net = Block() if fullgraph else Net()
        model = torch.compile(net, backend=backend, fullgraph=fullgraph)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        torch.manual_seed(1)
        for size in (4, 4, 5, 6):  # recompiles, then dynamic
            optimizer.zero_grad()
            model(torch.randn(size, 8)).square().sum().backward()
            optimizer.step()
        counted = {group: dict(values) for group, values in counters.items()}
        return counted, sum(p.double().sum().item() for p in net.parameters()).hex()

    results = [compiled("eager"), compiled("aot_eager"), compiled("inductor"),
               compiled("inductor", fullgraph=True)]
    net = Block()
    net.compile(backend="eager", fullgraph=True)
    net(torch.randn(2, 8))
    print(json.dumps(results, sort_keys=True))
    """


def test_graph_breaks_recompiles_and_caches_are_the_same(run, tmp_path):
    # The cache's key holds the settings; ours may differ from a plain run's, so each has its own.
    def both(number):
        plain = run(PROGRAM, record=False, TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "plain"))
        recorded = run(PROGRAM, TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "recorded"))
        assert plain.returncode == 0, plain.stderr
        assert recorded.returncode == 0, recorded.stderr
        return json.loads(plain.stdout), json.loads(recorded.stdout), recorded

    plain, recorded, cold = both(1)
    assert recorded == plain
    assert any("graph_break" in counted for counted, _ in plain)
    assert "torch.compile" in cold.trace.environment
    assert cold.trace.environment["torch.compile"].startswith("eager, aot_eager, inductor")
    assert cold.trace.environment["inductor.emulate_precision_casts"] == "False"
    plain, recorded, _ = both(2)
    assert recorded == plain
    assert any(c.get("inductor", {}).get("fxgraph_cache_hit") for c, _ in plain)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 2)

    def forward(self, x):
        return self.second(torch.nn.functional.gelu(self.first(x)))


X = torch.randn(3, 4)


@pytest.mark.parametrize("backend", ["eager", "aot_eager_decomp_partition", "inductor"])
def test_compiling_leaves_no_ops(recorded, backend):
    """The first call, which compiles, records what the second does."""
    torch._dynamo.reset()
    net = Net()
    compiled = torch.compile(net, backend=backend)

    def step():
        compiled(X).sum().backward()

    def ops(trace):
        # The first backward has no gradient to add to.
        return [op.qualified for op in trace if op.name not in ("aten::add_", "aten::detach")]

    first, second = recorded(step), recorded(step)
    assert ops(first) == ops(second)
    skipped = {o.skipped for op in first for o in op.operands}
    assert "fake" not in skipped


def test_backend_eager_records_what_eager_does(recorded):
    torch._dynamo.reset()
    net = Net()
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    plain = [(op.qualified, [o.digest for o in op.operands]) for op in recorded(lambda: net(X))]
    seen = [(op.qualified, [o.digest for o in op.operands]) for op in recorded(lambda: compiled(X))]
    assert seen == plain


def test_a_failed_compilation_leaves_recording_on(recorded):
    torch._dynamo.reset()

    def broken(graph, inputs):
        raise ValueError("this backend fails")

    def program():
        with pytest.raises(Exception, match="this backend fails"):
            torch.compile(Net(), backend=broken)(X)
        X.sin()

    assert "aten::sin" in [op.name for op in recorded(program)]


def test_start_and_stop_between_calls_do_not_recompile(tmp_path):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    net = Net()
    compiled = torch.compile(net, backend="eager")
    with torch._dynamo.config.patch(error_on_recompile=True):
        compiled(X)
        with ulpscope.record(tmp_path / "a.ulps"):
            compiled(X)
        compiled(X)
        with ulpscope.record(tmp_path / "b.ulps"):
            compiled(X)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_export_and_make_fx_leave_no_ops(recorded):
    from torch.fx.experimental.proxy_tensor import make_fx

    net = Net()

    def program():
        exported = torch.export.export(net, (X,))
        make_fx(lambda x: x.sin().cos(), tracing_mode="fake")(X)
        return exported

    # A fake tensor is made with a detach, below the modes.
    assert {op.name for op in recorded(program)} <= {"aten::detach"}
