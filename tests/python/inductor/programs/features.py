"""Each way in which Inductor is asked to compile, in a scope of its own.

Prints, as JSON, how often generated kernels were called in each, where ULPSCOPE_RECORD is not set:
counted by the interpreter's own profile events, which see every call of the built-in `kernel`.
"""

import json
import os
import sys
import threading

import torch
from torch import nn
from torch._higher_order_ops import while_loop
from torch._inductor import config

COUNTING = "ULPSCOPE_RECORD" not in os.environ
count = 0
lock = threading.Lock()


def profile(frame, event, called):
    global count
    if event == "c_call" and called.__name__ == "kernel" and called.__module__ != "builtins":
        with lock:
            count += 1


FEATURES = {}


def feature(function):
    FEATURES[function.__name__] = function
    return function


def data(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 16))


@feature
def training():
    model = net()
    compiled = torch.compile(model)
    for _ in range(2):
        compiled(data(4, 16)).square().sum().backward()


@feature
def dynamic_shapes():
    function = torch.compile(lambda x: (x.sin() + x).sum(0), dynamic=True)
    for size in (3, 7, 11):
        function(data(size, 5))


@feature
def recompiles():
    function = torch.compile(lambda x, k: x.cos() * k)
    for k in (1, 2, 3):
        function(data(4, 4), k)


@feature
def threads():
    function = torch.compile(lambda x: torch.softmax(x * 2, -1) + 1)
    function(data(8, 8))

    def work():
        if COUNTING:
            sys.setprofile(profile)
        for _ in range(5):
            function(data(8, 8))
        sys.setprofile(None)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


@feature
def freezing():
    with config.patch(freezing=True), torch.no_grad():
        torch.compile(net().eval())(data(4, 16))


@feature
def max_autotune():
    with config.patch(max_autotune=True, max_autotune_gemm_backends="CPP,ATEN"), torch.no_grad():
        torch.compile(net().eval())(data(4, 16))


@feature
def graph_partition():
    with config.patch(graph_partition=True):
        torch.compile(lambda x: (x @ x).relu().sort()[0] * 3)(data(8, 8))


@feature
def compiled_autograd():
    model = net()
    loss = torch.compile(model)(data(4, 16)).sum()
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="inductor")):
        loss.backward()


@feature
def cond():
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() * 2, (x,))

    compiled = torch.compile(function)
    compiled(data(4, 4).abs())
    compiled(-data(4, 4).abs())


@feature
def loops():
    def function(x):
        _, y = while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x.sin() * 2), (torch.tensor(0), x))
        return y + 1

    torch.compile(function)(data(4, 4))


@feature
def scan():
    from torch._higher_order_ops.scan import scan as scan_op

    def function(c, x):
        return scan_op(lambda c, x: (c + x.sin(), c * x), c, x)[1]

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        torch.compile(function)(data(4), data(5, 4))


@feature
def flex_attention():
    from torch.nn.attention.flex_attention import flex_attention as attention

    q = data(1, 2, 16, 16)
    torch.compile(lambda q: attention(q, q, q, score_mod=lambda s, b, h, i, j: s + i - j))(q)


@feature
def nested_compile_region():
    @torch.compiler.nested_compile_region
    def block(x):
        return torch.softmax(x, -1) * 2

    torch.compile(lambda x: block(block(x)).relu())(data(4, 4))


@feature
def custom_op():
    @torch.library.custom_op("ulpscope_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    torch.compile(lambda x: twice(x.sin()).cos())(data(4, 4))


@feature
def mutation():
    state = torch.zeros(4)

    @torch.compile
    def function(x):
        state.mul_(0.9).add_(x.mean(0))
        x.add_(1)
        return (x * state).exp()

    for _ in range(2):
        function(data(3, 4))


@feature
def optimizer():
    model = net()
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    torch.compile(adam.step)()


counts = {}
for name in sys.argv[1:] or FEATURES:
    torch._dynamo.reset()
    count = 0
    if COUNTING:
        sys.setprofile(profile)
    with torch.profiler.record_function(f"feature:{name}"):
        FEATURES[name]()
    sys.setprofile(None)
    counts[name] = count
print(json.dumps(counts))
