"""Faults planted in one run of a program, with the truth about where they are.

A fault is drawn from a seed. It answers three questions: how run A is made, how run B is made, and
which ops are to blame (ids in A and in B, and what the verdict must be). Value faults change the
result of one chosen op while it runs, so that everything after it is really computed from the
changed value; structural faults change the program's own code around one call of one module.
"""

import math
import random
from dataclasses import dataclass, field

import numpy as np
import torch

import ulpscope

from plant import last_op, planted
from programs import Program, build


@dataclass
class Truth:
    """kind: of fault. a, b: ids of the ops to blame. verdicts: those that are right. changed: False
    where the fault happened to change no bit (then nothing needs to be named). each: every one of
    `groups` must be on the frontier (double faults)."""

    kind: str
    program: str
    a: list = field(default_factory=list)
    b: list = field(default_factory=list)
    verdicts: tuple = ("numeric",)
    labels: tuple = ("origin",)
    changed: bool = True
    groups: list = field(default_factory=list)
    detail: str = ""


# --- recording -----------------------------------------------------------------------------------


def record(program: Program, path: str, plants=()):
    """Run a program recorded to `path`; `plants` as in plant.planted."""
    with ulpscope.record(path), planted(plants):
        program.run()


def positions(path: str):
    return list(ulpscope.open(path))


# --- value faults --------------------------------------------------------------------------------

_VIEWS = {
    "view", "_unsafe_view", "t", "transpose", "permute", "expand", "slice", "select", "unsqueeze",
    "squeeze", "detach", "alias", "as_strided", "split", "unbind", "chunk", "split_with_sizes",
    "reshape", "_reshape_alias", "narrow", "unfold", "lift_fresh",
}


def _ulp(flat, rng):
    i = rng.randrange(flat.size)
    flat[i] = np.nextafter(flat[i], np.float32(np.inf))


def _scaled(flat, rng):
    flat *= np.float32(1 + rng.choice([1e-5, 1e-3, 0.1]))


