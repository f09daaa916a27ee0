"""Writes the op that departs with its operands and a script that shows it alone."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping

from . import code, operands, report, settings
from .compiled import Piece
from .decode import Unknown
from .in_trace import Recorded
from .open_kernel import Opened, OpResult

_TEMPLATE = pathlib.Path(__file__).with_name("repro_template.py.txt")

_THE_OPS = """    torch._dynamo.reset()
    return torch.compile(eager, dynamic=False)(*call(eager, tensors))
"""
_THE_NODES = """    from torch._inductor.compile_fx import compile_fx_inner

    module = torch.fx.symbolic_trace(nodes)
    return compile_fx_inner(module, call(nodes, tensors), is_inference=True)(call(nodes, tensors))
"""


def extract(recorded: Recorded, opened: Opened, folder: str, environment: Mapping[str, str]) -> str:
    """Writes operands.safetensors and repro.py into a folder; the last line that the repro printed.

    Unknown where no op departs, or where none of the scripts shows it.
    """
    if opened.first is None:
        raise Unknown(f"no op of {recorded.name} departs from eager on its recorded inputs")
    os.makedirs(folder, exist_ok=True)
    op = opened.first
    said = ""
    for program, inputs, how in _candidates(recorded, opened, op):
        operands.save(os.path.join(folder, "operands.safetensors"), inputs)
        text = _script(recorded, opened, op, program, how, environment)
        path = os.path.join(folder, "repro.py")
        pathlib.Path(path).write_text(text)
        done = run(path)
        if done.returncode == 1 and "the divergence is there" in done.stdout:
            return done.stdout.strip()
        said = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["it said nothing"]
        said = said[0]
    raise Unknown(f"the op alone does not show it (the last script said: {said}); it is left in {folder}")


def run(path: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHONPATH")}
    return subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=environment, timeout=600
    )


def _candidates(recorded: Recorded, opened: Opened, op: OpResult):
    """Programs to try: the op (and what it is fused with) as the program calls it, the same as
    Inductor's nodes, and the whole kernel up to that op."""
    work = opened.opening
    kernel = recorded.kernel
    together = set() if op.fused_with is None else work.range(op.fused_with, op.call)
    everything = set(work.exits) - {op.call}
    for calls in (together, everything):
        try:
            eager = code.of_calls(kernel, work.eager, op.call, {op.call} | calls)
        except Exception:
            eager = None
        piece = work.piece(op.call, calls)
        if piece is None:
            continue
        wanted = piece_outputs(recorded, op, piece)
        if eager is not None and op.call not in work.eager.by_nodes:
            eager.returns = [eager.returns[list(work.exits[op.call]).index(o)] for o in wanted]
            yield eager.source("eager"), eager.inputs, _THE_OPS
        nodes = code.of_nodes(kernel, piece)
        if eager is not None and op.call not in work.eager.by_nodes:
            both = eager.source("eager") + "\n\n" + nodes.source("nodes")
            yield both, {**eager.inputs, **nodes.inputs}, _THE_NODES
        both = nodes.source("eager") + "\n\n" + nodes.source("nodes")
        yield both, nodes.inputs, _THE_NODES


def piece_outputs(recorded: Recorded, op: OpResult, piece: Piece) -> list[int]:
    """Which outputs of the call the piece computes."""
    exits = recorded.kernel.exits()[op.call]
    return [output for output, name in exits.items() if name in piece.outputs]


def _script(recorded, opened, op, program: str, how: str, environment: Mapping[str, str]) -> str:
    call = recorded.kernel.graph.calls[report.named_call(recorded, op)]
    variables = {
        name: environment[f"env.{name}"]
        for name in settings.VARIABLES
        if f"env.{name}" in environment and "THREADS" not in name
    }
    threads = environment.get("threads.intra_op", "1")
    parts = {
        "title": f"{call.op}: eager and compiled code differ.",
        "story": report.explanation(recorded, opened, op),
        "origin": f"#{recorded.op.id} {recorded.name} of {os.path.basename(recorded.trace)}",
        "variables": repr(variables),
        "threads": threads if threads.isdigit() else "1",
        "inductor": repr(settings.changed(environment)),
        "programs": program,
        "dtypes": repr({kind: name for name, kind in operands.DTYPES.items()}),
        "compile": how,
    }
    text = _TEMPLATE.read_text()
    for name, value in parts.items():
        text = text.replace(f"@{name}@", value)
    return text
