"""Runs what a kernel computes op by op: as the program's own ops in eager, and in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import decode
from .decode import Unknown
from .kernel_graph import Kernel

if TYPE_CHECKING:
    import torch

_RANDOM = ("prims.inductor_random", "prims.inductor_randint", "prims.inductor_seed",
           "prims.inductor_lookup_seed", "prims.inductor_force_stride_order_random")  # fmt: skip


class Random(Exception):
    """An op that draws random numbers: its value can't be computed again."""


def is_random(op: Any) -> bool:
    import torch

    return torch.Tag.nondeterministic_seeded in getattr(op, "tags", ())


class Evaluator:
    """Values of one kernel's calls and nodes, computed as they are asked for, each once.

    In float64 where `double`: every floating tensor is widened at the start and stays wide, casts
    to narrower types included. `forced`: outputs of calls that are given instead of computed.
    """

    def __init__(self, kernel: Kernel, double: bool = False, forced: dict | None = None):
        self.kernel = kernel
        self.double = double
        self.calls: dict[int, list[Any]] = dict(forced or {})
        self.nodes: dict[str, Any] = {}
        self.by_nodes: set[int] = set()  # calls of which only the decomposition could be run
        self._exits = kernel.exits()
        self._holders = {}  # (call, output) -> known node
        for name in kernel.known:
            for value in kernel.graph.nodes[name].values:
                self._holders[value] = name

    # --- calls of the program ---------------------------------------------------------------

    def call(self, number: int) -> list[Any]:
        """The outputs of a call, lists flattened. Unknown or Random where it can't be run."""
        if number not in self.calls:
            try:
                self.calls[number] = self._run_call(number)
            except Random:
                raise
            except Exception as error:
                self.calls[number] = self._from_nodes(number, error)
                self.by_nodes.add(number)
        return self.calls[number]

    def _run_call(self, number: int) -> list[Any]:
        call = self.kernel.graph.calls[number]
        op = decode.target(call.target)
        if is_random(op):
            raise Random(call.op)
        args, kwargs = self._arguments(call.args, call.kwargs, self.reference)
        return _flat(self._run(op, args, kwargs))

    def _from_nodes(self, number: int, error: Exception) -> list[Any]:
        exits = self._exits.get(number)
        if exits is None:
            raise Unknown(str(error))
        outputs: list[Any] = [None] * (max(exits) + 1)
        for output, name in exits.items():
            outputs[output] = self.node(name)
        return outputs

    def reference(self, reference: dict) -> Any:
        """The value of an argument of a call, as eager has it."""
        graph = self.kernel.graph
        value = tuple(reference["value"]) if "value" in reference else None
        name = reference.get("node")
        if value is not None and (value[0] in self._exits or value[0] in self.calls):
            return self._output(*value)
        if value is not None and value in self._holders:
            return self._known(self._holders[value])
        if name in self.kernel.known:
            return self._known(name)
        if value is not None and value[0] in graph.calls:
            return self._output(*value)
        if name is not None and name in graph.nodes:
            return self.node(name)
        raise Unknown(f"the value of {name or value} was not captured")

    def _output(self, number: int, output: int) -> Any:
        outputs = self.call(number)
        if output >= len(outputs) or outputs[output] is None:
            raise Unknown(f"{self.kernel.graph.calls[number].op} has no output {output} here")
        return outputs[output]

    # --- nodes of the post-grad graph ---------------------------------------------------------

    def node(self, name: str) -> Any:
        if name in self.kernel.known:
            return self._known(name)
        if name in self.nodes:
            return self.nodes[name]
        node = self.kernel.graph.nodes.get(name)
        if node is None:
            raise Unknown(f"the graph has no node {name}")
        if node.constant is not None:
            value = self._wide(decode.decode(node.constant, None, self.kernel.symbols))
        elif node.kind != "call_function":
            raise Unknown(f"the value of {name} was not captured")
        elif node.target.startswith(_RANDOM):
            raise Random(name)
        else:
            lookup = lambda reference: self.node(reference["node"])  # noqa: E731
            if node.target == "aten.copy_.default":
                args, kwargs = self._arguments(node.args[1:], {}, lookup)
                value = args[0]
            else:
                args, kwargs = self._arguments(node.args, node.kwargs, lookup)
                value = self._run(decode.target(node.target), args, kwargs)
        self.nodes[name] = value
        return value

    # --- both -----------------------------------------------------------------------------------

    def _arguments(self, args: list, kwargs: dict, lookup) -> tuple[list, dict]:
        symbols = self.kernel.symbols
        made = [self._wide(decode.decode(arg, lookup, symbols)) for arg in args]
        named = {k: self._wide(decode.decode(v, lookup, symbols)) for k, v in kwargs.items()}
        return made, named

    def _run(self, op: Any, args: list, kwargs: dict) -> Any:
        import torch

        if self.double and str(op).startswith("prims.") and "convert_element_type" in str(op):
            return args[0].to(args[1])
        schema = getattr(op, "_schema", None)
        if schema is not None and schema.is_mutable:  # keep what others read
            args, kwargs = list(args), dict(kwargs)
            for i, argument in enumerate(schema.arguments):
                if argument.alias_info is None or not argument.alias_info.is_write:
                    continue
                if i < len(args) and isinstance(args[i], torch.Tensor):
                    args[i] = args[i].clone()
                elif isinstance(kwargs.get(argument.name), torch.Tensor):
                    kwargs[argument.name] = kwargs[argument.name].clone()
        with torch.no_grad():
            return op(*args, **kwargs)

    def _known(self, name: str) -> Any:
        return self._wide(self.kernel.known[name])

    def _wide(self, value: Any) -> Any:
        import torch

        if not self.double:
            return value
        if isinstance(value, torch.Tensor):
            return value.to(_WIDER.get(value.dtype, value.dtype))
        if isinstance(value, torch.dtype):
            return _WIDER.get(value, value)
        if isinstance(value, list):
            return [self._wide(item) for item in value]
        return value


class _Wider:
    """float32 and narrower -> float64, complex64 -> complex128."""

    @staticmethod
    def get(dtype: torch.dtype, default: torch.dtype) -> torch.dtype:
        import torch

        if dtype.is_complex:
            return torch.complex128
        return torch.float64 if dtype.is_floating_point else default


_WIDER = _Wider()


def _flat(value: Any) -> list[Any]:
    from torch.utils import _pytree as pytree

    return pytree.tree_leaves(value)
