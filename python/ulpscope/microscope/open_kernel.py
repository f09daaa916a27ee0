"""Finds the op of a kernel whose compiled value departs from eager's.

Three evaluations of the same ops on the inputs that the kernel had: the program's own ops in eager
(each rounds to its dtype), what Inductor makes of the post-grad nodes, and float64.

1. The whole kernel is compiled again, as it was and with each op's value as a further output (the
   *prefix* value). That it is still the kernel that ran is checked on the digests of what it wrote.
2. Each op is compiled alone and given eager's inputs of it: what it adds of its *own*.
3. Each op is run in eager on the kernel's values of its inputs. Where the kernel has another value and
   the op alone does not depart, fusion is what does it; the nearest op before it with which it departs
   is what it must not be fused with.
4. What an op adds is carried to what the kernel writes. An op whose departure does not get there (the
   last bit of a mean, before an argmax) is not to blame.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from . import compiled, decode, distance
from .compiled import Piece
from .decode import Unknown
from .distance import Distance
from .evaluate import Evaluator, Random
from .kernel_graph import Kernel

if TYPE_CHECKING:
    import torch


@dataclasses.dataclass
class OpResult:
    call: int
    node: str  #: post-grad node that holds its first value
    own: Distance | None = None  #: compiled alone on eager's inputs, against eager
    prefix: Distance | None = None  #: inside the kernel, against eager
    inside: Distance | None = None  #: inside the kernel, against eager on the kernel's inputs of it
    inherits: bool = False  #: an input already departs inside the kernel
    fused_with: int | None = None  #: the call that it departs with only when fused
    random: bool = False
    eager_error: float | None = None  #: relative to float64, on the same inputs
    compiled_error: float | None = None
    reaches: bool = False  #: its departure alone, carried on in eager, changes what the kernel writes
    adds: float = 0.0  #: the same in float64: relative change of what the kernel writes
    share: float = 0.0  #: of what all ops of the kernel add
    note: str = ""

    @property
    def origin(self) -> bool:
        return self.fused_with is not None or bool(self.own and self.own.departs)

    @property
    def departs(self) -> Distance | None:
        """The departure that is this op's own doing."""
        return self.inside if self.fused_with is not None else self.own

    @property
    def nearer(self) -> str | None:
        """"eager", "compiled" or "same": whose value is nearer to float64."""
        if self.eager_error is None or self.compiled_error is None:
            return None
        if self.eager_error == self.compiled_error:
            return "same"
        return "eager" if self.eager_error < self.compiled_error else "compiled"


@dataclasses.dataclass
class Opened:
    ops: list[OpResult]
    outputs: dict[str, Distance]  #: what the kernel writes of the program's values, node -> against eager
    faithful: bool | None  #: compiled again it writes the recorded bits; None: nothing to compare
    notes: list[str]
    first: OpResult | None = None
    dominant: OpResult | None = None
    cured_by: str = ""  #: a setting of Inductor without which there is no fusion effect
    opening: Any = None  #: the work that led here, for extract


def open_kernel(kernel: Kernel, kind: str = "inference", digests: dict | None = None) -> Opened:
    """`digests`: node -> digest of what the recorded kernel wrote (see ulpscope.trace)."""
    return _Opening(kernel, kind, digests or {}).run()


