"""Module regions of eager code: names as named_modules() gives them, from the outermost call."""

import threading
import weakref

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def modules(trace, name):
    """(module, class) of each op of this name, in order."""
    return [(op.module, op.module_class) for op in trace if op.name == name]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        x = self.first(x).relu()
        for layer in self.layers:
            x = layer(x)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.head = nn.Sequential(nn.Linear(4, 2), nn.Tanh())

    def forward(self, x):
        return self.head(self.block(x)).sigmoid()


X = torch.randn(3, 4)


def test_names_are_qualified_from_the_root(recorded):
    net = Net()
    trace = recorded(lambda: net(X))
    assert modules(trace, "aten::addmm") == [
        ("block.first", "Linear"),
        ("block.layers.0", "Linear"),
        ("block.layers.1", "Linear"),
        ("head.0", "Linear"),
    ]
    assert modules(trace, "aten::relu") == [("block", "Block")]
    assert modules(trace, "aten::tanh") == [("head.1", "Tanh")]
    assert modules(trace, "aten::sigmoid") == [("", "Net")]


def test_a_submodule_called_alone_is_its_own_root(recorded):
    net = Net()
    trace = recorded(lambda: net.block(X))
    assert modules(trace, "aten::addmm")[0] == ("first", "Linear")
    assert modules(trace, "aten::relu") == [("", "Block")]


def test_backward_ops_have_the_module_of_their_forward_op(recorded):
    net = Net()
    trace = recorded(lambda: net(X).sum().backward())
    backward = [op for op in trace if op.phase == "backward" and op.name == "aten::mm"]
    assert {op.module for op in backward} == {
        "head.0", "block.first", "block.layers.0", "block.layers.1"
    }  # fmt: skip
    assert {op.phase for op in trace if op.name == "aten::addmm"} == {"forward"}


def test_a_changed_tree_gives_changed_names(recorded):
    net = Net()
    net(X)

    def program():
        net(X)
        net.head = nn.Sequential(nn.Identity(), nn.Linear(4, 2))
        net(X)
        net.block.layers = nn.ModuleList(reversed(net.block.layers))
        net(X)
        net.block.layers.insert(0, nn.Linear(4, 4))
        net(X)

    names = [name for name, _ in modules(recorded(program), "aten::addmm")]
    layers = ["block.layers.0", "block.layers.1"]
    assert names == [
        "block.first", *layers, "head.0",
        "block.first", *layers, "head.1",
        "block.first", *layers, "head.1",
        "block.first", *layers, "block.layers.2", "head.1",
    ]  # fmt: skip


def test_reversed_layers_are_named_by_their_new_place(recorded):
    net = Net()
    old = list(net.block.layers)

    def program():
        net(X)
        net.block.layers = nn.ModuleList(reversed(old))
        old[0](X)  # its own root
        net(X)

    trace = recorded(program)
    weights = [
        (op.module, next(o.storage for o in op.operands if o.arg == 0 and o.role == "input"))
        for op in trace
        if op.name == "aten::addmm" and op.module.startswith("block.layers")
    ]
    assert [name for name, _ in weights] == ["block.layers.0", "block.layers.1"] * 2
    assert weights[0][1] == weights[3][1] and weights[1][1] == weights[2][1]


def test_a_module_outside_the_tree_goes_by_its_class(recorded):
    class Holder(nn.Module):
        def forward(self, x):
            return nn.Sequential(nn.Linear(4, 4))(x)

    trace = recorded(lambda: Holder()(X))
    assert modules(trace, "aten::addmm") == [("Sequential.0", "Linear")]


def test_a_shared_module_has_its_first_name(recorded):
    shared = nn.Linear(4, 4)
    net = nn.Sequential(shared, nn.ReLU(), shared)
    assert modules(recorded(lambda: net(X)), "aten::addmm") == [("0", "Linear"), ("0", "Linear")]


def test_recursion_and_exceptions_leave_the_stack_right(recorded):
    class Recursive(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x, depth):
            if depth == 0:
                raise KeyError("bottom")
            try:
                return self(self.inner(x), depth - 1)
            except KeyError:
                return x.sin()

    def program():
        Recursive()(X, 2)
        X.cos()

    trace = recorded(program)
    assert modules(trace, "aten::addmm") == [("inner", "Linear")] * 2
    assert modules(trace, "aten::sin") == [("", "Recursive")]
    assert modules(trace, "aten::cos") == [("", "")]


