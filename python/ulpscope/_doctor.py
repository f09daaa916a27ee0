"""What works with this interpreter, for `ulpscope doctor`: run as a file, by the program's Python.

Prints a JSON object a line: {"what", "ok", "detail", "todo"}. Never fails where it can tell a problem.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys


def say(what: str, ok: bool, detail: str, todo: str = "") -> None:
    print(json.dumps({"what": what, "ok": ok, "detail": detail, "todo": todo}), flush=True)


def package():
    """This package by its path: the interpreter may belong to another environment."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        "ulpscope", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["ulpscope"] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    # Python put this file's folder first; the program will not have it.
    sys.path.pop(0)
    say("python", True, f"{sys.version.split()[0]}, {sys.executable}")
    package()
    from ulpscope import _build, _session

    reason = _session.why_not()
    if reason is None:
        import torch

        say("torch", True, f"{torch.__version__}, {os.path.dirname(torch.__file__)}")
    else:
        say("torch", False, reason, f"pip install torch=={_build.TORCH}, or build ulpscope with that interpreter")
        return
    try:
        _session.extension()
        say("recorder", True, f"loads into this torch (built for {_build.TORCH})")
    except RuntimeError as error:
        say("recorder", False, str(error), "run scripts/setup again")
        return
    try:
        from ulpscope import inductor

        for gives, ok, why in inductor.status():
            say("torch.compile", ok, gives if ok else f"{gives}: {why}",
                "" if ok else "compiled kernels are not seen with this torch; diff will say so")
    except Exception as error:
        say("torch.compile", False, f"{type(error).__name__}: {error}", "compiled kernels are not seen")


if __name__ == "__main__":
    main()
