"""Runs a function of ours right after a module of the program was imported. Imports nothing itself.

A finder in front of sys.meta_path lets the other finders find the module and shadows `exec_module`
on the loader that they return, for the one call; module, spec and loader stay the program's own.
"""

from __future__ import annotations

import importlib.machinery
import sys
import threading
from collections.abc import Callable
from types import ModuleType

_waiting: dict[str, list[Callable[[ModuleType], None]]] = {}
_lock = threading.RLock()


def when_imported(name: str, function: Callable[[ModuleType], None]) -> None:
    """Calls function(module) once module `name` is imported: now, if it is.

    The call comes in the importing thread, before its import statement returns. What the function
    raises is told on stderr and goes no further.
    """
    with _lock:
        module = sys.modules.get(name)
        spec = getattr(module, "__spec__", None)
        # A module that is being imported has no finder to wait for: its import began without us.
        if module is None or getattr(spec, "_initializing", False):
            _waiting.setdefault(name, []).append(function)
            if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
                sys.meta_path.insert(0, _Finder())
            return
    _call(function, module)


def _call(function: Callable[[ModuleType], None], module: ModuleType) -> None:
    try:
        function(module)
    except Exception as error:
        print(f"ulpscope: after import of {module.__name__}: {error!r}", file=sys.stderr)


def _imported(name: str) -> None:
    with _lock:
        functions = _waiting.pop(name, [])
    module = sys.modules.get(name)
    if module is not None:
        for function in functions:
            _call(function, module)


class _Finder:
    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _waiting:
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                _watch(spec)
                return spec
        return None

    def invalidate_caches(self) -> None:
        pass


def _watch(spec: importlib.machinery.ModuleSpec) -> None:
    """Makes spec.loader tell when it has executed the module."""
    loader = spec.loader
    original = getattr(loader, "exec_module", None)
    if original is None:
        return

    def exec_module(module: ModuleType) -> None:
        try:
            del loader.exec_module  # type: ignore[union-attr]
        except AttributeError:
            pass
        original(module)
        _imported(spec.name)

    try:
        loader.exec_module = exec_module  # type: ignore[union-attr, method-assign]
    except AttributeError:  # a loader with slots: its module is not noticed
        pass
