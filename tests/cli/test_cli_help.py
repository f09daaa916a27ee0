import re

import pytest

VERBS = ["record", "diff", "show", "values", "check", "microscope", "extract", "ranks", "view", "gate", "doctor"]


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
