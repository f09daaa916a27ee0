"""The gate as a pytest plugin: a test's numbers are compared with those that were accepted.

    @pytest.mark.ulpscope
    def test_forward():
        model(x)                      # every op of the test takes part

    def test_training(ulpscope_gate):
        prepare()
        with ulpscope_gate("step"):   # only what runs in here
            train_step()

Baselines are in `ulpscope-gate/` beside the test's file, a folder for each test.
`pytest --ulpscope-update [--ulpscope-reason TEXT]` records and accepts instead of failing.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ulpscope", "comparing numbers with accepted ones")
    group.addoption("--ulpscope-update", action="store_true", help="accept the numbers of this run")
    group.addoption("--ulpscope-reason", default="Updated by pytest.", help="why, for the history of the gate")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "ulpscope(rtol=0, atol=0, ulp=0): compare every op of the test with the accepted numbers",
    )


def _folder(node: pytest.Item, name: str) -> pathlib.Path:
    test = node.nodeid.split("::", 1)[-1]
    parts = [test, name] if name else [test]
    words = [re.sub(r"[^A-Za-z0-9._-]+", "_", part).strip("_") for part in parts]
    return node.path.parent / "ulpscope-gate" / node.path.stem / "-".join(words)


def _compare(node: pytest.Item, folder: pathlib.Path, trace: str, flags: list[str]) -> str | None:
    """The answer where the numbers moved, None where they did not (or were accepted)."""
    from ulpscope import _program

    def gate(*arguments: str) -> Any:
        return _program.run("gate", *arguments, "--dir", folder)

    update = node.config.getoption("--ulpscope-update")
    reason = node.config.getoption("--ulpscope-reason")
    if not any(folder.glob("*.baseline")):
        if not update:
            return f"there is no baseline in {folder}; accept these numbers with: pytest --ulpscope-update"
        done = gate("record", "--trace", trace, "--reason", reason)
        return None if done.returncode == 0 else done.stderr.strip()
    done = gate("check", "--trace", trace, *flags)
    if update and done.returncode in (0, 1, 3) and (folder / "checked" / "run.baseline").exists():
        done = gate("accept", "--reason", reason)
        return None if done.returncode == 0 else done.stderr.strip()
    if done.returncode == 0:
        return None
    # What to type next is pytest's here.
    answer = re.sub(r"\n(If the change is wanted|next):.*", "", done.stdout).strip()
    return (answer or done.stderr.strip()) + "\n\nIf the change is wanted: pytest --ulpscope-update"


@contextlib.contextmanager
def _recorded(node: pytest.Item, name: str, tolerance: dict[str, float]) -> Iterator[None]:
    import ulpscope

    flags = [f"--{key}={value!r}" for key, value in tolerance.items()]
    with tempfile.TemporaryDirectory(prefix="ulpscope-") as temporary:
        trace = os.path.join(temporary, "run.ulps")
        try:
            ulpscope.start(trace)
        except RuntimeError as error:
            pytest.fail(f"ulpscope can't record: {error}", pytrace=False)
        try:
            yield
        finally:
            written = ulpscope.stop()
        if written is None:
            pytest.fail("ulpscope: no op ran, so there is nothing to compare", pytrace=False)
        answer = _compare(node, _folder(node, name), written, flags)
        if answer is not None:
            pytest.fail(answer, pytrace=False)


@pytest.fixture
def ulpscope_gate(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`with ulpscope_gate(name="", rtol=0, atol=0, ulp=0):` compares what runs inside."""

    def gate(name: str = "", **tolerance: float) -> Any:
        return _recorded(request.node, name, tolerance)

    return gate


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Any:
    marker = pyfuncitem.get_closest_marker("ulpscope")
    if marker is None:
        return (yield)
    with _recorded(pyfuncitem, "", dict(marker.kwargs)):
        return (yield)
