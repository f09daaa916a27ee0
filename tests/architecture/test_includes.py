"""The parts see each other one way only: fingerprint <- store <- diff <- {gate <- cli, gui} and
{fingerprint, store} <- dispatch_hook <- python. The link lists enforce most of it; headers could
still leak, so every #include is looked at."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {".h", ".hpp", ".c", ".cpp", ".cc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)

# Which folders of the project a folder may include, itself aside.
SEES = {
    "fingerprint": set(),
    "store": {"fingerprint"},
    "diff": {"fingerprint", "store"},
    "gate": {"fingerprint", "store", "diff"},
    "cli": {"fingerprint", "store", "diff", "gate"},
    "gui": {"fingerprint", "store", "diff"},
    "dispatch_hook": {"fingerprint", "store"},
    "python": {"fingerprint", "store", "dispatch_hook"},
}
# Libraries that belong to some folders alone.
OWNERS = {
    "LibTorch": (re.compile(r"^(torch|ATen|c10)/"), {"dispatch_hook", "python"}),
    "Qt": (re.compile(r"^Q[A-Z]\w+(/|$)|^Qt[A-Z]\w*/"), {"gui"}),
    "SQLite": (re.compile(r"^sqlite3(ext)?\.h$"), {"store"}),
    "Python": (re.compile(r"^(Python\.h|pybind11/|internal/pycore)"), {"python"}),
}


def includes(part):
    for path in sorted((ROOT / part).rglob("*")):
        if path.suffix in SOURCES:
            for match in INCLUDE.finditer(path.read_text()):
                yield path.relative_to(ROOT), match.group(1) or match.group(2)


def violations(part, found):
    for path, name in found:
        folder = name.split("/")[0]
        if folder in SEES and folder != part and folder not in SEES[part]:
            yield f"{path} includes {name}: {part} may see {sorted(SEES[part]) or 'no other part'}"
        for library, (pattern, owners) in OWNERS.items():
            if pattern.match(name) and part not in owners:
                yield f"{path} includes {name}: only {sorted(owners)} may use {library}"


@pytest.mark.parametrize("part", sorted(SEES))
def test_a_part_includes_only_what_it_may_see(part):
    found = list(includes(part))
    assert found, f"no source with an include in {part}/"
    assert list(violations(part, found)) == []


@pytest.mark.parametrize(
    "part, name",
    [
        ("fingerprint", "store/reader.h"),
        ("store", "diff/result.h"),
        ("diff", "cli/verb.h"),
        ("diff", "gate/check.h"),
        ("gate", "cli/verb.h"),
        ("cli", "dispatch_hook/recorder.h"),
        ("gui", "cli/verb.h"),
        ("dispatch_hook", "diff/diff.h"),
        ("store", "ATen/core/Tensor.h"),
        ("cli", "QtWidgets/QWidget"),
        ("diff", "QString"),
        ("cli", "sqlite3.h"),
        ("dispatch_hook", "Python.h"),
    ],
)
def test_the_check_itself_catches(part, name):
    assert list(violations(part, [(pathlib.Path("x.cpp"), name)]))
