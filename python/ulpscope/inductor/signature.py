"""Roles of a kernel's parameters, from the C++ signature that Inductor generates.

`const T*` is read, `T*` is written, a name that starts with `in_out_ptr` is both, and no `*` is a
scalar. Template kernels (GEMM) name their parameters differently and keep the same const rule.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

READ, WRITE, READ_WRITE, SCALAR = 0, 1, 2, 3

_KERNEL = re.compile(r"\bkernel\s*\(([^)]*)\)")


@dataclass(frozen=True)
class Parameter:
    name: str
    ctype: str
    access: int


def parse(source: str, argtypes: list[str] | None = None) -> list[Parameter]:
    """Parameters of the last function `kernel` that the source declares: the `extern "C"` one.

    Without a signature in the source, `argtypes` (as given to cpp_pybinding) gives types and the
    names are made up; then `T*` counts as read and written, for nothing says otherwise.
    """
    start = source.rfind('extern "C"')
    match = _KERNEL.search(source, start) if start >= 0 else None
    parameters = _split(match.group(1)) if match else []
    if argtypes is not None and len(parameters) != len(argtypes):
        return [_parameter(t, f"arg{i}", sure=False) for i, t in enumerate(argtypes)]
    return [_parameter(ctype, name, sure=True) for ctype, name in parameters]


def _split(text: str) -> list[tuple[str, str]]:
    parameters = []
    for part in text.split(","):
        words = part.replace("*", " * ").replace("&", " & ").split()
        words = [w for w in words if not w.startswith("__restrict")]
        if len(words) >= 2:
            parameters.append((" ".join(words[:-1]).replace(" *", "*"), words[-1]))
    return parameters


def _parameter(ctype: str, name: str, sure: bool) -> Parameter:
    if "*" not in ctype:
        access = SCALAR
    elif ctype.startswith("const "):
        access = READ
    elif name.startswith("in_out_ptr") or not sure:
        access = READ_WRITE
    else:
        access = WRITE
    return Parameter(name, ctype, access)
