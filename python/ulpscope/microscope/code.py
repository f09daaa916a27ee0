"""Python source that runs a kernel's ops on its own: with torch and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import decode
from .compiled import Piece
from .evaluate import Evaluator
from .kernel_graph import Kernel

if TYPE_CHECKING:
    import torch


class Program:
    """The body of a function, and the tensors that it is called with."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.inputs: dict[str, torch.Tensor] = {}
        self.returns: list[str] = []
        self._names: dict[Any, str] = {}

    def input(self, key: Any, hint: str, value: torch.Tensor) -> str:
        if key not in self._names:
            name = self._names[key] = f"in{len(self.inputs)}_{_word(hint)}"
            self.inputs[name] = value
        return self._names[key]

    def source(self, name: str) -> str:
        body = "\n".join(f"    {line}" for line in self.lines)
        returned = ", ".join(self.returns)
        return f"def {name}({', '.join(self.inputs)}):\n{body}\n    return ({returned},)\n"


def _word(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text)


def of_calls(kernel: Kernel, eager: Evaluator, number: int, together: set[int]) -> Program:
    """The program's own ops: one call, and those it is fused with, on eager's values of all others."""
    program = Program()
    exits = kernel.exits()
    done: dict[int, str] = {}

    def reference(found: dict) -> str:
        value = tuple(found["value"]) if "value" in found else None
        name = found.get("node")
        call = value[0] if value is not None else None
        if call is not None and call in together:
            return f"{emit(call)}[{value[1]}]"
        if call is not None and call not in exits and name not in kernel.known:
            if call in kernel.graph.calls:
                return f"{emit(call)}[{value[1]}]"
        return program.input(value or name, name or "value", eager.reference(found))

    def emit(call: int) -> str:
        if call not in done:
            made = kernel.graph.calls[call]
            args = [literal(a, reference, kernel.symbols) for a in made.args]
            args += [f"{k}={literal(v, reference, kernel.symbols)}" for k, v in made.kwargs.items()]
            done[call] = f"v{len(done)}"
            target = decode.target(made.target)
            program.lines.append(f"{done[call]} = flat({_path(target)}({', '.join(args)}))")
        return done[call]

    variable = emit(number)
    program.returns = [f"{variable}[{output}]" for output in exits[number]]
    return program


def of_nodes(kernel: Kernel, piece: Piece) -> Program:
    """What Inductor compiles: the post-grad nodes of a piece."""
    program = Program()
    names: dict[str, str] = {}
    for name, value in piece.inputs.items():
        names[name] = program.input(name, name, value)

    def reference(found: dict) -> str:
        return names[found["node"]]

    for name in piece.nodes:
        node = kernel.graph.nodes[name]
        if node.constant is not None:
            text = literal(node.constant, reference, kernel.symbols)
        elif node.target == "aten.copy_.default":
            text = literal(node.args[1], reference, kernel.symbols)
        else:
            args = [literal(a, reference, kernel.symbols) for a in node.args]
            args += [f"{k}={literal(v, reference, kernel.symbols)}" for k, v in node.kwargs.items()]
            if node.target == "_operator:getitem":
                text = f"{args[0]}[{args[1]}]"
            else:
                text = f"{_path(decode.target(node.target))}({', '.join(args)})"
        names[name] = _word(name)
        program.lines.append(f"{names[name]} = {text}")
    program.returns = [names[name] for name in piece.outputs]
    return program


def _path(target: Any) -> str:
    if hasattr(target, "_schema"):
        return f"torch.ops.{target}"
    return f"{target.__module__}.{target.__name__}".replace("_operator.", "operator.")


def literal(value: Any, reference, symbols: decode.Symbols) -> str:
    """An encoded argument as Python source."""
    if isinstance(value, list):
        return "[" + ", ".join(literal(item, reference, symbols) for item in value) + "]"
    if not isinstance(value, dict):
        text = repr(value)
        return f"float('{text}')" if text in ("inf", "-inf", "nan") else text
    if "node" in value or "value" in value:
        return reference(value)
    if "tensor" in value:
        return f"torch.tensor({value['tensor']!r}, dtype=torch.{value['dtype']})"
    if "sym" in value:
        return repr(symbols.value(value["sym"]))
    if "complex" in value:
        return repr(complex(*value["complex"]))
    if "slice" in value:
        return f"slice({', '.join(literal(v, reference, symbols) for v in value['slice'])})"
    if "dtype" in value:
        return f"dtype(torch.{value['dtype']})"
    for kind in ("layout", "memory_format"):
        if kind in value:
            return f"torch.{value[kind]}"
    if "device" in value:
        return f"torch.device({value['device']!r})"
    raise decode.Unknown(f"an argument of type {value.get('opaque', '?')} was not written down")