class _Opening:
    def __init__(self, kernel: Kernel, kind: str, digests: dict[str, str]):
        self.kernel = kernel
        self.kind = kind
        self.digests = digests
        self.exits = kernel.exits()
        self.notes: list[str] = []
        self.results = {
            number: OpResult(number, nodes[min(nodes)])
            for number, nodes in self.exits.items()
        }
        self.prefix: dict[str, torch.Tensor] = {}
        self.own: dict[int, dict[str, torch.Tensor]] = {}
        self.eager = Evaluator(kernel)

    def run(self) -> Opened:
        whole, faithful = self._whole()
        self._evaluate(whole)
        self.prefix = whole
        self._compare_prefixes()
        self._alone()
        cured = self._fusion()
        self._float64()
        self._contributions()
        outputs = self._outputs(whole)
        ops = list(self.results.values())
        origins = [op for op in ops if op.origin and not op.random]
        reaching = [op for op in origins if op.reaches and op.adds > 0]  # more than a zero's sign
        reaching = reaching or [op for op in origins if op.reaches] or origins
        first = next(iter(reaching), None)
        dominant = max(reaching, key=lambda op: op.adds, default=None)
        if first is None and any(d.departs for d in outputs.values()):
            first = next((op for op in ops if op.random), None)
            if first is None:
                self.notes.append("what departs inside the kernel is the value of no op of the program")
        return Opened(ops, outputs, faithful, self.notes, first, dominant or first, cured, self)

    # --- 1: prefixes ------------------------------------------------------------------------------

    def _whole(self) -> tuple[dict[str, torch.Tensor], bool | None]:
        """The kernel with all values as outputs; does it write what the recorded kernel wrote?"""
        kernel = self.kernel
        wanted = [name for name in kernel.outputs if name in kernel.inner]
        shown = [n for nodes in self.exits.values() for n in nodes.values() if self._is_tensor(n)]
        inputs = {name: kernel.known[name] for name in kernel.leaves}
        everything = list(dict.fromkeys(wanted + shown))
        (values,) = compiled.run(kernel, [Piece(kernel.inner, inputs, everything)], self.kind)
        expected = {name: self.digests[name] for name in wanted if name in self.digests}
        if expected and self._matches(values, expected):
            return values, True
        (alone,) = compiled.run(kernel, [Piece(kernel.inner, inputs, wanted)], self.kind)
        faithful = self._matches(alone, expected) if expected else None
        if faithful is False:
            self.notes.append(
                "compiled on its own the kernel writes other bits than it wrote in the program; what "
                "is said here is about the kernel on its own"
            )
        return {**values, **alone}, faithful

    def _matches(self, values: dict, expected: dict[str, str]) -> bool:
        return all(digest(values[name]) == text for name, text in expected.items())

    def _is_tensor(self, name: str) -> bool:
        return isinstance(self.kernel.graph.nodes[name].val, dict)

    def _evaluate(self, whole: dict) -> None:
        """Runs the ops in eager; what can't be run takes the compiled value, so that others can."""
        for number, nodes in self.exits.items():
            try:
                self.eager.call(number)
                if number in self.eager.by_nodes:
                    self.results[number].note = "eager's value is that of its decomposition"
                continue
            except Random:
                self.results[number].random = True
                self.results[number].note = "draws random numbers"
            except Exception as error:
                self.results[number].note = f"can't be run in eager: {_line(error)}"
            outputs: list[Any] = [None] * (max(nodes) + 1)
            for output, name in nodes.items():
                outputs[output] = whole.get(name)
            self.eager.calls[number] = outputs

    def _distances(self, number: int, values: dict) -> list[Distance]:
        found = []
        outputs = self.eager.calls.get(number, [])
        for output, name in self.exits[number].items():
            if name in values and output < len(outputs) and outputs[output] is not None:
                found.append(distance.between(outputs[output], values[name]))
        return found

    def _compare_prefixes(self) -> None:
        for number, result in self.results.items():
            if result.random:
                continue
            result.prefix = worst_of(self._distances(number, self.prefix))
            result.inherits = any(
                bool(self.results[source].prefix and self.results[source].prefix.departs)
                for source in self._sources(number)
            )
            result.inside = self._inside(number, self.prefix)

    def _inside(self, number: int, values: dict, of: set[int] | None = None) -> Distance | None:
        """Eager's op on compiled values of its inputs, against its compiled value.

        `of`: the calls whose compiled values count; eager's own are taken for all others.
        """
        again = Evaluator(self.kernel)
        again.calls = {call: list(outputs) for call, outputs in self.eager.calls.items()}
        for call in self._sources(number):
            if of is not None and call not in of:
                continue
            for output, name in self.exits[call].items():
                if name in values and output < len(again.calls[call]):
                    again.calls[call][output] = _like(again.calls[call][output], values[name])
        # Calls between, that left no node, are run again.
        again.calls = {c: v for c, v in again.calls.items() if c in self.results and c != number}
        try:
            outputs = again.call(number)
        except Exception:
            return None
        found = []
        for output, name in self.exits[number].items():
            if name in values and output < len(outputs) and outputs[output] is not None:
                found.append(distance.between(outputs[output], values[name]))
        return worst_of(found)

    def _sources(self, number: int) -> list[int]:
        """Calls of this kernel whose values a call reads, through calls that left no node."""
        found: list[int] = []
        seen = {number}
        pending = [number]
        while pending:
            for reference in self.kernel.graph.calls[pending.pop()].reads():
                if "value" not in reference or reference["value"][0] in seen:
                    continue
                source = reference["value"][0]
                seen.add(source)
                if source in self.results:
                    found.append(source)
                elif source in self.kernel.graph.calls:
                    pending.append(source)
        return found

    # --- 2: each op alone ---------------------------------------------------------------------------

    def piece(self, number: int, together: set[int]) -> Piece | None:
        """The nodes of a call, and of the calls `together`, given eager's values of all others."""
        kernel = self.kernel
        values = {}
        for name in kernel.inner:
            held = kernel.graph.nodes[name].values
            if any(call in together or call == number for call, _ in held):
                continue
            for call, output in held:
                outputs = self.eager.calls.get(call, ())
                if call in self.results and output < len(outputs) and outputs[output] is not None:
                    value = compiled.as_node(kernel, name, outputs[output])
                    if value is not None:
                        values[name] = value
                        break
        names = [name for name in self.exits[number].values() if self._is_tensor(name)]
        inner, leaves = kernel.between(names, set(values) | set(kernel.known))
        if not names or all(name not in inner for name in names):
            return None
        if all(_is_view(kernel.graph.nodes[name]) for name in inner):
            return None
        inputs = {name: values.get(name, kernel.known.get(name)) for name in leaves}
        return Piece(inner, inputs, [name for name in names if name in inner])

    def _alone(self) -> None:
        pieces = {}
        for number, result in self.results.items():
            if result.random or result.note.startswith("can't"):
                continue
            piece = self.piece(number, set())
            if piece is not None:
                pieces[number] = piece
        if not pieces:
            return
        values = compiled.run(self.kernel, list(pieces.values()), self.kind)
        for number, result in zip(pieces, values):
            self.own[number] = result
            self.results[number].own = worst_of(self._distances(number, result))

    # --- 3: fusion ----------------------------------------------------------------------------------

    def _fusion(self) -> str:
        cured = ""
        for number, result in self.results.items():
            if result.random or result.origin or not (result.inside and result.inside.departs):
                continue
            for source in reversed(self._ancestors(number)):
                piece = self.piece(number, self.range(source, number))
                if piece is None:
                    continue
                (values,) = compiled.run(self.kernel, [piece], self.kind)
                if self._departs_together(number, source, values):
                    result.fused_with = source
                    self.own[number] = values
                    cured = cured or self._cure(number, source, piece)
                    break
            else:
                result.own = result.inside
                self.own[number] = {n: self.prefix[n] for n in self.exits[number].values()}
                result.note = "only inside the whole kernel"
        return cured

    def range(self, source: int, number: int) -> set[int]:
        """A call and all between it and another."""
        return {source} | {c for c in self._ancestors(number) if source in self._ancestors(c)}

    def _departs_together(self, number: int, source: int, values: dict) -> bool:
        """Does a compiled range of calls depart from eager by more than its calls do alone?"""
        if not any(d.departs for d in self._distances(number, values)):
            return False
        alone = Evaluator(self.kernel)
        together = self.range(source, number)
        alone.calls = {
            call: list(outputs)
            for call, outputs in self.eager.calls.items()
            if call in self.results and call != number and call not in together
        }
        for call in self.results:
            if call not in together:
                continue
            try:  # in eager, moved by what the call does alone
                outputs = list(alone.call(call))
            except Exception:
                return True
            for output, name in self.exits[call].items():
                mine, eager = self.own.get(call, {}).get(name), self.eager.calls[call][output]
                if mine is None or not distance.between(eager, mine).departs:
                    continue
                if distance.same(outputs[output], eager):
                    outputs[output] = _like(eager, mine)
            alone.calls[call] = outputs
        try:
            outputs = alone.call(number)
        except Exception:
            return True
        return any(
            distance.between(outputs[output], values[name]).departs
            for output, name in self.exits[number].items()
            if name in values and output < len(outputs) and outputs[output] is not None
        )

    def _cure(self, number: int, source: int, piece: Piece) -> str:
        (values,) = compiled.run(self.kernel, [piece], self.kind, emulate_precision_casts=True)
        return "" if self._departs_together(number, source, values) else "emulate_precision_casts"

    def _ancestors(self, number: int) -> list[int]:
        """Calls before it on which it depends, in the program's order."""
        found: set[int] = set()
        pending = [number]
        while pending:
            for source in self._sources(pending.pop()):
                if source not in found:
                    found.add(source)
                    pending.append(source)
        return [call for call in self.results if call in found]

    # --- float64, and what it comes to -----------------------------------------------------------------

    def _float64(self) -> None:
        for number, result in self.results.items():
            values = self.own.get(number)
            if values is None or not result.origin:
                continue
            together = {number}
            if result.fused_with is not None:
                together |= self.range(result.fused_with, number)
            try:
                wide = Evaluator(self.kernel, double=True)
                wide.calls = {
                    call: [wide._wide(v) for v in outputs]
                    for call, outputs in self.eager.calls.items()
                    if call not in together
                }
                exact = wide.call(number)
            except Exception:
                continue
            eager, ours = [], []
            for output, name in self.exits[number].items():
                if name not in values or output >= len(exact) or exact[output] is None:
                    continue
                eager.append(distance.between(exact[output], self.eager.calls[number][output]))
                ours.append(distance.between(exact[output], values[name]))
            if eager:
                result.eager_error = error_of(worst_of(eager))
                result.compiled_error = error_of(worst_of(ours))

    def _contributions(self) -> None:
        """How much each op's own departure moves what the kernel writes, carried there in float64."""
        ends = []
        for name in self.kernel.outputs:
            for call, output in self.kernel.graph.nodes[name].values:
                if call in self.results:
                    ends.append((call, output))
        origins = [r for r in self.results.values() if r.origin and r.call in self.own]
        for result in origins:
            eager = list(self.eager.calls[result.call])
            ours = list(eager)
            for output, name in self.exits[result.call].items():
                if name in self.own[result.call] and output < len(ours):
                    ours[output] = _like(eager[output], self.own[result.call][name])
            moved = self._carried(result.call, eager, ours, ends, double=False)
            result.reaches = any(d.departs for d in moved)
            exact = self._carried(result.call, eager, ours, ends, double=True)
            result.adds = max((error_of(d) or 0.0 for d in exact), default=0.0)
        total = sum(r.adds for r in origins if math.isfinite(r.adds))
        for result in origins:
            result.share = result.adds / total if total else 1.0 / len(origins)

    def _carried(self, number: int, before: list, after: list, ends: list, double: bool) -> list:
        """What the kernel writes, with one value of a call and with another."""
        runs = []
        for outputs in (before, after):
            run = Evaluator(self.kernel, double=double)
            for call, result in self.results.items():
                if result.random or result.note.startswith("can't"):
                    run.calls[call] = [run._wide(v) for v in self.eager.calls[call]]
            run.calls[number] = [run._wide(v) for v in outputs]
            runs.append(run)
        found = []
        for call, output in ends or [(number, o) for o in self.exits[number]]:
            try:
                a, b = (run.call(call)[output] for run in runs)
            except Exception:
                continue
            if a is not None and b is not None:
                found.append(distance.between(a, b))
        return found

    def _outputs(self, whole: dict) -> dict[str, Distance]:
        """Only values that eager has, too: a decomposition's own are left out."""
        found = {}
        for name in self.kernel.outputs:
            for call, output in self.kernel.graph.nodes[name].values:
                outputs = self.eager.calls.get(call, ())
                if name not in whole or output >= len(outputs) or outputs[output] is None:
                    continue
                if self.results.get(call) is None or outputs[output].shape == whole[name].shape:
                    found[name] = distance.between(outputs[output], whole[name])
                    break
        return found


def digest(tensor: torch.Tensor) -> str:
    """As the recorder fingerprints it."""
    import torch

    from ulpscope import _trace

    flat = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    return _trace.digest(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")


def _like(value: Any, other: torch.Tensor) -> torch.Tensor:
    """`other` in the memory layout of `value`: ops may add up in another order in another layout."""
    import torch

    if not isinstance(value, torch.Tensor) or value.shape != other.shape:
        return other
    if value.dtype != other.dtype or value.stride() == other.stride():
        return other
    return torch.empty_like(value).copy_(other)


def worst_of(distances: list[Distance]) -> Distance | None:
    return max(distances, key=lambda d: (d.departs, d.relative, d.differing), default=None)


def error_of(found: Distance | None) -> float | None:
    if found is None:
        return None
    if found.ulp is None and found.differing:  # integers: a share of elements says more
        return found.differing / max(found.elements, 1)
    return found.relative


def _is_view(node) -> bool:
    if node.target == "_operator:getitem" or node.target.startswith("aten.reshape"):
        return True
    return bool(getattr(decode.target(node.target), "is_view", False))


def _line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]


__all__ = ["Kernel", "OpResult", "Opened", "Unknown", "digest", "open_kernel"]
