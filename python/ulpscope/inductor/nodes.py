"""Marks the nodes of a traced graph with the op of the program that they stand for.

AOTAutograd traces the program's ops and decomposes them on the way. A node's `original_aten` tells
which op it was, but not which call of it, and not which node is the op's result. Both are known for
a moment only, while the op is traced. So the two dispatch modes of the trace are watched:
FunctionalTensorMode sees the op as the program calls it (`add_`, views), ProxyTorchDispatchMode sees
what is put in the graph and gives back the values that stand for the op's outputs.

`meta[OP]` of a node is `(id, name, overload, backward, order)`; `meta[VALUES]` is a list of
`(id, output)`: this node is the value of that output of op `id`. OP travels with the node through
later passes (it is among torch.fx's copied fields). VALUES travels only where a node takes another's
place, because a pass that copies metadata may put it on nodes that hold another value.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading

from . import graph_text

OP = "ulpscope_op"
VALUES = "ulpscope_values"

# Ids begin at random: marks come back from Inductor's cache, and must not name calls of this process.
_ids = itertools.count(int.from_bytes(os.urandom(6), "little"))
_local = threading.local()


class _Call:
    """An op that is being traced."""

    __slots__ = ("func", "args", "kwargs", "python", "op")

    def __init__(self, func, python: bool, args=(), kwargs=None):
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.python = python  # a kernel in Python, which calls other ops instead
        self.op = None  # its mark, once a node has one


def _calls() -> list[_Call]:
    calls = getattr(_local, "calls", None)
    if calls is None:
        calls = _local.calls = []
    return calls


def watch_functional(original):
    """For FunctionalTensorMode.__torch_dispatch__: remembers the op that the program calls."""

    @functools.wraps(original)
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        calls = _calls()
        calls.append(_Call(func, False))
        try:
            return original(self, func, types, args, kwargs)
        finally:
            calls.pop()

    return __torch_dispatch__


def watch_python_kernels(decompositions) -> None:
    """Some ops that are one op in eager have a kernel in Python, used while the compiler traces, that
    decomposes them before autograd (batch_norm, upsample): their nodes belong to that op all the same.
    """
    import torch

    key = torch._C.DispatchKey
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    for packet in list(vars(torch.ops.aten).values()):
        if not isinstance(packet, torch._ops.OpOverloadPacket):
            continue
        for op in list(vars(packet).values()):
            if not isinstance(op, torch._ops.OpOverload):
                continue
            for at in (key.Autograd, key.CompositeImplicitAutograd):
                kernel = op.py_kernels.get(at)
                if kernel is None or has_kernel(op.name(), "CompositeImplicitAutograd"):
                    continue
                op.py_kernels[at] = _watch_python_kernel(op, kernel)
                op._dispatch_cache.clear()


def _watch_python_kernel(op, original):
    @functools.wraps(original)
    def kernel(*args, **kwargs):
        calls = _calls()
        call = _Call(op, True, args, kwargs)
        calls.append(call)
        try:
            out = original(*args, **kwargs)
        finally:
            calls.pop()
        if call.op is not None and not any(outer.python for outer in calls):
            try:
                _mark_functional(call.op, out)
            except Exception as error:
                _report(error)
        return out

    return kernel


def _mark_functional(op, out):
    import torch
    from torch._subclasses.functional_tensor import FunctionalTensor
    from torch.fx.experimental.proxy_tensor import get_proxy_mode
    from torch.utils import _pytree as pytree

    mode = get_proxy_mode()
    if mode is None:
        return
    inner = pytree.tree_map_only(
        FunctionalTensor, lambda tensor: torch._from_functional_tensor(tensor.elem), out
    )
    _mark(mode.tracer, op, inner)


def watch_proxy(original):
    """For ProxyTorchDispatchMode.__torch_dispatch__: marks what one op puts in the graph."""

    @functools.wraps(original)
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if getattr(_local, "inside", False):  # part of a decomposition
            return original(self, func, types, args, kwargs)
        meta = op = None
        results = False
        try:
            meta, op, results = _begin(self.tracer, func, args, kwargs)
        except Exception as error:
            _report(error)
        _local.inside = True
        try:
            out = original(self, func, types, args, kwargs)
        finally:
            _local.inside = False
            if meta is not None:
                meta.pop(OP, None)
        if results:
            try:
                _mark(self.tracer, op, out)
            except Exception as error:
                _report(error)
        return out

    return __torch_dispatch__


def watch_transfer(original):
    """For the pattern matcher's _transfer_meta: the new node takes the old one's place."""

    @functools.wraps(original)
    def _transfer_meta(new_meta, old_node, *args, **kwargs):
        result = original(new_meta, old_node, *args, **kwargs)
        try:
            if VALUES in old_node.meta:
                new_meta.setdefault(VALUES, old_node.meta[VALUES])
        except Exception as error:
            _report(error)
        return result

    return _transfer_meta


def _begin(tracer, func, args, kwargs):
    """The metadata of nodes to come, the op that they belong to, are its results the op's."""
    import torch.fx.traceback as fx_traceback

    calls = _calls()
    # Without functionalization this is no trace of the program (a pattern's replacement, say).
    if not any(not call.python for call in calls) or not fx_traceback.has_preserved_node_meta():
        return None, None, False
    meta = fx_traceback.get_current_meta()
    outer = next((call for call in calls if call.python), None)
    if outer is not None:
        if outer.op is None:
            outer.op = _new_op(tracer, outer.func, meta)
            _remember(tracer, outer.op, outer.func, outer.args, outer.kwargs)
        op = outer.op
        results = stands_for(func, outer.func)
    else:
        op = _new_op(tracer, calls[-1].func if stands_for(func, calls[-1].func) else func, meta)
        _remember(tracer, op, func, args, kwargs)
        results = True
    meta[OP] = op
    return meta, op, results


