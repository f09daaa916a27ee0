"""From the JSON values of ulpscope.inductor.graph_text back to arguments of ops."""

from __future__ import annotations

import importlib
from typing import Any


class Unknown(Exception):
    """Something that a call needs is not known; the text says what."""


def target(text: str) -> Any:
    """The callable of a node: "aten.elu.default", "_operator:getitem"."""
    if ":" in text:
        module, name = text.split(":", 1)
        if module.split(".")[0] not in ("_operator", "operator", "math", "torch"):
            raise Unknown(f"{text} is not an op of torch")
        return getattr(importlib.import_module(module), name)
    import torch
    import torch._inductor.inductor_prims  # noqa: F401 - defines prims.inductor_*

    value = torch.ops
    for part in text.split("."):
        value = getattr(value, part)
    return functional(value)


def functional(op: Any) -> Any:
    """The form of an op that writes no argument (index_put for index_put_), or the op itself."""
    import torch

    schema = getattr(op, "_schema", None)
    if schema is None or not schema.is_mutable or not schema.name.endswith("_"):
        return op
    namespace, name = schema.name.split("::")
    packet = getattr(getattr(torch.ops, namespace), name.rstrip("_"), None)
    return getattr(packet, schema.overload_name or "default", op)


class Symbols:
    """Sizes that were symbols when the graph was compiled, found from real tensors."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def learn(self, shape: list, size: tuple[int, ...]) -> None:
        for symbol, value in zip(shape, size):
            if isinstance(symbol, str) and symbol.isidentifier():
                self.known.setdefault(symbol, value)

    def value(self, expression: Any) -> Any:
        if not isinstance(expression, str):
            return expression
        from torch.utils._sympy import functions

        try:
            names = {**vars(functions), **self.known}
            return int(eval(expression, {"__builtins__": {}}, names))  # noqa: S307
        except Exception:
            raise Unknown(f"the size {expression} is not known") from None


def decode(value: Any, reference, symbols: Symbols) -> Any:
    """One argument; `reference({"node"|"value": ...})` gives what stands for a tensor."""
    import torch

    if isinstance(value, list):
        return [decode(item, reference, symbols) for item in value]
    if not isinstance(value, dict):
        return value
    if "node" in value or "value" in value:
        return reference(value)
    if "tensor" in value:
        return torch.tensor(value["tensor"], dtype=getattr(torch, value["dtype"]))
    if "sym" in value:
        return symbols.value(value["sym"])
    if "complex" in value:
        return complex(*value["complex"])
    if "slice" in value:
        return slice(*(decode(item, reference, symbols) for item in value["slice"]))
    for kind in ("dtype", "layout", "memory_format"):
        if kind in value:
            return getattr(torch, value[kind])
    if "device" in value:
        return torch.device(value["device"])
    raise Unknown(f"an argument of type {value.get('opaque', '?')} was not written down")


def references(value: Any) -> list[dict]:
    """All references to tensors inside an encoded value, in order."""
    if isinstance(value, list):
        return [found for item in value for found in references(item)]
    if isinstance(value, dict):
        if "node" in value or "value" in value:
            return [value]
        return [found for item in value.values() for found in references(item)]
    return []
