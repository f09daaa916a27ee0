"""Bodies of higher-order ops as regions: one for each call of a branch or of a loop's body.

In eager the op's dense implementation calls the bodies; in Inductor's code each is a function of the
generated module. Inductor makes a while_loop of scan and map, so their bodies are named that way in
eager too: iterations then align one by one.
"""

from __future__ import annotations

import functools
import re
from types import FunctionType, ModuleType

from . import report

# module of torch._higher_order_ops -> [(op, region, {position of a callable argument: its part})]
_LOOP = "while_loop"
OPS = {
    "cond": [("cond_op", "cond", {1: "true", 2: "false"})],
    "while_loop": [
        ("while_loop_op", _LOOP, {0: "cond", 1: "body"}),
        ("while_loop_stack_output_op", _LOOP, {0: "cond", 1: "body"}),
    ],
    "scan": [("scan_op", _LOOP, {0: "body"})],
    "map": [("map_impl", _LOOP, {0: "body"})],
    "associative_scan": [("associative_scan_op", "associative_scan", {0: "body"})],
    "invoke_subgraph": [("invoke_subgraph", "invoke_subgraph", {0: "body"})],
}

_GENERATED = [
    (re.compile(r"while_loop_(cond|body)_graph"), _LOOP),
    (re.compile(r"(true|false)_graph"), "cond"),
]
_SUBGRAPH = re.compile(r"#\s*subgraph: (\w+)")


class Body:
    """A callable that is a region while it runs; in everything else the callable itself."""

    def __init__(self, c: ModuleType, function, name: str, detail: str):
        self._ulpscope = (c, function, name, detail)

    def __call__(self, *args, **kwargs):
        c, function, name, detail = self._ulpscope
        if not c.recording():
            return function(*args, **kwargs)
        c.push_region("higher_order", name, detail)
        try:
            return function(*args, **kwargs)
        finally:
            c.pop_region()

    def __getattr__(self, name):
        return getattr(self._ulpscope[1], name)


def install(c: ModuleType) -> None:
    from ulpscope._imports import when_imported

    for module in OPS:
        when_imported(f"torch._higher_order_ops.{module}", functools.partial(_patch, c))


def _patch(c: ModuleType, module: ModuleType) -> None:
    import torch

    dense = torch._C.DispatchKey.CompositeExplicitAutograd
    for attribute, name, parts in OPS[module.__name__.rsplit(".", 1)[1]]:
        op = getattr(module, attribute, None)
        original = getattr(op, "py_kernels", {}).get(dense)
        if original is None:
            report(f"no regions for {name}", f"{module.__name__}.{attribute} has no dense kernel")
            continue
        op.py_kernels[dense] = _around(c, original, name, parts)
        op._dispatch_cache.clear()


def _around(c: ModuleType, original, name: str, parts: dict[int, str]):
    @functools.wraps(original)
    def kernel(*args, **kwargs):
        if c.recording():
            args = tuple(
                Body(c, arg, name, parts[i]) if i in parts and callable(arg) else arg
                for i, arg in enumerate(args)
            )
        return original(*args, **kwargs)

    return kernel


def tap_subgraphs(c: ModuleType, source: str, scope: dict) -> None:
    """Makes regions of the subgraphs of a generated module."""
    for subgraph in set(_SUBGRAPH.findall(source)):
        function = scope.get(subgraph)
        if not isinstance(function, FunctionType):
            continue
        name, detail = "invoke_subgraph", "body"
        for pattern, known in _GENERATED:
            match = pattern.search(subgraph)
            if match:
                name, detail = known, match.group(1)
        scope[subgraph] = Body(c, function, name, detail)
