"""A trace as typed Python values: `ulpscope.open("run.ulps")`. Needs no torch."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ulpscope._trace import Reader, TraceError

if TYPE_CHECKING:
    import torch

__all__ = ["Coverage", "Event", "Frame", "Op", "Operand", "Region", "Trace", "TraceError"]

_CHUNK = 2048  # ops read at once


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclasses.dataclass(frozen=True, slots=True)
class Region:
    kind: str  #: "module", "compiled", "autograd", "optimizer", "scope" or "higher_order"
    name: str
    detail: str


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    at: int  #: id of the last op that had started
    kind: str
    text: str  #: a JSON object


@dataclasses.dataclass(frozen=True, slots=True)
class Operand:
    """One tensor at one position of an op."""

    role: str  #: "input", "output", or of a written argument "before" and "after"
    arg: int  #: index among the schema's arguments, or returns
    item: int | None  #: index in a list of tensors
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: str
    layout: str
    flags: int
    storage: int | None
    offset: int
    writer: int | None  #: id of the op that last wrote this storage
    closure: str  #: "matched", "broken", "source" or "unchecked"
    skipped: str | None  #: why there is no fingerprint
    digest: str | None
    fingerprint: int | None  #: number in the trace; operands with equal elements may share it
    captured: bool  #: the trace has its elements: Trace.values, Trace.tensor
    statistics: dict[str, float] | None
    sketch: tuple[float, ...] | None


@dataclasses.dataclass(frozen=True, slots=True)
class Op:
    id: int
    parent: int | None
    kind: str  #: "op", "kernel", "compiled", "wrapper" or "collective"
    name: str
    overload: str
    phase: str  #: "forward", "backward", "optimizer" or "other"
    step: int
    thread: int
    raised: bool
    sequence: int | None
    module: str  #: qualified name from the root; the root's own is ""
    module_class: str  #: "" where no module encloses the op
    regions: tuple[Region, ...]  #: innermost first
    operands: tuple[Operand, ...]
    scalars: dict[Any, str]  #: by the argument's name
    stack: tuple[Frame, ...]  #: innermost first
    provenance: dict[str, Any] | None

    @property
    def qualified(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name

    def role(self, *roles: str) -> list[Operand]:
        """The operands of these roles."""
        return [operand for operand in self.operands if operand.role in roles]


@dataclasses.dataclass(frozen=True, slots=True)
class Coverage:
    ops: int
    kernels: int
    tensors: int
    hashed: int
    skipped: dict[str, int]
    closure: float  #: share of inputs that are what their last recorded writer wrote
    closure_matched: int
    closure_broken: int
    closure_unchecked: int
    closure_source: int


class Trace:
    """One trace file, read from disk as it is used. TraceError, with one line, for a bad one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._reader = Reader(os.fspath(path))

    @property
    def path(self) -> str:
        return self._reader.path

    @property
    def complete(self) -> bool:
        """Did the recording end as it should? False: cut short, or still being written."""
        return self._reader.complete

    @property
    def environment(self) -> dict[str, str]:
        return self._reader.environment()

    @property
    def coverage(self) -> Coverage:
        return Coverage(**self._reader.coverage())

    @property
    def events(self) -> list[Event]:
        return [Event(*event) for event in self._reader.events()]

    @property
    def steps(self) -> list[int]:
        return self._reader.steps()

    def meta(self, key: str) -> str:
        """A fact about the trace itself ("command", "level", ...), "" where it is not there."""
        return self._reader.meta(key)

    def __len__(self) -> int:
        return self._reader.op_count()

    def __iter__(self) -> Iterator[Op]:
        """The ops, kernels and regions' calls in the order in which they started."""
        first = 1
        while chunk := self._reader.ops(first, _CHUNK):
            for record in chunk:
                yield _op(record)
            first = chunk[-1]["id"] + 1

    def op(self, id: int) -> Op:
        """The op of this id; KeyError where there is none."""
        records = self._reader.ops(id, 1)
        if not records or records[0]["id"] != id:
            raise KeyError(f"{self.path} has no op {id}")
        return _op(records[0])

    def values(self, operand: Operand) -> bytes | None:
        """The elements of an operand as they lie in a contiguous tensor; None: not captured."""
        if 0 in operand.shape:
            return b"" if operand.layout == "strided" else None
        if operand.fingerprint is None:
            return None
        return self._reader.values(operand.fingerprint)

    def tensor(self, operand: Operand) -> torch.Tensor | None:
        """The captured operand as a tensor of its own, with its dtype, shape and strides; None: not
        captured. Quantized dtypes are given as the integers that they store."""
        from ulpscope import _tensors

        values = self.values(operand)
        return None if values is None else _tensors.build(operand, values)

    def capture(
        self, op: int, role: str, arg: int, item: int | None = None
    ) -> torch.Tensor | None:
        """tensor() of the operand at this position of an op, None also where there is no such."""
        for operand in self.op(op).role(role):
            if operand.arg == arg and operand.item == item:
                return self.tensor(operand)
        return None

    def __repr__(self) -> str:
        end = "" if self.complete else ", cut short"
        return f"<ulpscope.Trace {self.path}: {len(self)} ops{end}>"


def _op(record: dict[str, Any]) -> Op:
    record["regions"] = tuple(Region(*region) for region in record["regions"])
    record["operands"] = tuple(Operand(**operand) for operand in record["operands"])
    record["stack"] = tuple(Frame(*frame) for frame in record["stack"])
    return Op(**record)
