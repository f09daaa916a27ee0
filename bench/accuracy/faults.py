"""Faults planted in one run of a program, with the truth about where they are.

A fault is drawn from a seed. It answers three questions: how run A is made, how run B is made, and
which ops are to blame (ids in A and in B, and what the verdict must be). Value faults change the
result of one chosen op while it runs, so that everything after it is really computed from the
changed value; structural faults change the program's own code around one call of one module.
"""

import contextlib
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
    """kind: of fault. a, b: ids of the ops to blame. verdicts: those that are right. labels: of the
    first. changed: False where the fault happened to change no bit, or is none (then nothing needs to
    be named). groups: every one of them must be on the frontier (double faults). also: ops that may
    be on the frontier beside those to blame, though not first."""

    kind: str
    program: str
    a: list = field(default_factory=list)
    b: list = field(default_factory=list)
    verdicts: tuple = ("numeric",)
    labels: tuple = ("origin",)
    changed: bool = True
    groups: list = field(default_factory=list)
    also: list = field(default_factory=list)
    detail: str = ""


# --- recording -----------------------------------------------------------------------------------


class NoPlace(Exception):
    """This program has no place for this fault, or can't run with it."""


def record(program: Program, path: str, plants=(), around=contextlib.nullcontext):
    """Run a program recorded to `path`; `plants` as in plant.planted."""
    with ulpscope.record(path), planted(plants), around():
        try:
            program.run()
        except (ZeroDivisionError, ValueError, RuntimeError, IndexError) as error:
            # A counter of the optimizer that was set to 0, say.
            raise NoPlace(str(error)) from error


def positions(path: str):
    return list(ulpscope.open(path))


# --- value faults --------------------------------------------------------------------------------

_VIEWS = {  # and what reshapes in place; an op that computes nothing can't compute it wrongly
    "detach_", "t_", "squeeze_", "unsqueeze_", "transpose_", "as_strided_", "swapdims_",
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


_RANDOM = {"aten::bernoulli_", "aten::native_dropout", "aten::randn", "aten::rand", "aten::normal_"}


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
    # Numbers that a random op draws wrongly look like another seed.
    labels = ("origin", "source") if target.name in _RANDOM else ("origin",)
    return Truth(kind, name, [target.id], [target.id], labels=labels, changed=change.changed, detail=target.name)


def two_values(name, kind, seed, folder):
    """Two independent faults: neither op's inputs depend on the other's result."""
    rng = random.Random(seed)
    record(build(name), f"{folder}/a.ulps")
    ops = positions(f"{folder}/a.ulps")
    ancestors, host = {}, set()
    for op in ops:
        # What has reached the host (item(), nonzero()) may steer anything after it.
        own = {op.id} | host
        for operand in op.operands:
            if operand.role in ("input", "before") and operand.writer:
                own |= ancestors.get(operand.writer, set())
        ancestors[op.id] = own
        if op.name in _TO_HOST:
            host |= own
    targets = list(_targets(ops))
    for _ in range(200):
        first, second = sorted(rng.sample(targets, 2), key=lambda op: op.id)
        if first.id not in ancestors[second.id] and _storages(first).isdisjoint(_storages(second)):
            break
    else:
        raise NoPlace
    kinds = [rng.choice(list(_VALUE)) for _ in range(2)]
    changes = [_Change(k, seed + i) for i, k in enumerate(kinds)]
    record(build(name), f"{folder}/b.ulps", list(zip((first.id, second.id), changes)))
    ids = [op.id for op, change in zip((first, second), changes) if change.changed]
    return Truth("two independent", name, ids, ids, changed=bool(ids), groups=[[i] for i in ids],
                 detail=f"{first.name} ({kinds[0]}), {second.name} ({kinds[1]})")


_TO_HOST = {"aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::equal"}


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


def _with_backward(path, ids):
    """Those ops and the ones that differentiate them, found by autograd's sequence numbers."""
    ops = positions(path)
    chosen = set(ids)
    sequences = {op.sequence for op in ops if op.id in chosen and op.sequence is not None}
    return ids + [op.id for op in ops if op.phase == "backward" and op.id not in chosen
                  and op.sequence in sequences]


def _code(path, ids):
    chosen = set(ids)
    return [(op.qualified, op.scalars) for op in positions(path) if op.id in chosen]


def structural(name, kind, seed, folder):
    rng = random.Random(seed)
    make, same = _STRUCTURAL[kind]
    calls = _calls(name)
    candidates = [c for c in enumerate(calls) if c[1][2] or not same]
    if kind == "decomposed":
        candidates = [c for c in candidates if _decomposed(c[1][1])]
    if not candidates:
        raise NoPlace
    index, (path, cls, _) = rng.choice(candidates)
    nth = 1 + sum(1 for c in calls[:index] if c[0] == path)
    ids = []
    for side in (0, 1):
        program = build(name)
        module = program.model.get_submodule(path)
        if kind == "decomposed":
            if cls == "Linear" and module.bias is None:
                raise NoPlace
            replacement = (_plain, _decomposed(cls)(module))[side]
        else:
            replacement = make(random.Random(seed))[side]
        patched = _Patched(module, nth, replacement)
        record(program, f"{folder}/{'ab'[side]}.ulps")
        ids.append(patched.ids)
    if _code(f"{folder}/a.ulps", ids[0]) == _code(f"{folder}/b.ulps", ids[1]) and kind != "view off by one":
        raise NoPlace  # around a module that runs no op nothing was changed
    verdicts = ("structural",)
    if kind in ("independent ops swapped", "decomposed"):
        # No value need differ. Where one does, it may be in the backward: the sum of gradients in
        # another order, other formulas.
        verdicts = ("identical", "structural") + (("numeric",) if kind == "decomposed" else ())
        ids = [_with_backward(f"{folder}/{side}.ulps", own) for side, own in zip("ab", ids)]
    return Truth(kind, name, ids[0], ids[1], verdicts, ("structural", "origin"), detail=f"{path} ({cls})")


class _Wrapped(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)

    def __getattr__(self, name):  # what the program asks of the module that is wrapped
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)


