"""Found first on PYTHONPATH by the programs that `ulpscope record` starts, and by their children.

Takes itself off sys.path, arranges that recording starts once the program has imported torch, and
then runs the sitecustomize that the program would have had. PYTHONPATH in os.environ stays as it is:
children are recorded through it.
"""

import os
import sys


def _prepare():
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    if os.environ.get("ULPSCOPE_RECORD") != "1":
        return
    import importlib.util

    # By its path, not through sys.path: the program's environment may be another one, which must
    # not see what is installed beside this package.
    package = os.path.dirname(folder)
    spec = importlib.util.spec_from_file_location(
        "ulpscope", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["ulpscope"] = module
    try:
        spec.loader.exec_module(module)
        from ulpscope import _injected

        _injected.install()
    except BaseException:
        sys.modules.pop("ulpscope", None)
        raise


def _chain():
    """Imports the program's own sitecustomize in place of this one."""
    this = sys.modules.pop(__name__)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise  # site.py reports it, as it would have without us
    finally:
        sys.modules.setdefault(__name__, this)


try:
    _prepare()
except Exception as error:
    print(f"ulpscope: not recording: {error!r}", file=sys.stderr)
_chain()
