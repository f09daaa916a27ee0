"""Are the ties true? Compares what kernels wrote with what eager's ops gave, value by value.

Each case runs in eager under a dispatch mode that keeps every op's results, and compiled with taps that
keep what each kernel wrote. For each tied parameter the value must be among the results of an op of
that name, at the tied position, within rounding. Values are well conditioned, so that a value of the
wrong node would be far off. Prints, as JSON, bytes and parameters by outcome, and what is wrong.
"""

import collections
import json
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ulpscope.inductor import taps
from ulpscope.inductor.signature import READ_WRITE, WRITE

torch._inductor.config.fallback_random = True


class Kept:
    """Stands in for the recorder: keeps sites and what kernels wrote."""

    def __init__(self):
        self.sites, self.written = {}, []

    def kernel(self, function, name, parameters, source):
        def call(*args):
            frame = sys._getframe(1)
            site = self.sites.get((frame.f_code, frame.f_lasti))
            result = function(*args)
            values = {
                p.name: a.detach().clone()
                for p, a in zip(parameters, args)
                if p.access in (WRITE, READ_WRITE)
            }
            self.written.append((name, site, values))
            return result

        return call

    def site(self, code, offsets, graph, site, scope):
        self.sites.update({(code, offset): site for offset in offsets})

    def subgraphs(self, source, scope):
        pass

    def graph(self, compiled, graph_kwargs, scope, cached):
        pass

    def not_seen(self, reason):
        raise SystemExit(reason)


class Ops(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.results = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        values = [] if out is None else tree_leaves(out)
        known = {id(value) for value in values}
        for argument, value in zip(func._schema.arguments, args):
            if argument.alias_info is not None and argument.alias_info.is_write:
                values += [v for v in tree_leaves(value) if id(v) not in known]
        kept = [v.detach().clone() if isinstance(v, torch.Tensor) else None for v in values]
        self.results.append((func._schema.name.rstrip("_"), kept))
        return out


def distance(value, other) -> float:
    value, other = (t.reshape(-1).to(torch.float64) for t in (value, other))
    if value.numel() == 0:
        return 0.0
    if not torch.equal(value.isnan(), other.isnan()):
        return float("inf")
    value, other = value.nan_to_num(), other.nan_to_num()
    return ((value - other).abs().max() / (other.abs().max() + 1e-30)).item()


def best(results, op, output, value):
    """The smallest distance to a result of that op at that position, None where there is none."""
    distances = [
        distance(value, kept[output])
        for name, kept in results
        if name == op.rstrip("_") and output < len(kept) and kept[output] is not None
        and kept[output].numel() == value.numel()
    ]  # fmt: skip
    return min(distances, default=None)


def check(make, taps_of):
    torch.manual_seed(0)
    function, run = make()
    with Ops() as ops:
        run(function)
    torch._dynamo.reset()
    taps_of.written.clear()
    torch.manual_seed(0)
    function, run = make()
    run(torch.compile(function))
    bytes_, wrong = collections.Counter(), []
    for kernel, site, values in taps_of.written:
        for name, value in values.items():
            size = value.numel() * value.element_size()
            if site is None:
                wrong.append([kernel, name, "no site"])
                continue
            if name in site.unwritten:
                continue
            ties = site.ties[name]
            if ties[0].source < 0:
                bytes_[ties[0].how] += size
                continue
            found = [(t, best(ops.results, site.sources[t.source].op, t.output, value)) for t in ties]
            found = [(distance, tie) for tie, distance in found if distance is not None]
            tolerance = 2e-2 if value.dtype in (torch.bfloat16, torch.float16) else 2e-5
            if not found:
                bytes_["no such op in eager"] += size
            elif min(distance for distance, _ in found) <= tolerance:
                # Not always the first: where the trace took another path than eager (a reshape that
                # copies), an op of that name is another call of it.
                bytes_["tied"] += size
            else:
                wrong += [
                    [kernel, name, site.sources[t.source].op, site.sources[t.source].node, t.output, d]
                    for d, t in found
                ]
    return dict(bytes_), wrong


CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def weighted(out):
    """A loss whose gradients differ from element to element."""
    return (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)).sum()


def step(model, *inputs, loss=weighted):
    return model, lambda f: loss(f(*inputs)).backward()


@case
def convolution():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    target = torch.tensor([1, 2, 3, 4])
    return step(model, torch.randn(4, 3, 20, 20), loss=lambda o: F.cross_entropy(o, target))


