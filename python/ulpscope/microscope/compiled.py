"""Compiles pieces of a post-grad graph by Inductor, as the program's compilation did."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from . import decode
from .decode import Unknown
from .kernel_graph import Kernel

if TYPE_CHECKING:
    import torch


@dataclasses.dataclass
class Piece:
    """Nodes of a kernel's graph between given values and wanted outputs.

    Several pieces compiled together do not read each other's values.
    """

    nodes: list[str]
    inputs: dict[str, torch.Tensor]  #: node -> value
    outputs: list[str]


def run(kernel: Kernel, pieces: list[Piece], kind: str = "inference", **config: Any) -> list[dict]:
    """The outputs of each piece, by node, computed by one compiled graph.

    `kind`: "forward", "backward" or "inference", as the kernel's own graph was compiled. `config`:
    settings of torch._inductor.config, "__" for ".".
    """
    import torch
    from torch._inductor import config as settings
    from torch._inductor.compile_fx import compile_fx_inner

    module, inputs = build(kernel, pieces)
    changes = {name.replace("__", "."): value for name, value in config.items()}
    with settings.patch(changes), torch.no_grad():
        compiled = compile_fx_inner(
            module,
            inputs,
            is_inference=kind == "inference",
            is_backward=kind == "backward",
        )
        values = compiled(list(inputs))
    results, position = [], 0
    for piece in pieces:
        results.append({name: values[position + i] for i, name in enumerate(piece.outputs)})
        position += len(piece.outputs)
    return results


def build(kernel: Kernel, pieces: list[Piece]) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """One graph of all pieces, with the inputs that it is to be called with."""
    import torch

    graph = torch.fx.Graph()
    root = torch.nn.Module()
    inputs = []
    bodies = []
    for i, piece in enumerate(pieces):
        made = {}
        for name, value in piece.inputs.items():
            made[name] = graph.placeholder(f"piece{i}_{name}" if len(pieces) > 1 else name)
            inputs.append(value)
        bodies.append(made)
    returned = []
    for piece, made in zip(pieces, bodies):
        for name in piece.nodes:
            made[name] = _add(graph, root, kernel, name, made)
        returned += [made[name] for name in piece.outputs]
    graph.output(tuple(returned))
    module = torch.fx.GraphModule(root, graph)
    return module, inputs


def _add(graph, root, kernel: Kernel, name: str, made: dict) -> Any:
    node = kernel.graph.nodes[name]
    if node.constant is not None:
        attribute = f"constant_{len(list(root.buffers()))}"
        root.register_buffer(attribute, decode.decode(node.constant, None, kernel.symbols))
        return graph.get_attr(attribute)

    def lookup(reference: dict) -> Any:
        source = made.get(reference["node"])
        if source is None:
            raise Unknown(f"the value of {reference['node']} was not captured")
        return source

    if node.target == "aten.copy_.default":
        return decode.decode(node.args[1], lookup, kernel.symbols)
    args = tuple(decode.decode(arg, lookup, kernel.symbols) for arg in node.args)
    kwargs = {k: decode.decode(v, lookup, kernel.symbols) for k, v in node.kwargs.items()}
    return graph.call_function(decode.target(node.target), args, kwargs)


def as_node(kernel: Kernel, name: str, value: torch.Tensor) -> torch.Tensor | None:
    """A value in the memory layout of a node, None where its shape or dtype is another."""
    import torch

    val = kernel.graph.nodes[name].val
    if not isinstance(val, dict):
        return None
    shape = [kernel.symbols.value(size) for size in val["shape"]]
    if list(value.shape) != shape or str(value.dtype) != f"torch.{val['dtype']}":
        return None
    if val["stride"] is None:
        return value
    stride = [kernel.symbols.value(size) for size in val["stride"]]
    if list(value.stride()) == stride:
        return value
    return torch.empty_strided(shape, stride, dtype=value.dtype).copy_(value)
