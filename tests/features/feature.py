"""The rows of docs/supported.md."""

from __future__ import annotations

from collections.abc import Callable

ROWS: list[tuple[str, str, str]] = []


def feature(name: str, seen: str) -> Callable:
    """Marks a test as the proof of a row: the feature, and what is seen of it in a trace."""

    def mark(test: Callable) -> Callable:
        ROWS.append((name, seen, f"{test.__module__}.py::{test.__name__}"))
        return test

    return mark
