import json
import os
import pathlib
import pty
import subprocess

import jsonschema
import pytest

from cli_program import PROGRAM, ROOT

SCHEMA = json.loads((ROOT / "docs" / "diff.schema.json").read_text())
# Exit status, verdict, and ops without a partner: relu and its backward, in two steps.
# The scale is a Python number: a scalar argument of the multiplication.
PAIRS = {
    "same": (0, "identical", 0),
    "seed": (1, "numeric", 0),
    "other": (3, "structural", 0),
    "extra": (3, "structural", 4),
}


@pytest.mark.parametrize("name", PAIRS)
def test_status_verdict_and_schema(ulpscope, traces, name):
    status, verdict, alone = PAIRS[name]
    done = ulpscope("diff", traces / "a.ulps", traces / f"{name}.ulps", "--format=json")
    assert done.returncode == status, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    jsonschema.validate(answer, SCHEMA, cls=jsonschema.Draft202012Validator)
    assert answer["verdict"] == verdict
    assert (answer["first"] is None) == (name == "same")
    counts = answer["counts"]
    assert counts["pairs"] + alone == sum(n for label, n in counts.items() if label != "pairs")


def test_the_scaled_multiplication_is_named(ulpscope, traces):
    answer = json.loads(ulpscope("diff", traces / "a.ulps", traces / "other.ulps", "--format=json").stdout)
    first = answer["first"]
    assert (first["op"], first["step"], first["phase"]) == ("aten::mul", 0, "forward")
    assert (first["label"], first["difference"]) == ("structural", "scalar")
    assert any(frame["file"].endswith("train.py") for frame in first["a"]["stack"])
    text = ulpscope("diff", traces / "a.ulps", traces / "other.ulps").stdout
    assert "aten::mul" in text.splitlines()[0]


def test_the_op_that_one_side_lacks_is_named(ulpscope, traces):
    answer = json.loads(ulpscope("diff", traces / "a.ulps", traces / "extra.ulps", "--format=json").stdout)
    assert (answer["first"]["op"], answer["first"]["difference"]) == ("aten::relu", "extra")
    assert answer["first"]["a"] is None
    turned = json.loads(ulpscope("diff", traces / "extra.ulps", traces / "a.ulps", "--format=json").stdout)
    assert (turned["first"]["op"], turned["first"]["difference"]) == ("aten::relu", "missing")


def test_identical_runs_say_so(ulpscope, traces):
    out = ulpscope("diff", traces / "a.ulps", traces / "same.ulps").stdout
    assert out.startswith("Identical: all ")
    assert out.splitlines()[-1] == f"next: ulpscope show {traces / 'a.ulps'}"


def test_output_file(ulpscope, error_line, traces, tmp_path):
    written = tmp_path / "answer.json"
    done = ulpscope("diff", traces / "a.ulps", traces / "same.ulps", "--format=json", "-o", written)
    assert done.returncode == 0 and done.stdout == ""
    assert json.loads(written.read_text())["verdict"] == "identical"
    error_line(ulpscope("diff", traces / "a.ulps", traces / "same.ulps", "-o", tmp_path / "no" / "x"))
    before = (traces / "a.ulps").read_bytes()
    error_line(ulpscope("diff", traces / "a.ulps", traces / "same.ulps", "-o", traces / "a.ulps"))
    assert (traces / "a.ulps").read_bytes() == before


def on_terminal(arguments, environment):
    parent, child = pty.openpty()
    try:
        process = subprocess.Popen(arguments, stdout=child, stderr=child, env=environment)
        os.close(child)
        output = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:
                break
            if not part:
                break
            output += part
        process.wait(timeout=60)
        return output.decode()
    finally:
        os.close(parent)


def test_colour_on_a_terminal_unless_asked_not_to(traces):
    arguments = [PROGRAM, "diff", str(traces / "a.ulps"), str(traces / "other.ulps")]
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    assert "\x1b[" in on_terminal(arguments, environment)
    assert "\x1b[" not in on_terminal(arguments, environment | {"NO_COLOR": "1"})
    assert "\x1b[" not in on_terminal(arguments, environment | {"TERM": "dumb"})