def test_overridden_call_and_hooks_and_generators(recorded):
    class Own(nn.Module):
        def __call__(self, x):
            return super().__call__(x) + 1

        def forward(self, x):
            return x.exp()

    class Generates(nn.Module):
        def forward(self, x):
            def produce():
                yield x.sin()

            return produce()

    def program():
        own = Own()
        own.register_forward_hook(lambda module, args, result: result.cos())
        own(X)
        list(Generates()(X))

    trace = recorded(program)
    assert modules(trace, "aten::exp") == [("", "Own")]
    assert modules(trace, "aten::cos") == [("", "Own")]
    assert modules(trace, "aten::add") == [("", "")]
    assert modules(trace, "aten::sin") == [("", "")]  # runs after the call


def test_recomputation_in_backward_keeps_the_name(recorded):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block()])

        def forward(self, x):
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return x

    net = Checkpointed()
    trace = recorded(lambda: net(X.clone().requires_grad_()).sum().backward())
    names = [name for name, _ in modules(trace, "aten::addmm")]
    forward = ["blocks.%d.%s" % (i, n) for i in (0, 1) for n in ("first", "layers.0", "layers.1")]
    assert names[:6] == forward
    assert sorted(names[6:]) == sorted(n for n in forward if n in names[6:]) and names[6:]


def test_each_thread_has_its_own_stack(recorded):
    net, other = Net(), nn.Sequential(nn.Linear(4, 4))

    class Starts(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            thread = threading.Thread(target=lambda: other(x))
            thread.start()
            thread.join()
            return self.net(x)

    names = [name for name, _ in modules(recorded(lambda: Starts()(X)), "aten::addmm")]
    assert names[0] == "0"
    assert names[1] == "net.block.first"


def test_torch_compile_wrapper_takes_no_part_in_names(recorded):
    torch._dynamo.reset()
    net = Net()
    net.block = torch.compile(net.block, backend="eager")
    plain = Net()
    eager = recorded(lambda: plain(X))
    trace = recorded(lambda: net(X))
    assert modules(trace, "aten::sigmoid") == [("", "Net")]
    assert modules(trace, "aten::tanh") == [("head.1", "Tanh")]
    # Inside the compiled frame modules are not called: its ops belong to the block.
    assert {m for m in modules(trace, "aten::relu")} == {("block", "Block")}
    regions = [r for op in trace for r in op.regions if r.kind == "module"]
    assert not any("_orig_mod" in r.name or r.detail == "OptimizedModule" for r in regions)
    assert [op.qualified for op in trace] == [op.qualified for op in eager]

    whole = torch.compile(Net(), backend="eager")
    trace = recorded(lambda: whole(X))
    assert modules(trace, "aten::sigmoid") == [("", "Net")]


def test_distributed_wrapper_takes_no_part_in_names(recorded, tmp_path):
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        net = nn.parallel.DistributedDataParallel(Net())
        trace = recorded(lambda: net(X))
    finally:
        dist.destroy_process_group()
    assert modules(trace, "aten::addmm")[0] == ("block.first", "Linear")
    assert modules(trace, "aten::sigmoid") == [("", "Net")]


def test_scripted_and_traced_modules_run(recorded):
    scripted = torch.jit.script(Block())
    expected = scripted(X)

    def program():
        assert torch.equal(scripted(X), expected)
        torch.jit.trace(Block(), X)(X)

    assert ("", "RecursiveScriptModule") in modules(recorded(program), "aten::addmm") or len(
        modules(recorded(program), "aten::addmm")
    )


def test_no_module_is_kept_alive(recorded):
    net = Net()
    recorded(lambda: net(X))
    reference = weakref.ref(net)
    del net
    assert reference() is None


def test_call_looks_as_before():
    import inspect
    import pickle

    net = nn.Linear(4, 4)
    assert list(inspect.signature(net.__call__).parameters) == ["args", "kwargs"]
    assert nn.Module.__call__.__module__ == "torch.nn.modules.module"
    assert pickle.loads(pickle.dumps(net.__call__))(X).shape == (3, 4)


@pytest.mark.parametrize("depth", [300])
def test_deep_nesting_needs_no_more_of_the_recursion_limit(depth, recorded):
    """A program at the edge of the limit must not fall over it."""
    import sys

    net = nn.Tanh()
    for _ in range(depth):
        net = nn.Sequential(net)

    def deepest():
        limit = sys.getrecursionlimit()
        low, high = 10, 4000
        while low < high:
            middle = (low + high) // 2
            sys.setrecursionlimit(middle + 100)
            try:
                net(X)
                high = middle
            except RecursionError:
                low = middle + 1
        sys.setrecursionlimit(limit)
        return low

    def as_deep(function):
        function()

    found = []
    as_deep(lambda: found.append(deepest()))
    recorded(lambda: found.append(deepest()))
    assert found[0] == found[1]
