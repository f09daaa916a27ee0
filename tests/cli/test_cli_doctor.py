import os
import sys


def test_all_is_well_where_the_tests_run(ulpscope):
    done = ulpscope("doctor", "--python", sys.executable)
    assert done.returncode == 0, done.stdout
    rows = {line.split()[1]: line for line in done.stdout.splitlines() if line.startswith("ok ")}
    for what in ("ulpscope", "fingerprint", "preload", "python", "torch", "recorder", "folder"):
        assert what in rows, done.stdout
    assert "2.13.0" in rows["torch"]


def test_a_python_without_torch_is_a_problem_with_advice(ulpscope, tmp_path):
    empty = tmp_path / "python"
    base = os.path.realpath(sys.executable)
    empty.write_text(f'#!/bin/sh\nexec "{base}" -S "$@"\n')
    empty.chmod(0o755)
    done = ulpscope("doctor", "--python", empty)
    assert done.returncode == 1
    problem = [line for line in done.stdout.splitlines() if line.startswith("problem")]
    assert len(problem) == 1 and "torch" in problem[0]
    assert "pip install torch==2.13.0" in done.stdout


def test_view_needs_a_display(ulpscope, error_line, traces):
    environment = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "QT_QPA_PLATFORM": ""}
    line = error_line(ulpscope("view", traces / "a.ulps", env=environment))
    assert "ulpscope diff" in line
