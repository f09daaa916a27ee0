"""The ops that the recorder and DebugMode see in the same samples of torch's op_db.

Run as a program: prints a JSON object, sample name -> [ops recorded, ops recorded while DebugMode is
on, ops of DebugMode].
`python op_db_lists.py [forward|backward]`
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._debug_mode import DebugMode

import ulpscope


def tensors(value):
    """The tensors in a result, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def call(op, sample, backward):
    result = op(sample.input, *sample.args, **sample.kwargs)
    if backward:
        outputs = [t for t in tensors(result) if t.requires_grad and t.is_floating_point()]
        if outputs:
            torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


def name(operator):
    return f"{operator.namespace}::{operator._opname}" + (
        "" if operator._overloadname == "default" else f".{operator._overloadname}"
    )


def debug_mode(op, sample, backward):
    with DebugMode(record_output=False) as mode:
        call(op, sample, backward)
    return [name(c.op) for c in mode.operators if isinstance(getattr(c, "op", None), torch._ops.OpOverload)]


def samples(backward):
    """(name, op, sample maker): the first sample of each entry that supports float32."""
    for op in op_db:
        if torch.float32 not in op.supported_dtypes("cpu"):
            continue
        label = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        grad = backward and op.supports_autograd and torch.float32 in op.supported_backward_dtypes("cpu")

        def make(op=op, grad=grad):
            torch.manual_seed(0)
            return next(iter(op.sample_inputs("cpu", torch.float32, requires_grad=grad)))

        yield label, op, make


def record(backward, labels, call):
    """label -> ops recorded in call(op, sample, label), for these labels, in one trace."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.ulps")
        with ulpscope.record(path, level="digest"):
            for label, op, make in samples(backward):
                if label not in labels:
                    continue
                sample = make()
                torch.manual_seed(1)
                with ulpscope.region(label):
                    call(op, sample, label)
        ops = {label: [] for label in labels}
        wrappers = set()
        for op in ulpscope.open(path):
            if op.kind == "wrapper":
                wrappers.add(op.id)
            if op.parent is None or op.parent in wrappers:
                for region in op.regions:
                    if region.kind == "scope" and region.name in ops:
                        ops[region.name].append(op.qualified)
                        break
    return ops


def main(backward):
    warnings.simplefilter("ignore")
    labels = []
    for label, op, make in samples(backward):
        try:
            call(op, make(), backward)  # what is done once (lazy initialisation) is done
            debug_mode(op, make(), backward)
            labels.append(label)
        except Exception as error:
            print(f"{label}: {type(error).__name__}", file=sys.stderr)
    logged = {}

    def under_debug_mode(op, sample, label):
        logged[label] = debug_mode(op, sample, backward)

    alone = record(backward, labels, lambda op, sample, label: call(op, sample, backward))
    together = record(backward, labels, under_debug_mode)
    lists = {label: [alone[label], together[label], logged[label]] for label in labels}
    json.dump(lists, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1] == "backward")