@case
def dropout():
    model = nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.5), nn.ELU(), nn.Linear(32, 4))
    return step(model, torch.randn(8, 16))


@case
def in_place():
    def function(x):
        y = x * 2
        y.add_(1)
        z = y.view(-1)
        z.mul_(3)
        return y.relu_() + z.view_as(y)

    x = torch.randn(4, 8)
    return function, lambda f: f(x.clone())


@case
def mutation():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(8))
            self.weight = nn.Parameter(torch.randn(8))

        def forward(self, x):
            self.mean.mul_(0.9).add_(x.mean(0).detach())
            x.copy_(x * 2)
            return (x * self.weight + self.mean).tanh()

    return Model(), lambda f: weighted(f(torch.randn(4, 8))).backward()


@case
def bfloat16():
    model = nn.Sequential(nn.Linear(16, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 16))
    return step(model.bfloat16(), torch.randn(8, 16, dtype=torch.bfloat16))


@case
def attention():
    model = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return step(model, torch.randn(2, 10, 32))


@case
def indexing():
    def function(x, i):
        y = x.index_select(0, i)
        z = y.cumsum(1)
        s = torch.zeros_like(x).index_put((i,), y * 2, accumulate=True)
        w = torch.scatter_add(s, 0, i[:, None].expand_as(y), y)
        return torch.cat([w, s], 1)[:, 1:], torch.stack([y, z]).flip(0), z.sort(dim=1)[0] * 2

    x, i = torch.randn(6, 5, requires_grad=True), torch.tensor([0, 2, 2, 5])
    return function, lambda f: sum(weighted(o) for o in f(x, i)).backward()


@case
def strides():
    def function(x):
        y = x.permute(2, 0, 1)
        z = (y + 1).contiguous()
        return z.transpose(0, 1).reshape(-1) * 2, y.sum((0, 2)), torch.where(y > 0, y, y * 3).double()

    x = torch.randn(4, 5, 6)
    return function, lambda f: f(x)


@case
def embedding():
    model = nn.Sequential(nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 8), nn.RMSNorm(8))
    return step(model, torch.randint(0, 20, (3, 7)))


@case
def losses():
    linear = nn.Linear(8, 5)

    def function(x, t):
        o = linear(x)
        a = F.cross_entropy(o, t, label_smoothing=0.1) + F.smooth_l1_loss(o, o.detach() * 0.5)
        return a + torch.logsumexp(o, 1).mean() + o.norm() + o.std() + o.var(0).sum()

    x, t = torch.randn(16, 8), torch.randint(0, 5, (16,))
    return function, lambda f: f(x, t).backward()


@case
def optimizer():
    linear = nn.Linear(8, 8)
    for parameter in linear.parameters():
        parameter.grad = torch.randn_like(parameter)
    adam = torch.optim.AdamW(linear.parameters(), lr=1e-2, foreach=True, weight_decay=0.1)
    return adam.step, lambda f: f()


@case
def graph_breaks():
    first, second = nn.Linear(8, 8), nn.Linear(8, 8)

    def function(x):
        y = first(x).relu()
        torch._dynamo.graph_break()
        return second(y).sigmoid() * y

    x = torch.randn(3, 8)
    return function, lambda f: weighted(f(x)).backward()


@case
def checkpoint():
    from torch.utils.checkpoint import checkpoint as recompute

    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
    x = torch.randn(3, 8, requires_grad=True)
    return step(lambda x: recompute(model, x, use_reentrant=False).tanh(), x)


def transformer(model):
    def make():
        built = model()
        ids = torch.randint(0, 1000, (2, 64))
        return built, lambda f: f(input_ids=ids, labels=ids).loss.backward()

    return make


@case
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    off = {"attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0}
    config = GPT2Config(n_layer=2, n_embd=128, n_head=4, vocab_size=1000, n_positions=128, **off)
    return transformer(lambda: GPT2LMHeadModel(config))()


@case
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        num_hidden_layers=2, hidden_size=128, intermediate_size=256, num_attention_heads=4,
        vocab_size=1000,
    )  # fmt: skip
    return transformer(lambda: LlamaForCausalLM(config))()


if __name__ == "__main__":
    kept = Kept()
    taps.install(kept)
    outcome = {}
    for name in sys.argv[1:] or CASES:
        outcome[name] = check(CASES[name], kept)
    print(json.dumps(outcome))
