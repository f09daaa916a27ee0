"""Compares each kernel of one trace with eager on the kernel's own inputs: no reference run needed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from . import open_kernel, report
from .decode import Unknown
from .evaluate import Evaluator
from .in_trace import Kernels, Recorded

if TYPE_CHECKING:
    from ulpscope.trace import Trace

SCHEMA = "ulpscope.check/1"


@dataclasses.dataclass
class Checked:
    departs: list[dict]  #: report.as_json of each, worst first
    texts: list[str]  #: a line of text for each of these
    agree: int
    unopened: list[dict]  #: {"id", "kernel", "error"}
    calls: int  #: of kernels in the trace


def check(trace: Trace, progress=lambda done, of: None) -> Checked:
    kernels = Kernels(trace)
    result = Checked([], [], 0, [], sum(op.kind == "kernel" for op in trace))
    found: list[tuple[float, dict, str]] = []
    calls = kernels.first_calls()
    for done, op in enumerate(calls):
        progress(done, len(calls))
        name = op.provenance["kernel"] if op.provenance else op.name
        try:
            recorded = kernels.recorded(op)
            if agrees(recorded):
                result.agree += 1
                continue
            opened = open_kernel.open_kernel(recorded.kernel, recorded.kind, recorded.digests)
        except Unknown as error:
            result.unopened.append({"id": op.id, "kernel": name, "error": str(error)})
            continue
        except Exception as error:
            text = f"{type(error).__name__}: {(str(error) or 'no message').splitlines()[0]}"
            result.unopened.append({"id": op.id, "kernel": name, "error": text})
            continue
        entry = report.as_json(recorded, opened)
        if not entry["departs"]:
            result.agree += 1
            continue
        found.append((worst(opened), entry, report.as_line(recorded, opened)))
    found.sort(key=lambda each: -each[0])
    result.departs = [entry for _, entry, _ in found]
    result.texts = [text for _, _, text in found]
    return result


def agrees(recorded: Recorded) -> bool:
    """Does eager give all bits that the kernel wrote? Of its values that the program has."""
    kernel = recorded.kernel
    eager = Evaluator(kernel)
    compared = 0
    for name in kernel.outputs:
        digest = recorded.digests.get(name)
        values = kernel.graph.nodes[name].values
        if digest is None or not values:
            continue
        try:
            value: Any = eager.call(values[0][0])[values[0][1]]
            if open_kernel.digest(value) != digest:
                return False
        except Exception:
            return False
        compared += 1
    if not compared:
        raise Unknown("it writes no value that eager has, only parts of one")
    return True


def worst(opened: open_kernel.Opened) -> float:
    """Relative error of what the kernel writes; of integers the share of elements."""
    return max((open_kernel.error_of(d) or 0.0 for d in opened.outputs.values()), default=0.0)


def as_text(found: Checked) -> str:
    total = found.agree + len(found.departs) + len(found.unopened)
    lines = [
        f"{total} compiled kernels, on the inputs of their first calls ({found.calls} calls in the trace): "
        f"{found.agree} agree with eager bit for bit, {len(found.departs)} depart"
        + (f", {len(found.unopened)} could not be compared" if found.unopened else "")
    ]
    if found.departs:
        lines += ["", "worst first:"] + [f"  {text}" for text in found.texts]
    if found.unopened:
        lines += ["", "not compared:"]
        lines += [f"  #{each['id']} {each['kernel']}: {each['error']}" for each in found.unopened]
    return "\n".join(lines)