def nesting(name, kind, seed, folder):
    """A module is wrapped in another: names change, no op does."""
    record(build(name), f"{folder}/a.ulps")
    program = build(name)
    places = [(parent, child) for parent in program.model.modules() for child, inner in parent.named_children()
              if not isinstance(parent, (torch.nn.ModuleList, torch.nn.MultiheadAttention))
              and not isinstance(inner, (torch.nn.ModuleList, torch.nn.MultiheadAttention))]
    parent, child = random.Random(seed).choice(places)
    setattr(parent, child, _Wrapped(getattr(parent, child)))
    record(program, f"{folder}/b.ulps")
    return Truth(kind, name, verdicts=("identical",), changed=False, detail=child)


def recomputed(name, kind, seed, folder):
    """Activation checkpointing of one module: its ops run again in the backward."""
    from torch.utils.checkpoint import checkpoint

    program = build(name)
    if not program.training:
        raise NoPlace
    record(program, f"{folder}/a.ulps")
    calls = [c for c in _calls(name) if c[1] not in ("Embedding", "BatchNorm2d")]
    path, cls, _ = random.Random(seed).choice(calls)
    program = build(name)
    module = program.model.get_submodule(path)
    forward, ids = module.forward, []

    def run(*args, **kwargs):
        begin = last_op()
        try:
            return forward(*args, **kwargs)
        finally:  # a recomputation ends by an exception once it has what it needs
            ids.append(range(begin + 1, last_op() + 1))

    module.forward = lambda *args, **kwargs: checkpoint(run, *args, use_reentrant=False, **kwargs)
    record(program, f"{folder}/b.ulps")
    again = {op.id for op in positions(f"{folder}/b.ulps") if op.phase == "backward"}
    b = [i for span in ids for i in span if i in again]
    if not b:
        raise NoPlace
    return Truth(kind, name, [], b, ("identical", "structural"), ("structural",), detail=f"{path} ({cls})")


def more_steps(name, kind, seed, folder):
    record(build(name), f"{folder}/a.ulps")
    program = build(name)
    program.batches.append(program.batches[0])
    record(program, f"{folder}/b.ulps")
    last = len(positions(f"{folder}/a.ulps"))
    b = [op.id for op in positions(f"{folder}/b.ulps") if op.id > last]
    return Truth(kind, name, [], b, ("structural",), ("structural",))


# --- settings, data, parameters --------------------------------------------------------------------


def _inputs(op):
    return [o.digest for o in op.operands if o.role in ("input", "before")]


