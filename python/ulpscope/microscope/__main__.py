"""`python -m ulpscope.microscope VERB ...`: what the verbs of `ulpscope` that need torch start.

    open TRACE OP...          microscope, diff
    check TRACE               check
    extract TRACE OP FOLDER   extract

Prints text, or with --format=json one object. A kernel that can't be opened is told in one line, as
its "error" in JSON. Exit status: 0 no kernel departs, 1 one does, 2 an error.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile

from .decode import Unknown


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ulpscope.microscope")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("open")
    verb.add_argument("trace")
    verb.add_argument("ops", type=int, nargs="+")
    verb.add_argument("--format", choices=("text", "json"), default="text")
    verb.add_argument("--for-diff", action="store_true", help="json, and status 0 whatever was found")
    verb.set_defaults(run=open_ops)
    verb = verbs.add_parser("check")
    verb.add_argument("trace")
    verb.add_argument("--format", choices=("text", "json"), default="text")
    verb.set_defaults(run=check_trace)
    verb = verbs.add_parser("extract")
    verb.add_argument("trace")
    verb.add_argument("op", type=int)
    verb.add_argument("folder")
    verb.set_defaults(run=extract_op)
    options = parser.parse_args(arguments)
    name = "microscope" if options.verb == "open" else options.verb
    try:
        return options.run(options)
    except (OSError, RuntimeError, Unknown) as error:
        if os.environ.get("ULPSCOPE_DEBUG"):
            raise
        print(f"ulpscope: {name}: {_line(error)}", file=sys.stderr)
        return 2


def check_trace(options: argparse.Namespace) -> int:
    from . import check

    def progress(done: int, of: int) -> None:
        if sys.stderr.isatty():
            print(f"\rchecking kernel {done + 1} of {of}\033[K", end="", file=sys.stderr, flush=True)

    with quiet() as out:
        trace, notes = prepare(options.trace)
        found = check.check(trace, progress)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if options.format == "json":
        answer = {
            "schema": check.SCHEMA,
            "trace": options.trace,
            "notes": notes,
            "calls": found.calls,
            "agree": found.agree,
            "departs": found.departs,
            "unopened": found.unopened,
        }
        print(json.dumps(answer), file=out)
    else:
        print(check.as_text(found), file=out)
        for note in notes:
            print(f"note: {note}", file=out)
    out.flush()
    return int(bool(found.departs))


def extract_op(options: argparse.Namespace) -> int:
    from . import extract, in_trace, open_kernel, report

    with quiet() as out:
        trace, notes = prepare(options.trace)
        try:
            op = trace.op(options.op)
        except KeyError:
            raise Unknown(f"{options.trace} has no op #{options.op}; `ulpscope show` lists them") from None
        recorded = in_trace.Kernels(trace).recorded(op)
        opened = open_kernel.open_kernel(recorded.kernel, recorded.kind, recorded.digests)
        said = extract.extract(recorded, opened, options.folder, trace.environment)
    print(report.explanation(recorded, opened, opened.first), file=out)
    for line in [f"written to {options.folder}: operands.safetensors, repro.py, which says:"]:
        print(line, file=out)
    print("\n".join(f"  {line}" for line in said.splitlines()), file=out)
    for note in notes:
        print(f"note: {note}", file=out)
    out.flush()
    return 0


def open_ops(options: argparse.Namespace) -> int:
    with quiet() as out:
        trace, notes = prepare(options.trace)
        found, texts = [], []
        for number in options.ops:
            kernel, text = _open(trace, number, options.trace)
            found.append(kernel)
            texts.append(text)
    if options.format == "json" or options.for_diff:
        from .report import SCHEMA

        json.dump({"schema": SCHEMA, "trace": options.trace, "notes": notes, "kernels": found}, out)
        print(file=out)
    else:
        for kernel, text in zip(found, texts):
            if kernel["error"]:
                print(f"ulpscope: microscope: {kernel['error']}", file=sys.stderr)
            else:
                print(text, file=out)
        for note in notes:
            print(f"note: {note}", file=out)
    out.flush()
    if options.for_diff:
        return 0
    if all(kernel["error"] for kernel in found):
        return 0 if options.format == "json" else 2
    return int(any(kernel.get("departs") for kernel in found))


def _open(trace, number: int, path: str) -> tuple[dict, str]:
    from . import in_trace, open_kernel, report

    try:
        op = trace.op(number)
        recorded = in_trace.Kernels(trace).recorded(op)
        opened = open_kernel.open_kernel(recorded.kernel, recorded.kind, recorded.digests)
        return report.as_json(recorded, opened), report.as_text(recorded, opened)
    except KeyError:
        reason = f"{path} has no op #{number}; `ulpscope show {path}` lists them"
    except Unknown as error:
        reason = str(error)
    except Exception as error:
        if os.environ.get("ULPSCOPE_DEBUG"):
            raise
        reason = f"#{number} can't be opened: {type(error).__name__}: {_line(error)}"
    return {"id": number, "error": reason}, ""


def prepare(path: str):
    """The trace, and this process in its settings. To be called before torch is imported."""
    import ulpscope

    from . import settings

    trace = ulpscope.open(path)
    settings.before_torch(trace.environment)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache()
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise RuntimeError(f"opening a kernel needs torch, which {sys.executable} lacks: {error}") from None
    return trace, settings.apply(trace.environment)


def cache() -> str:
    """A cache of Inductor's for us alone: the program's own stays as it is."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(base, "ulpscope", "inductor")
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return tempfile.mkdtemp(prefix="ulpscope-")


@contextlib.contextmanager
def quiet():
    """What libraries print goes to stderr; gives the real stdout."""
    sys.stdout.flush()
    out = os.fdopen(os.dup(1), "w")
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield out
    finally:
        sys.stdout.flush()
        os.dup2(saved, 1)
        os.close(saved)


def _line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
