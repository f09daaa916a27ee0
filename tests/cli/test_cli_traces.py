"""Files that can't be read: one clear line and exit status 2, from every verb that reads traces."""

import sqlite3

import pytest


@pytest.fixture(params=["show", "diff first", "diff second"])
def read(request, ulpscope, traces):
    good = traces / "a.ulps"

    def call(path):
        if request.param == "show":
            return ulpscope("show", path)
        if request.param == "diff first":
            return ulpscope("diff", path, good)
        return ulpscope("diff", good, path)

    return call


def test_missing(read, error_line, tmp_path):
    assert "no such file" in error_line(read(tmp_path / "nothing.ulps"))


@pytest.mark.parametrize("content", [b"", b"hello\n" * 1000, b"\x7fELF" + bytes(5000)])
def test_not_a_trace(read, error_line, tmp_path, content):
    path = tmp_path / "foreign.ulps"
    path.write_bytes(content)
    assert "foreign.ulps" in error_line(read(path))


def test_a_database_of_something_else(read, error_line, tmp_path):
    path = tmp_path / "foreign.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (x)")
    assert "foreign.sqlite" in error_line(read(path))


def test_a_folder(read, error_line, tmp_path):
    error_line(read(tmp_path))


def test_truncated(read, error_line, tmp_path, traces):
    whole = (traces / "a.ulps").read_bytes()
    path = tmp_path / "short.ulps"
    path.write_bytes(whole[: len(whole) // 2])
    assert "short.ulps" in error_line(read(path))


def test_written_by_a_newer_version(read, error_line, tmp_path, traces):
    path = tmp_path / "newer.ulps"
    path.write_bytes((traces / "a.ulps").read_bytes())
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 9999")
    assert "newer" in error_line(read(path))
