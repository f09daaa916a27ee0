"""A trace in the formats of other tools: Arrow, pandas, Parquet, and the trace of Chrome and Perfetto.

    table = ulpscope.export.to_arrow("run.ulps")           # pip install ulpscope[arrow]
    frame = ulpscope.export.to_pandas("run.ulps")          # pip install ulpscope[pandas]
    ulpscope.export.to_parquet("run.ulps", "run.parquet")
    ulpscope.export.to_chrome("run.ulps", "run.json")      # needs nothing; open it in ui.perfetto.dev
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from ulpscope.trace import Op, Operand, Trace

if TYPE_CHECKING:
    import pandas
    import pyarrow

__all__ = ["to_arrow", "to_chrome", "to_pandas", "to_parquet"]

STATISTICS = ("nan", "positive_infinity", "negative_infinity", "zero", "subnormal", "min", "max", "sum", "l1",
              "sum_squares")  # fmt: skip
INTEGERS = ("op", "step", "thread", "line", "arg", "item", "writer", "nan", "positive_infinity",
            "negative_infinity", "zero", "subnormal")  # fmt: skip
NUMBERS = ("min", "max", "sum", "l1", "sum_squares")
COLUMNS = ("op", "kind", "name", "step", "phase", "thread", "module", "file", "line", "role", "arg", "item",
           "dtype", "shape", "device", "writer", "closure", "skipped", "digest", *STATISTICS)  # fmt: skip


def _trace(trace: Trace | str | os.PathLike[str]) -> Trace:
    return trace if isinstance(trace, Trace) else Trace(trace)


def _row(op: Op, operand: Operand) -> dict[str, Any]:
    frame = op.stack[0] if op.stack else None
    row = {
        "op": op.id,
        "kind": op.kind,
        "name": op.qualified,
        "step": op.step,
        "phase": op.phase,
        "thread": op.thread,
        "module": op.module,
        "file": frame.file if frame else None,
        "line": frame.line if frame else None,
        "role": operand.role,
        "arg": operand.arg,
        "item": operand.item,
        "dtype": operand.dtype,
        "shape": list(operand.shape),
        "device": operand.device,
        "writer": operand.writer,
        "closure": operand.closure,
        "skipped": operand.skipped,
        "digest": operand.digest,
    }
    statistics = operand.statistics or {}
    return row | {name: statistics.get(name) for name in STATISTICS}


def to_arrow(trace: Trace | str | os.PathLike[str]) -> pyarrow.Table:
    """One row for each operand of each op, with its op's facts."""
    import pyarrow

    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for op in _trace(trace):
        for operand in op.operands:
            for name, value in _row(op, operand).items():
                columns[name].append(value)

    def kind(name: str) -> pyarrow.DataType:
        if name == "shape":
            return pyarrow.list_(pyarrow.int64())
        return pyarrow.int64() if name in INTEGERS else pyarrow.float64() if name in NUMBERS else pyarrow.string()

    return pyarrow.table({name: pyarrow.array(columns[name], kind(name)) for name in COLUMNS})


def to_pandas(trace: Trace | str | os.PathLike[str]) -> pandas.DataFrame:
    """As to_arrow, as a pandas.DataFrame."""
    import pandas

    return pandas.DataFrame(
        [_row(op, operand) for op in _trace(trace) for operand in op.operands],
        columns=list(COLUMNS),
    )


def to_parquet(trace: Trace | str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Writes the table of to_arrow as a Parquet file."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(to_arrow(trace), os.fspath(path))


def to_chrome(trace: Trace | str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Writes the ops in the trace event format, for chrome://tracing and ui.perfetto.dev.

    A trace keeps the order of ops, not times: each op is a microsecond long, at its number. Steps and
    modules enclose what ran inside them.
    """
    events: list[dict[str, Any]] = []
    open_spans: dict[int, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {}

    def enclose(thread: int, at: int, names: list[tuple[Any, ...]]) -> None:
        spans = open_spans.setdefault(thread, [])
        same = 0
        while same < min(len(spans), len(names)) and spans[same][0] == names[same]:
            same += 1
        for _, event in spans[same:]:
            event["dur"] = at - event["ts"]
        del spans[same:]
        for key in names[same:]:
            event = {"name": key[0], "cat": key[1], "ph": "X", "ts": at, "dur": 0, "pid": 1, "tid": thread}
            events.append(event)
            spans.append((key, event))

    last = 0
    for op in _trace(trace):
        last = op.id
        regions = [(region.name or region.detail or region.kind, region.kind) for region in reversed(op.regions)]
        enclose(op.thread, op.id, [(f"step {op.step}", "step", op.step), *regions])
        events.append({
            "name": op.qualified, "cat": op.phase, "ph": "X", "ts": op.id, "dur": 1, "pid": 1, "tid": op.thread,
            "args": {"id": op.id, "module": op.module, "scalars": {str(k): v for k, v in op.scalars.items()},
                     "line": str(op.stack[0]) if op.stack else "",
                     "operands": [f"{o.role} {o.dtype}{list(o.shape)} {o.digest or o.skipped}" for o in op.operands]},
        })  # fmt: skip
    for thread in list(open_spans):
        enclose(thread, last + 1, [])
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, file)
