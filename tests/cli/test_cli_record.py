import os
import pathlib
import signal
import subprocess
import sys

import pytest

from cli_program import PROGRAM

PYTHON = sys.executable
ADD = "import torch; (torch.ones(3) + 1)"


def test_it_tells_what_it_recorded_and_what_to_type_next(ulpscope, tmp_path):
    done = ulpscope("record", "-o", "x.ulps", "--", PYTHON, "-c", ADD + "; print('mine')", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == "mine\n"
    assert "ulpscope: x.ulps: " in done.stderr and "closure 100%" in done.stderr
    assert done.stderr.splitlines()[-1] == "ulpscope: next: ulpscope show x.ulps"


def test_without_o_each_run_gets_a_name_of_its_own(ulpscope, tmp_path):
    for _ in range(2):
        assert ulpscope("record", "--", PYTHON, "-c", ADD, cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.glob("*.ulps")) == ["run-1.ulps", "run-2.ulps"]


@pytest.mark.parametrize("status", [0, 1, 7, 255])
def test_it_gives_back_the_commands_status(ulpscope, tmp_path, status):
    done = ulpscope("record", "--", "sh", "-c", f"exit {status}", cwd=tmp_path)
    assert done.returncode == status


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV"])
def test_it_ends_by_the_signal_that_ended_the_command(ulpscope, tmp_path, name):
    number = int(getattr(signal, name))
    done = ulpscope("record", "--", "sh", "-c", f"kill -{number} $$", cwd=tmp_path)
    assert done.returncode == -number
    assert f"signal {number}" in done.stderr


def test_a_signal_sent_to_it_reaches_the_command(tmp_path):
    program = tmp_path / "waits.sh"
    program.write_text("#!/bin/sh\ntrap 'echo got it; exit 5' TERM\necho ready\nwhile :; do sleep 0.05; done\n")
    program.chmod(0o755)
    with subprocess.Popen(
        [PROGRAM, "record", "--", program], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGTERM)
        assert running.stdout.readline() == "got it\n"
        assert running.wait(timeout=60) == 5


def test_a_killed_program_leaves_a_trace_that_is_marked_as_cut_short(ulpscope, tmp_path):
    program = (
        "import os, signal, torch, time\n"
        "x = torch.ones(4)\n"
        "for _ in range(100): x = x + 1\n"
        "time.sleep(1.5)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = ulpscope("record", "-o", "k.ulps", "--", PYTHON, "-c", program, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert "cut short" in done.stderr
    shown = ulpscope("show", "k.ulps", cwd=tmp_path)
    assert shown.returncode == 0 and "cut short" in shown.stdout
    assert shown.stdout.count("aten::add") == 100


@pytest.mark.parametrize(
    "command, says",
    [
        (["no-such-command-here"], "no command 'no-such-command-here' on PATH"),
        (["./missing"], "no file ./missing"),
        (["./plain"], "not executable"),
        (["./orphan"], "interpreter"),
        (["./empty"], "no program"),
    ],
)
def test_a_command_that_cannot_start(ulpscope, error_line, tmp_path, command, says):
    (tmp_path / "plain").write_text("text")
    for name, content in {"orphan": "#!/no/such/interpreter\n", "empty": "\x01\x02\x03"}.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    assert says in error_line(ulpscope("record", "--", *command, cwd=tmp_path))
    assert list(tmp_path.glob("*.ulps")) == []


@pytest.mark.parametrize("output", ["no/such/folder/x.ulps", "/proc/x.ulps"])
def test_an_output_folder_that_cannot_be_written(ulpscope, error_line, tmp_path, output):
    ran = tmp_path / "ran"
    line = error_line(ulpscope("record", "-o", output, "--", "touch", ran, cwd=tmp_path))
    assert "-o" in line
    assert not ran.exists()


def test_a_file_that_is_no_trace_is_not_replaced(ulpscope, error_line, tmp_path):
    precious = tmp_path / "thesis.txt"
    precious.write_text("years of work")
    error_line(ulpscope("record", "-o", precious, "--", "true"))
    assert precious.read_text() == "years of work"


def test_an_older_trace_is_replaced(ulpscope, tmp_path):
    for count in (1, 2):
        program = f"import torch\nx = torch.ones(2)\nfor _ in range({count}): x = x + 1"
        assert ulpscope("record", "-o", "x.ulps", "--", PYTHON, "-c", program, cwd=tmp_path).returncode == 0
    assert ulpscope("show", "x.ulps", "--op", "aten::add*", cwd=tmp_path).stdout.count("aten::add") == 2
    # ... and does not stay to be taken for the trace of a run that recorded nothing.
    done = ulpscope("record", "-o", "x.ulps", "--", "true", cwd=tmp_path)
    assert "nothing was recorded" in done.stderr
    assert not (tmp_path / "x.ulps").exists()


def test_a_program_without_torch_runs_as_ever_and_gets_a_line(ulpscope, tmp_path):
    done = ulpscope("record", "--", PYTHON, "-c", "print('hello'); raise SystemExit(3)", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert "nothing was recorded: the command ended with status 3 before an op of torch ran" in done.stderr


def test_isolated_python_is_named_as_the_reason(ulpscope, tmp_path):
    done = ulpscope("record", "--", PYTHON, "-I", "-c", ADD, cwd=tmp_path)
    assert done.returncode == 0
    assert "python -I keeps the recorder out" in done.stderr


def test_the_program_sees_its_own_pythonpath_and_preload(ulpscope, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.py").write_text("value = 42")
    done = ulpscope(
        "record", "--", PYTHON, "-c", "import mine, sys; print(mine.value, sys.argv)",
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "mine")},
    )
    assert done.stdout == "42 ['-c']\n"


def test_options_reach_the_recorder(ulpscope, tmp_path):
    program = "import torch\nx = torch.ones(2)\nfor _ in range(3): x = x * 2 + 1"
    done = ulpscope(
        "record", "-o", "x.ulps", "--exclude", "aten::mul*", "--level=digest", "--inputs=off",
        "--", PYTHON, "-c", program, cwd=tmp_path,
    )
    assert done.returncode == 0
    shown = ulpscope("show", "x.ulps", "--operands", cwd=tmp_path).stdout
    assert "skipped: option" in shown
    assert "min " not in shown  # no statistics at this level


def test_children_write_files_of_their_own(ulpscope, tmp_path):
    program = (
        "import subprocess, sys, torch\n"
        "torch.ones(2) + 1\n"
        f"subprocess.run([sys.executable, '-c', {ADD!r}], check=True)\n"
    )
    done = ulpscope("record", "-o", "x.ulps", "--", PYTHON, "-c", program, cwd=tmp_path)
    assert done.returncode == 0
    files = sorted(pathlib.Path(path).name for path in os.listdir(tmp_path) if path.endswith(".ulps"))
    assert len(files) == 2 and "x.ulps" in files
    for name in files:
        assert f"ulpscope: {name}: " in done.stderr
