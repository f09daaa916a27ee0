"""torch.compile and its neighbours."""

import copy

import pytest
import torch
import ulpscope
from conftest import PLANTED
from feature import feature
from torch import nn


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@feature("torch.compiler.set_stance", "as what runs: eager ops under force_eager, kernels otherwise")
def test_set_stance(net, data, compare, planted):
    compiled = torch.compile(net)

    def forced():
        with torch.compiler.set_stance("force_eager"):
            compiled(data)

    answer = compare(lambda: net(data), forced)
    assert answer["verdict"] == "identical"
    planted(forced)


@feature("torch.compile(fullgraph=False), error_on_graph_break", "each graph as a region, the break by its event")
def test_error_on_graph_break(net, data, planted):
    @torch.compile
    def call(x):
        y = net(x)
        torch._dynamo.graph_break()
        with torch._dynamo.error_on_graph_break(True):
            return y.sin()

    planted(lambda: call(data))


@feature("torch.library.custom_op", "one op, whatever it runs inside; in compiled code as an extern kernel")
def test_custom_op(net, data, planted):
    planted(lambda: net(data))
    compiled = torch.compile(net, fullgraph=True)
    planted(lambda: compiled(data))


@feature("torch.compiler.nested_compile_region", "as the kernels of each call")
def test_nested_compile_region(data, planted):
    torch.manual_seed(0)
    layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])

    @torch.compiler.nested_compile_region
    def block(layer, x):
        return torch.ops.planted.layer(layer(x))

    @torch.compile(fullgraph=True)
    def call(x):
        for layer in layers:
            x = block(layer, x)
        return x

    planted(lambda: call(data))


@feature("torch.compile with use_deterministic_algorithms", "as any compiled code; the setting is in the environment")
def test_deterministic(net, data, record, diff, planted):
    compiled = torch.compile(net)

    def call():
        torch.use_deterministic_algorithms(True)
        try:
            net.zero_grad()
            compiled(data).sum().backward()
        finally:
            torch.use_deterministic_algorithms(False)

    planted(call)


@feature("torch.compiler.save_cache_artifacts, load_cache_artifacts", "kernels of loaded artifacts like compiled ones")
def test_mega_cache(net, data, record, diff, tmp_path):
    from torch._inductor.utils import fresh_cache

    def call():
        torch._dynamo.reset()
        torch.compile(net)(data)

    with fresh_cache():
        cold = record(call)
        artifacts, info = torch.compiler.save_cache_artifacts()
    with fresh_cache():
        torch.compiler.load_cache_artifacts(artifacts)
        warm = record(call)
        faulty = record(call, fault=True)
    answer = diff(cold, warm)
    assert answer["verdict"] == "identical"
    assert answer["b"]["kernels"] == answer["a"]["kernels"]
    assert diff(cold, faulty).first_op == PLANTED


@feature("torch.export with Dim.AUTO, the exported program run", "the ops of the program")
def test_export(net, data, compare, planted):
    exported = torch.export.export(
        net, (data,), dynamic_shapes=({0: torch.export.Dim.AUTO, 1: torch.export.Dim.STATIC},)
    )
    module = exported.module()
    answer = compare(lambda: net(data), lambda: module(data))
    assert answer["verdict"] == "identical", answer["first"]
    planted(lambda: module(data[:3]))


@feature("TorchScript (deprecated) beside torch.export", "the ops that the interpreter runs")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript(data, compare, planted):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.LayerNorm(8))
    scripted = torch.jit.script(copy.deepcopy(net))
    exported = torch.export.export(net, (data,)).module()
    for _ in range(3):  # the profiling executor settles
        scripted(data)
    answer = compare(lambda: exported(data), lambda: scripted(data))
    assert answer["verdict"] == "identical", answer["first"]


def _cond(x):
    return torch.cond(x.sum() > 0, torch.ops.planted.layer, lambda x: x.sin(), (x,))


def _while_loop(x):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, torch.ops.planted.layer(x)), (torch.tensor(0), x))


def _scan(x):
    from torch._higher_order_ops.scan import scan

    def step(carry, row):
        carry = torch.ops.planted.layer(carry + row)
        return carry, carry.clone()

    return scan(step, torch.zeros(8), x)


def _map(x):
    from torch._higher_order_ops.map import map as map_

    return map_(torch.ops.planted.layer, x)


def _associative_scan(x):
    from torch._higher_order_ops.associative_scan import associative_scan

    return associative_scan(lambda a, b: torch.ops.planted.layer(a + b), x, 0, combine_mode="generic")


@feature("cond, while_loop, scan, map, associative_scan", "the ops or kernels of each branch and iteration, in a region")
@pytest.mark.parametrize("function", [_cond, _while_loop, _scan, _map, _associative_scan])
@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_higher_order(function, how, planted):
    x = torch.rand(6, 8) + 0.5
    call = function if how == "eager" else torch.compile(function, fullgraph=True)
    planted(lambda: call(x))


@feature("flex_attention", "its kernel and the ops of the score function's region")
def test_flex_attention(planted):
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = (torch.randn(1, 2, 32, 16) for _ in range(3))
    compiled = torch.compile(flex_attention)
    planted(lambda: torch.ops.planted.layer(compiled(q, k, v)))


@feature("scaled_dot_product_attention and its backends", "the op of the backend that was chosen")
def test_sdpa(compare, planted, record):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (torch.randn(1, 2, 32, 16) for _ in range(3))

    def attend(backend):
        with sdpa_kernel(backend):
            return torch.ops.planted.layer(nn.functional.scaled_dot_product_attention(q, k, v))

    planted(lambda: attend(SDPBackend.FLASH_ATTENTION))
    # Many ops on one side, one on the other: a group, whose value differs by roundings.
    answer = compare(lambda: attend(SDPBackend.MATH), lambda: attend(SDPBackend.FLASH_ATTENTION))
    assert answer["first"]["b"]["op"] == "aten::_scaled_dot_product_flash_attention_for_cpu"
    assert answer["first"]["difference"] == "rounding"
    names = {op.name for op in ulpscope.open(record(lambda: attend(SDPBackend.FLASH_ATTENTION)))}
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in names