def _stale(flat, rng):
    flat[:] = np.roll(flat, flat.size // 2 + 1) * np.float32(0.5)


def _nan(flat, rng):
    flat[rng.randrange(flat.size)] = np.nan


def _tail(flat, rng):
    flat[-max(1, flat.size // 8):] = 0


def _permuted(flat, rng):
    i, j = rng.randrange(flat.size), rng.randrange(flat.size)
    flat[[i, j]] = flat[[j, i]]


def _cast(flat, rng):
    flat[:] = (flat.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def _reduction(flat, rng):
    """What another order of summation does: a few elements off by an ulp or two."""
    for _ in range(max(1, flat.size // 10)):
        _ulp(flat, rng)


_VALUE = {
    "one ulp": _ulp, "scaled": _scaled, "stale": _stale, "nan": _nan, "unwritten tail": _tail,
    "permuted": _permuted, "lost precision": _cast, "reduction order": _reduction,
}


def _targets(ops):
    """Ops whose result can be changed: they compute a floating tensor of their own."""
    for op in ops:
        if op.kind != "op" or op.name.removeprefix("aten::") in _VIEWS or "empty" in op.name:
            continue
        if any(o.role in ("output", "after") and o.dtype == "float32" and o.digest
               and math.prod(o.shape) > 0 for o in op.operands):
            yield op


class _Change:
    """Changes the first tensor that it is given, and notes whether a bit moved."""

    def __init__(self, kind, seed):
        self.kind, self.rng, self.calls, self.changed = kind, random.Random(seed), 0, False

    def __call__(self, flat):
        self.calls += 1
        if self.calls > 1:
            return
        before = flat.copy()
        _VALUE[self.kind](flat, self.rng)
        self.changed = before.tobytes() != flat.tobytes()


def value(name, kind, seed, folder):
    rng = random.Random(seed)
    record(build(name), f"{folder}/a.ulps")
    target = rng.choice(list(_targets(positions(f"{folder}/a.ulps"))))
    change = _Change(kind, seed)
    record(build(name), f"{folder}/b.ulps", [(target.id, change)])
    return Truth(kind, name, [target.id], [target.id], changed=change.changed, detail=target.name)


def two_values(name, kind, seed, folder):
    """Two independent faults: neither op's inputs depend on the other's result."""
    rng = random.Random(seed)
    record(build(name), f"{folder}/a.ulps")
    ops = positions(f"{folder}/a.ulps")
    ancestors = {}
    for op in ops:
        own = {op.id}
        for operand in op.operands:
            if operand.role in ("input", "before") and operand.writer:
                own |= ancestors.get(operand.writer, set())
        ancestors[op.id] = own
    targets = list(_targets(ops))
    for _ in range(200):
        first, second = sorted(rng.sample(targets, 2), key=lambda op: op.id)
        if first.id not in ancestors[second.id] and _storages(first).isdisjoint(_storages(second)):
            break
    else:
        return None
    kinds = [rng.choice(list(_VALUE)) for _ in range(2)]
    changes = [_Change(k, seed + i) for i, k in enumerate(kinds)]
    record(build(name), f"{folder}/b.ulps", list(zip((first.id, second.id), changes)))
    ids = [first.id, second.id]
    return Truth("two independent", name, ids, ids, changed=all(c.changed for c in changes),
                 groups=[[first.id], [second.id]], detail=f"{first.name} ({kinds[0]}), {second.name} ({kinds[1]})")


def _storages(op):
    return {o.storage for o in op.operands if o.storage}


# --- structural faults: a changed call of one module ----------------------------------------------


def _calls(name):
    """Leaf module calls of one forward pass: (module name, class, same shape in and out)."""
    program, found, handles = build(name), [], []
    for path, module in program.model.named_modules():
        if next(module.children(), None) is None:
            def hook(module, args, result, path=path):
                if isinstance(result, torch.Tensor) and args and isinstance(args[0], torch.Tensor):
                    x = args[0]
                    found.append((path, type(module).__name__, x.shape == result.shape
                                  and x.dtype == result.dtype and x.is_floating_point()))
            handles.append(module.register_forward_hook(hook))
    with torch.no_grad():
        program.model.eval()
        program.loss(program.model, program.batches[0])
    return found


class _Patched:
    """Replaces the forward of one module at its n-th call; notes which op ids ran inside."""

    def __init__(self, module, nth, replacement):
        self.original, self.replacement, self.nth, self.calls = module.forward, replacement, nth, 0
        self.ids = []
        module.forward = self

    def __call__(self, *args, **kwargs):
        self.calls += 1
        if self.calls != self.nth:
            return self.original(*args, **kwargs)
        begin = last_op()
        result = self.replacement(self.original, *args, **kwargs)
        self.ids = list(range(begin + 1, last_op() + 1))
        return result


def _plain(forward, x, *rest):
    return forward(x, *rest)


def _extra(rng):
    change = rng.choice([lambda y: y + 0, lambda y: y * 1.0, lambda y: y.clone(), lambda y: -(-y)])
    return _plain, lambda forward, x, *rest: change(forward(x, *rest))


def _missing(rng):
    return _plain, lambda forward, x, *rest: x


def _twice(rng):
    return _plain, lambda forward, x, *rest: (forward(x, *rest), forward(x, *rest))[1]


def _applied_twice(rng):
    return _plain, lambda forward, x, *rest: forward(forward(x, *rest), *rest)


def _swap(rng):
    return (lambda forward, x, *rest: torch.tanh(forward(x, *rest)),
            lambda forward, x, *rest: forward(torch.tanh(x), *rest))


def _swap_independent(rng):
    def ab(forward, x, *rest):
        y = forward(x, *rest)
        a = torch.sin(y)
        b = torch.cos(y)
        return y + a * b

    def ba(forward, x, *rest):
        y = forward(x, *rest)
        b = torch.cos(y)
        a = torch.sin(y)
        return y + a * b

    return ab, ba


def _dropped_cast(rng):
    return lambda forward, x, *rest: forward(x, *rest).to(torch.bfloat16).to(torch.float32), _plain


def _view(rng):
    def start(offset):
        def run(forward, x, *rest):
            y = forward(x, *rest)
            return torch.cat([y, y])[offset : offset + y.shape[0]]
        return run

    return start(0), start(1)


def _decomposed(cls):
    def linear(self):
        return lambda forward, x, *rest: torch.matmul(x, self.weight.t()) + self.bias

    def layer_norm(self):
        def run(forward, x, *rest):
            mean = x.mean(-1, keepdim=True)
            variance = (x - mean).square().mean(-1, keepdim=True)
            return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias
        return run

    return {
        "GELU": lambda self: lambda f, x, *r: 0.5 * x * (1 + torch.erf(x * math.sqrt(0.5))),
        "SiLU": lambda self: lambda f, x, *r: x * torch.sigmoid(x),
        "SiLUActivation": lambda self: lambda f, x, *r: x * torch.sigmoid(x),
        "LayerNorm": layer_norm,
        "Linear": linear,
        "Conv1D": lambda self: lambda f, x, *r: torch.matmul(x, self.weight) + self.bias,
    }.get(cls)


_STRUCTURAL = {
    "extra op": (_extra, False), "missing op": (_missing, True), "module run twice": (_twice, False),
    "module applied twice": (_applied_twice, True), "ops swapped": (_swap, True),
    "dropped cast": (_dropped_cast, False), "view off by one": (_view, False),
    "independent ops swapped": (_swap_independent, False), "decomposed": (None, False),
}


def structural(name, kind, seed, folder):
    rng = random.Random(seed)
    make, same = _STRUCTURAL[kind]
    calls = _calls(name)
    candidates = [c for c in enumerate(calls) if c[1][2] or not same]
    if kind == "decomposed":
        candidates = [c for c in candidates if _decomposed(c[1][1])]
        if not candidates:
            return None
    index, (path, cls, _) = rng.choice(candidates)
    nth = 1 + sum(1 for c in calls[:index] if c[0] == path)
    ids = []
    for side in (0, 1):
        program = build(name)
        module = program.model.get_submodule(path)
        if kind == "decomposed":
            if cls == "Linear" and module.bias is None:
                return None
            replacement = (_plain, _decomposed(cls)(module))[side]
        else:
            replacement = make(random.Random(seed))[side]
        patched = _Patched(module, nth, replacement)
        record(program, f"{folder}/{'ab'[side]}.ulps")
        ids.append(patched.ids)
    verdicts = ("structural",)
    if kind == "independent ops swapped":
        verdicts = ("identical", "structural")
    elif kind == "decomposed":
        # The ops that stand for each other are compared as a group: a difference of its result, or none.
        verdicts = ("identical", "numeric", "structural")
    return Truth(kind, name, ids[0], ids[1], verdicts, ("structural", "origin"), detail=f"{path} ({cls})")


# --- settings, data, parameters --------------------------------------------------------------------


def _first_difference(folder):
    """Ids of the first op that differs, of two runs with the same ops: known without any alignment."""
    for a, b in zip(positions(f"{folder}/a.ulps"), positions(f"{folder}/b.ulps"), strict=True):
        if a.scalars != b.scalars or [o.digest for o in a.operands] != [o.digest for o in b.operands]:
            return a.id, b.id
    return None


def setting(name, kind, seed, folder):
    rng = random.Random(seed)
    a, b = build(name), build(name)
    labels, verdicts, difference = ("structural", "origin"), ("structural", "numeric"), kind
    if kind == "another eps":
        modules = [m for m in b.model.modules() if isinstance(getattr(m, "eps", None), float)]
        if not modules:
            return None
        rng.choice(modules).eps *= 1.5
    elif kind == "another lr":
        if not b.training:
            return None
        b.settings[rng.choice(["lr", "weight_decay", "eps"])] *= 2
    elif kind == "data changed":
        labels, verdicts = ("source",), ("numeric",)
        tensors = [t for batch in b.batches for t in (batch if isinstance(batch, tuple) else (batch,))]
        tensor = rng.choice(tensors).view(-1)
        i = rng.randrange(tensor.numel())
        tensor[i] = (tensor[i] + 1) % 8 if tensor.dtype == torch.int64 else tensor[i] + 0.01
    elif kind == "parameter changed":
        labels, verdicts = ("source",), ("numeric",)
        _ulp(rng.choice(list(b.model.parameters())).detach().view(-1).numpy(), rng)
    elif kind == "seed changed":
        labels, verdicts = ("source",), ("numeric",)
        with torch.no_grad():
            torch.manual_seed(seed)
            for p in b.model.parameters():
                if p.dim() > 1:
                    p.normal_(std=0.05)
    record(a, f"{folder}/a.ulps")
    record(b, f"{folder}/b.ulps")
    found = _first_difference(folder)
    if found is None:
        return Truth(kind, name, changed=False)
    return Truth(kind, name, [found[0]], [found[1]], verdicts, labels)


def none(name, kind, seed, folder):
    record(build(name), f"{folder}/a.ulps")
    record(build(name), f"{folder}/b.ulps")
    return Truth(kind, name, verdicts=("identical",), changed=False)


KINDS = {
    **{kind: value for kind in _VALUE},
    **{kind: structural for kind in _STRUCTURAL},
    **{kind: setting for kind in ("another eps", "another lr", "data changed", "parameter changed", "seed changed")},
    "two independent": two_values,
    "no fault": none,
}
