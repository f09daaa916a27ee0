"""What the tests of compiled code share."""

from __future__ import annotations

import json
import re
from collections import Counter


def kernels(trace) -> list:
    return [op for op in trace if op.kind == "kernel"]


def inside_compiled(trace) -> list:
    """Ops that compiled graphs hand to the dispatcher."""
    return [
        op for op in trace if op.kind == "op" and any(r.kind == "compiled" for r in op.regions)
    ]


def ok(result):
    """The result of a run that went well, with nothing of ours failing on the way."""
    assert result.returncode == 0, result.stderr[-4000:]
    assert "ulpscope:" not in result.stderr, result.stderr[-4000:]
    return result


def counts(trace) -> Counter:
    """Kernel calls by `feature:` scope."""
    found = Counter()
    for op in kernels(trace):
        scopes = [r.name[8:] for r in op.regions if r.name.startswith("feature:")]
        found[scopes[0] if scopes else ""] += 1
    return found


def last_json(result):
    return json.loads(result.stdout.strip().splitlines()[-1])


_HANDLE = re.compile(r"\[Provenance debug handles\].*")


def generated_code(cache) -> set[str]:
    """All that Inductor wrote in a cache folder, without comments."""
    texts = set()
    for path in [*cache.rglob("*.py"), *cache.rglob("*.cpp")]:
        lines = path.read_text().splitlines()
        texts.add("\n".join(line for line in lines if not line.lstrip().startswith(("#  ", "# ", "//"))))
    return texts