def _by_position(folder):
    """The first op that differs, and all that differ though their inputs agree, as pairs: of two runs
    with the same ops, known without any alignment."""
    a, b = positions(f"{folder}/a.ulps"), positions(f"{folder}/b.ulps")
    if [op.qualified for op in a] != [op.qualified for op in b]:
        raise NoPlace
    differing = [(x, y) for x, y in zip(a, b)
                 if x.scalars != y.scalars or [o.digest for o in _defined(x)] != [o.digest for o in _defined(y)]]
    return differing[:1], [(x, y) for x, y in differing if _inputs(x) == _inputs(y)]


def _defined(op):
    """Operands whose content means something: not memory that an op keeps for its backward."""
    return [o for o in op.operands if not ("rnn_layer" in op.name and o.dtype == "uint8")]


def _eps(program, rng):
    names = [(m, n) for m in program.model.modules() for n in ("eps", "variance_epsilon")
             if isinstance(getattr(m, n, None), float)]
    if not names:
        raise NoPlace
    module, attribute = rng.choice(names)
    setattr(module, attribute, getattr(module, attribute) * 1.5)


def _lr(program, rng):
    if not program.training:
        raise NoPlace
    program.settings[rng.choice(["lr", "weight_decay", "eps"])] *= 2


def _data(program, rng):
    tensors = [t for batch in program.batches for t in (batch if isinstance(batch, tuple) else (batch,))]
    tensor = rng.choice(tensors).view(-1)
    i = rng.randrange(tensor.numel())
    tensor[i] = (tensor[i] + 1) % 4 if tensor.dtype == torch.int64 else tensor[i] + 0.01


def _parameter(program, rng):
    _ulp(rng.choice(list(program.model.parameters())).detach().view(-1).numpy(), rng)


def _seed(program, rng):
    with torch.no_grad():
        torch.manual_seed(rng.randrange(1 << 30))
        for p in program.model.parameters():
            if p.dim() > 1:
                p.normal_(std=0.05)


def _random_numbers(program, rng):
    program.seed = 1 + rng.randrange(1 << 30)


@contextlib.contextmanager
def _two_threads():
    torch.set_num_threads(2)
    try:
        yield
    finally:
        torch.set_num_threads(1)


# kind: (change of program B, what runs around it, verdicts, labels of the first)
_SETTINGS = {
    "another eps": (_eps, None, ("structural",), ("structural",)),
    "another lr": (_lr, None, ("structural",), ("structural",)),
    "data changed": (_data, None, ("numeric",), ("source",)),
    "parameter changed": (_parameter, None, ("numeric",), ("source",)),
    "seed changed": (_seed, None, ("numeric",), ("source",)),
    "other random numbers": (_random_numbers, None, ("numeric",), ("source",)),
    "two threads": (None, _two_threads, ("numeric",), ("origin",)),
    "without oneDNN": (None, lambda: torch.backends.mkldnn.flags(enabled=False), ("numeric",), ("origin",)),
}


def setting(name, kind, seed, folder):
    change, around, verdicts, labels = _SETTINGS[kind]
    if kind == "other random numbers":
        name = "dropout-training"
    record(build(name), f"{folder}/a.ulps")
    b = build(name)
    if change:
        change(b, random.Random(seed))
    record(b, f"{folder}/b.ulps", around=around or contextlib.nullcontext)
    first, origins = _by_position(folder)
    if not first:
        return Truth(kind, name, changed=False)
    a, b = first[0]
    also = [x.id for x, _ in origins] if around else []
    return Truth(kind, name, [a.id], [b.id], verdicts, labels, also=also, detail=a.name)


def autocast(name, kind, seed, folder):
    """One run computes in bfloat16 what it may: extra casts, and what they feed."""
    record(build(name), f"{folder}/a.ulps")
    record(build(name), f"{folder}/b.ulps", around=lambda: torch.autocast("cpu", torch.bfloat16))
    b = [op.id for op in positions(f"{folder}/b.ulps")
         if any(o.dtype == "bfloat16" for o in op.operands)]
    return Truth(kind, name, [], b, ("structural",), ("structural",), changed=bool(b))


def none(name, kind, seed, folder):
    record(build(name), f"{folder}/a.ulps")
    record(build(name), f"{folder}/b.ulps")
    return Truth(kind, name, verdicts=("identical",), changed=False)


KINDS = {
    **{kind: value for kind in _VALUE},
    **{kind: structural for kind in _STRUCTURAL},
    **{kind: setting for kind in _SETTINGS},
    "autocast": autocast,
    "recomputed": recomputed,
    "more steps": more_steps,
    "another nesting": nesting,
    "two independent": two_values,
    "no fault": none,
}
EQUAL = ("no fault", "another nesting")  # nothing may be reported
