"""What was found in a kernel, as JSON values and as text."""

from __future__ import annotations

import math
from typing import Any

from .distance import Distance
from .in_trace import Recorded
from .open_kernel import Opened, OpResult, worst_of

SCHEMA = "ulpscope.microscope/1"
LEAST_SHARE = 0.01  # of what the ops of a kernel add: below it an op is no origin worth naming


def as_json(recorded: Recorded, opened: Opened) -> dict[str, Any]:
    """One kernel; docs/microscope.md describes the keys."""
    index = {op.call: i for i, op in enumerate(opened.ops)}
    origins = [_origin(recorded, opened, op, index) for op in named_origins(opened)]
    dominant = next((i for i, o in enumerate(origins) if o["dominant"]), None)
    return {
        "id": recorded.op.id,
        "kernel": recorded.name,
        "step": recorded.op.step,
        "phase": recorded.op.phase,
        "error": None,
        "faithful": opened.faithful,
        "departs": any(d.departs for d in opened.outputs.values()),
        "outputs": [{"node": name, **_distance(d)} for name, d in opened.outputs.items()],
        "ops": [_op(recorded, op, index) for op in opened.ops],
        "origins": origins,
        "dominant": dominant,
        "cured_by": opened.cured_by or None,
        "notes": opened.notes + _borrowed(recorded),
    }


def named_origins(opened: Opened) -> list[OpResult]:
    """The ops to name, in the program's order: the first, and all that add something."""
    if opened.first is None:
        return []
    found = [opened.first]
    for op in opened.ops:
        if not op.origin or not op.reaches or op.random:
            continue
        if any(op.node == known.node for known in found):  # one value, computed once for both
            continue
        if op.share >= LEAST_SHARE or op is opened.dominant:
            found.append(op)
    return found


def _borrowed(recorded: Recorded) -> list[str]:
    names = recorded.kernel.borrowed
    if not names:
        return []
    return [
        f"it reads partial results of kernels before it; opened together with them, from "
        f"{', '.join(names)}"
    ]


