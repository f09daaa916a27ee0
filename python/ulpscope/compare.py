"""The comparison of two traces as typed Python values: `ulpscope.diff("a.ulps", "b.ulps")`."""

from __future__ import annotations

import dataclasses
import html
import json
import os
from typing import Any

from ulpscope import _program
from ulpscope.trace import Frame, Trace

__all__ = ["Counts", "Diff", "Origin", "Side", "Setting", "diff"]


@dataclasses.dataclass(frozen=True)
class Side:
    """The op of one trace that an origin is about."""

    id: int
    op: str
    kernel: str | None  #: the compiled kernel that holds it
    stack: tuple[Frame, ...]  #: innermost first


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting in which the two runs differ."""

    key: str
    a: str
    b: str


@dataclasses.dataclass(frozen=True)
class Counts:
    """Aligned pairs by label."""

    pairs: int
    identical: int
    within: int
    origin: int
    propagated: int
    healed: int
    structural: int
    source: int
    opaque: int


@dataclasses.dataclass(frozen=True)
class Origin:
    """An op at which a difference starts."""

    label: str  #: "origin", "structural" or "source"
    op: str
    ops: tuple[str, ...]  #: all original ops of the group
    step: int
    phase: str
    module: str
    rank: int
    a: Side | None
    b: Side | None
    role: str  #: of the operand that decided: "input", "output", "before" or "after"
    index: int
    dtype: str
    shape: tuple[int, ...]
    difference: str  #: "rounding", "numeric", "missing", ...
    relative_error: float | None
    ulp: float | None
    confidence: float
    explanation: str

    def __str__(self) -> str:
        size = [f"{self.relative_error:.2g} relative"] if self.relative_error is not None else []
        if self.ulp is not None:
            size.append(f"about {self.ulp:.2g} ulp")
        where = f"step {self.step}, {self.phase}" + (f", {self.module}" if self.module else "")
        return ", ".join([f"{self.op} ({self.difference}) in {where}", *size])


@dataclasses.dataclass(frozen=True, repr=False)
class Diff:
    """What `ulpscope diff A B` finds. True where the runs agree."""

    a: str  #: path
    b: str
    verdict: str  #: "identical", "within_tolerance", "numeric", "structural" or "not_comparable"
    first: Origin | None
    dominant: Origin | None
    frontier: tuple[Origin, ...]
    environment: tuple[Setting, ...]
    counts: Counts
    json: dict[str, Any]  #: all of it, as docs/diff.schema.json describes
    text: str  #: as the command line prints it

    def __bool__(self) -> bool:
        return self.verdict in ("identical", "within_tolerance")

    def __repr__(self) -> str:
        first = f", first {self.first}" if self.first else ""
        return f"<ulpscope.Diff {self.verdict}: {self.counts.pairs} pairs{first}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        cell = "<td style='text-align:left'>{}</td>"
        rows = "".join(
            "<tr>" + "".join(cell.format(html.escape(str(value))) for value in (
                origin.op, f"step {origin.step}, {origin.phase}", origin.module, origin.difference,
                "" if origin.relative_error is None else f"{origin.relative_error:.2g}",
                "" if origin.ulp is None else f"{origin.ulp:.2g}", origin.explanation)) + "</tr>"
            for origin in self.frontier[:20]
        )  # fmt: skip
        names = ("op", "where", "module", "difference", "relative", "ulp", "why")
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in names)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        return f"<p><b>{html.escape(self.text.splitlines()[0])}</b></p>{table}"

    def html(self) -> str:
        """The report that `ulpscope diff --format=html` writes: a page that stands alone."""
        return _run(self.a, self.b, "html", self._flags)

    _flags: tuple[str, ...] = ()


def diff(
    a: str | os.PathLike[str] | Trace,
    b: str | os.PathLike[str] | Trace,
    *,
    rtol: float = 0,
    atol: float = 0,
    ulp: float = 0,
    map: str | os.PathLike[str] | None = None,  # noqa: A002 - as the flag of the command line
    rules: str | os.PathLike[str] | None = None,
    noise: str | os.PathLike[str] | Trace | None = None,
) -> Diff:
    """Names the first op at which trace `b` parts from trace `a`; the options are those of
    `ulpscope diff`. RuntimeError, with one line, for a trace that can't be read."""
    paths = [os.fspath(each.path if isinstance(each, Trace) else each) for each in (a, b)]
    flags = [f"--{name}={value!r}" for name, value in (("rtol", rtol), ("atol", atol), ("ulp", ulp)) if value]
    flags += [f"--{name}={os.fspath(value.path if isinstance(value, Trace) else value)}"
              for name, value in (("map", map), ("rules", rules), ("noise", noise)) if value]  # fmt: skip
    found = json.loads(_run(*paths, "json", tuple(flags)))
    text = _run(*paths, "text", tuple(flags))
    return Diff(
        a=paths[0],
        b=paths[1],
        verdict=found["verdict"],
        first=_origin(found["first"]),
        dominant=_origin(found["dominant"]),
        frontier=tuple(origin for each in found["frontier"] if (origin := _origin(each))),
        environment=tuple(Setting(**each) for each in found["environment"]),
        counts=Counts(**{field.name: found["counts"][field.name] for field in dataclasses.fields(Counts)}),
        json=found,
        text=text,
        _flags=tuple(flags),
    )


def _run(a: str, b: str, format: str, flags: tuple[str, ...]) -> str:
    done = _program.run("diff", f"--format={format}", *flags, "--", a, b)
    if done.returncode not in (0, 1, 3, 4):
        raise RuntimeError(done.stderr.strip().removeprefix("ulpscope: ") or f"ulpscope diff: status {done.returncode}")
    return done.stdout


def _origin(found: dict[str, Any] | None) -> Origin | None:
    if found is None:
        return None
    operand = found["operand"]
    return Origin(
        **{name: found[name] for name in ("label", "op", "step", "phase", "module", "rank", "difference",
                                          "relative_error", "ulp", "confidence", "explanation")},
        ops=tuple(found["ops"]),
        a=_side(found["a"]),
        b=_side(found["b"]),
        role=operand["role"],
        index=operand["index"],
        dtype=operand["dtype"],
        shape=tuple(operand["shape"]),
    )  # fmt: skip


def _side(found: dict[str, Any] | None) -> Side | None:
    if found is None:
        return None
    stack = tuple(Frame(each["file"], each["line"], each["function"]) for each in found["stack"])
    return Side(found["id"], found["op"], found["kernel"], stack)
