import re
import subprocess

import pytest

VERBS = [
    "record", "diff", "explain", "repeat", "show", "values", "check",
    "microscope", "extract", "ranks", "bisect", "view", "gate", "doctor",
]  # fmt: skip


def test_without_arguments_it_lists_the_verbs(ulpscope):
    done = ulpscope()
    assert done.returncode == 0
    listed = re.findall(r"^  (\w+)  ", done.stdout.split("verbs:")[1].split("\n\n")[0], re.MULTILINE)
    assert listed == VERBS
    assert ulpscope("--help").stdout == done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_ends_with_an_example(ulpscope, verb):
    done = ulpscope(verb, "--help")
    assert done.returncode == 0
    assert re.search(rf"^Examples:\n  ulpscope {verb}", done.stdout, re.MULTILINE)
    assert ulpscope("help", verb).stdout == done.stdout


def test_version(ulpscope):
    done = ulpscope("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"ulpscope \d+\.\d+\.\d+\n", done.stdout)


def test_an_unknown_verb_names_those_there_are(ulpscope, error_line):
    line = error_line(ulpscope("compare", "a", "b"))
    assert "no verb 'compare'" in line
    assert all(verb in line for verb in VERBS)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["diff", "a.ulps"], "B is required"),
        (["diff", "a", "b", "--format=yaml"], "yaml"),
        (["diff", "a", "b", "--rtol=-1"], "--rtol"),
        (["show"], "TRACE is required"),
        (["show", "x", "--nope"], "--nope"),
        (["record", "--inputs=some", "--", "true"], "some"),
        (["record", "--steps=3", "--", "true"], "A:B"),
        (["record"], "put it after --"),
        (["record", "python", "train.py"], "python"),
    ],
)
def test_a_wrong_flag_is_one_line_that_points_to_the_help(ulpscope, error_line, arguments, says):
    line = error_line(ulpscope(*arguments))
    assert says in line


def test_the_manual_page_holds_every_verb_and_flag(ulpscope):
    page = ulpscope("help", "--man").stdout
    assert page.startswith(".TH ULPSCOPE 1")
    plain = page.replace("\\-", "-")
    for verb in VERBS:
        assert f"\n.SS {verb}" in plain, verb
    assert "\n\\fB--fallback-rtol\\fR\n" in plain and "\n.SS gate check\n" in plain


def test_completion_knows_verbs_subcommands_and_flags(ulpscope, tmp_path, error_line):
    script = tmp_path / "completion"
    script.write_text(ulpscope("help", "--completion=bash").stdout)

    def complete(*words):
        line = " ".join(f"'{word}'" for word in words)
        return subprocess.run(
            ["bash", "-c", f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _ulpscope; "
             "printf '%s\\n' \"${COMPREPLY[@]}\""], capture_output=True, text=True, check=True, cwd=tmp_path,
        ).stdout.split()  # fmt: skip

    assert complete("ulpscope", "di") == ["diff"]
    assert complete("ulpscope", "gate", "a") == ["accept"]
    assert complete("ulpscope", "gate", "check", "--fall") == ["--fallback-rtol"]
    assert complete("ulpscope", "diff", "--noi") == ["--noise"]
    assert complete("ulpscope", "show", "compl") == ["completion"]
    assert "complete -c ulpscope" in ulpscope("help", "--completion=fish").stdout
    error_line(ulpscope("help", "--completion=tcsh"))