def _new_op(tracer, func, meta):
    order = getattr(tracer, "_ulpscope_order", 0)
    tracer._ulpscope_order = order + 1
    return (next(_ids), *op_name(func), bool(meta.get("autograd_backward")), order)


def _remember(tracer, op, func, args, kwargs):
    """Keeps the call's arguments: which values of the graph it reads."""
    import torch
    from torch._subclasses.functional_tensor import FunctionalTensor
    from torch.fx.experimental.proxy_tensor import get_proxy_slot

    def reference(value):
        if isinstance(value, FunctionalTensor):
            value = torch._from_functional_tensor(value.elem)
        if not isinstance(value, torch.Tensor):
            return None
        slot = get_proxy_slot(value, tracer, None)
        if slot is None:
            return None
        node = getattr(slot, "proxy", slot).node
        values = node.meta.get(VALUES)
        if values:
            return {"value": list(values[-1]), "node": node.name}
        return {"node": node.name}

    try:
        graph_text.remember(op, func, args, kwargs, reference)
    except Exception as error:
        _report(error)


def _mark(tracer, op, out):
    import torch
    from torch.fx.experimental.proxy_tensor import get_proxy_slot
    from torch.utils import _pytree as pytree

    for index, value in enumerate(pytree.tree_leaves(out)):
        if not isinstance(value, torch.Tensor):
            continue
        slot = get_proxy_slot(value, tracer, None)
        if slot is None:
            continue
        node = getattr(slot, "proxy", slot).node
        values = node.meta.setdefault(VALUES, [])
        if (op[0], index) not in values:
            # A new list: a shallow copy of the metadata may share the old one.
            node.meta[VALUES] = [*values, (op[0], index)]
        node.meta.setdefault(OP, op)


def op_name(func) -> tuple[str, str]:
    """("aten::add", "Tensor") of an OpOverload, or the name of a higher-order op."""
    schema = getattr(func, "_schema", None)
    if schema is not None:
        return schema.name, schema.overload_name or "default"
    name = func.name() if callable(getattr(func, "name", None)) else str(func)
    return f"higher_order::{name}", ""


def stands_for(traced, called) -> bool:
    """Is `traced` the functional form of `called`?

    While an op is traced, functionalization may first bring its arguments up to date (a scatter
    into the base of a view that was written); those ops are none of the program's.
    """
    traced_name, called_name = op_name(traced)[0], op_name(called)[0]
    return _plain(traced_name) == _plain(called_name)


def _plain(name: str) -> str:
    for suffix in ("_copy", "_functional"):
        name = name.removesuffix(suffix)
    return name.rstrip("_").replace("::_native_batch_norm_legit", "::native_batch_norm")


def _report(error):
    from ulpscope.inductor import report

    report("cannot mark the nodes of a traced graph", error)
