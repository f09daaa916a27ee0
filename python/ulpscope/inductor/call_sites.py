"""Finds the call sites of generated code: which instruction is the call under which handle."""

from __future__ import annotations

import dis
import re
from types import CodeType

_HANDLE = re.compile(r"\[Provenance debug handles\] (\S+):(\d+)\s*$")


def handles(source: str) -> dict[int, str]:
    """Line number of each call statement -> "kernel:handle", from the comments before them."""
    found: dict[int, str] = {}
    pending = None
    for number, line in enumerate(source.splitlines(), 1):
        match = _HANDLE.search(line)
        if match:
            pending = f"{match.group(1)}:{match.group(2)}"
        elif pending is not None and line.strip() and not line.lstrip().startswith("#"):
            found[number] = pending
            pending = None
    return found


def offsets(code: CodeType, lines: dict[int, str]) -> dict[CodeType, dict[str, list[int]]]:
    """For `code` and all code inside it: "kernel:handle" -> byte offsets of its instructions.

    All instructions of the statement are named, as f_lasti of the frame while the call runs is the
    offset of one of them in every Python version.
    """
    found: dict[CodeType, dict[str, list[int]]] = {}
    here: dict[str, list[int]] = {}
    line = None
    for instruction in dis.get_instructions(code, show_caches=True):
        if instruction.positions is not None:
            line = instruction.positions.lineno or line
        elif instruction.starts_line is not None:
            line = instruction.starts_line
        if line in lines:
            here.setdefault(lines[line], []).append(instruction.offset)
    if here:
        found[code] = here
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.update(offsets(constant, lines))
    return found


def code_objects(scope: dict) -> list[CodeType]:
    """The code of all functions and methods that a generated module defines."""
    codes = []
    name = scope.get("__name__")
    for value in list(scope.values()):
        members = list(vars(value).values()) if isinstance(value, type) else [value]
        for member in members:
            code = getattr(member, "__code__", None)
            if isinstance(code, CodeType) and code.co_filename == scope.get("__file__", code.co_filename):
                if getattr(member, "__module__", name) == name:
                    codes.append(code)
    return codes