def _distance(found: Distance | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "elements": found.elements,
        "differing": found.differing,
        "relative_error": _finite(found.relative),
        "ulp": _finite(found.ulp),
        "largest": _finite(found.largest),
        "place": list(found.place) if found.place is not None else None,
        "eager": _finite(found.values[0]) if found.values else None,
        "compiled": _finite(found.values[1]) if found.values else None,
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _op(recorded: Recorded, result: OpResult, index: dict[int, int]) -> dict[str, Any]:
    call = recorded.kernel.graph.calls[result.call]
    source = recorded.source(result.call)
    known = recorded.op.provenance["sources"][source] if source >= 0 else {}
    val = recorded.kernel.graph.nodes[result.node].val
    val = val if isinstance(val, dict) else {"dtype": "", "shape": []}
    values = {
        "op": call.op,
        "overload": call.overload,
        "node": result.node,
        "source": source,
        "backward": call.backward,
        "module": known.get("module", ""),
        "stack": [dict(zip(("file", "line", "function"), f)) for f in known.get("stack", [])],
        "dtype": val["dtype"],
        "shape": [recorded.kernel.symbols.value(size) for size in val["shape"]],
        "own": _distance(result.own),
        "inside": _distance(result.inside),
        "prefix": _distance(result.prefix),
        "inherits": result.inherits,
        "reaches": result.reaches,
        "origin": result.origin,
        "fused_with": index.get(result.fused_with) if result.fused_with is not None else None,
        "random": result.random,
        "adds": _finite(result.adds),
        "share": _finite(result.share),
        "nearer": result.nearer,
        "eager_error": _finite(result.eager_error),
        "compiled_error": _finite(result.compiled_error),
        "note": result.note,
    }
    return values


def _origin(recorded, opened: Opened, op: OpResult, index: dict[int, int]) -> dict[str, Any]:
    named = named_call(recorded, op)
    return {
        "at": index[op.call],
        "named": index[named],
        "dominant": op is opened.dominant,
        "share": _finite(op.share),
        "explanation": explanation(recorded, opened, op),
    }


def named_call(recorded: Recorded, op: OpResult) -> int:
    """The call to blame: where fusion leaves the rounding of a cast out, the cast."""
    if op.fused_with is not None and _is_cast(recorded, op.fused_with):
        return op.fused_with
    return op.call


def _is_cast(recorded: Recorded, number: int) -> bool:
    call = recorded.kernel.graph.calls[number]
    return call.op in ("aten::_to_copy", "aten::to", "prims::convert_element_type")


def explanation(recorded: Recorded, opened: Opened, op: OpResult) -> str:
    """One sentence that says which op, what and how much."""
    calls = recorded.kernel.graph.calls
    name = calls[op.call].op
    if op.random:
        return (
            f"{name} draws random numbers, compiled code from another stream than eager code; "
            "torch._inductor.config.fallback_random = True restores eager's."
        )
    amount = _amount(op)
    cure = ""
    if op.fused_with is not None and opened.cured_by:
        cure = f"; cured by torch._inductor.config.{opened.cured_by} = True"
    if op.fused_with is None:
        text = f"Inside the kernel {name} is the first to depart from eager{amount}"
        if op is not opened.first:
            text = f"Given eager's inputs, {name} inside the kernel departs from eager{amount}"
        if op.note == "only inside the whole kernel":
            text += ", and only in the whole kernel"
        return text + "."
    other = calls[op.fused_with].op
    if _is_cast(recorded, op.fused_with):
        dtype = _dtype(recorded, op.fused_with)
        return (
            f"The kernel leaves out the cast to {dtype} ({other}): fused with it, {name} gets the value "
            f"that was not rounded and departs from eager{amount}{cure}."
        )
    return f"Fused with {other}, {name} departs from eager{amount}; alone it agrees{cure}."


def _dtype(recorded: Recorded, number: int) -> str:
    for name in recorded.kernel.exits().get(number, {}).values():
        val = recorded.kernel.graph.nodes[name].val
        if isinstance(val, dict):
            return val["dtype"]
    return "another dtype"


def _amount(op: OpResult) -> str:
    found = op.departs
    if found is None:
        return ""
    parts = [size(found)]
    if op.nearer in ("eager", "compiled"):
        parts.append(f"{op.nearer} is nearer to float64")
    return f" ({'; '.join(parts)})"


def size(found: Distance) -> str:
    """How far, in a few words."""
    if not found.departs:
        return "the same"
    if found.ulp is None:
        return f"{found.differing:,} of {found.elements:,} elements"
    text = f"{found.relative:.2g} relative"
    return f"{text}, about {found.ulp:.2g} ulp" if math.isfinite(found.ulp) else text


# --- text -------------------------------------------------------------------------------------------


def as_text(recorded: Recorded, opened: Opened) -> str:
    calls = recorded.kernel.graph.calls
    lines = [f"kernel {recorded.name} (#{recorded.op.id}), step {recorded.op.step}, {recorded.op.phase}"]
    rows = [("op", "alone", "in the kernel", "its prefix", "adds", "nearer to float64")]
    for op in opened.ops:
        rows.append(
            (
                calls[op.call].op,
                "random" if op.random else _cell(op.own),
                "" if op.random else _cell(op.inside),
                _cell(op.prefix),
                f"{op.share:.0%}" if op.origin and op.share else "",
                op.nearer or "",
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        lines.append("  " + "  ".join(cells).rstrip())
    lines.append("")
    for op in named_origins(opened):
        lines.append(explanation(recorded, opened, op))
        where = _where(recorded, named_call(recorded, op))
        if where:
            lines.append(f"  {where}")
    if not named_origins(opened):
        lines.append("No op of this kernel departs from eager on these inputs.")
    if opened.faithful:
        lines.append("Compiled again, the kernel writes the bits that were recorded.")
    lines += opened.notes + _borrowed(recorded)
    lines += [f"{calls[op.call].op}: {op.note}" for op in opened.ops if op.note]
    return "\n".join(lines)


def as_line(recorded: Recorded, opened: Opened) -> str:
    """One kernel in short: its first op, how far, and where."""
    op = opened.first
    calls = recorded.kernel.graph.calls
    head = f"#{recorded.op.id} {recorded.name}, step {recorded.op.step}, {recorded.op.phase}"
    worst = worst_of(list(opened.outputs.values()))
    lines = [f"{head}: {size(worst)}" if worst is not None else head]
    if op is not None:
        number = named_call(recorded, op)
        where = _where(recorded, number)
        amount = "" if op.random else _amount(op)
        lines.append(f"    {calls[number].op}{amount}" + (f"  {where}" if where else ""))
    return "\n".join(lines)


def _cell(found: Distance | None) -> str:
    return "" if found is None else size(found)


def _where(recorded: Recorded, number: int) -> str:
    source = recorded.source(number)
    if source < 0:
        return ""
    known = recorded.op.provenance["sources"][source]
    parts = [known["module"]] if known["module"] else []
    if known["stack"]:
        file, line, function = known["stack"][0]
        parts.append(f"{file}:{line} in {function}")
    return ", ".join(parts)



