"""Handles of generated code, and the instructions that they stand for."""

import sys

from ulpscope.inductor import call_sites

MODULE = """
seen = []
def first(*a): seen.append(where())
second = first
class Runner:
    def call(self, args):
        # [Provenance debug handles] first:1
        first(args)
        # Topologically Sorted Source Nodes: [x], Original ATen: [aten.mm]
        # [Provenance debug handles] second:2
        second(args,
            args)
        first(args)
def branch(args):
    # [Provenance debug handles] first:3

    first(args); second(args)
"""


def test_lines_of_handles():
    assert call_sites.handles(MODULE) == {8: "first:1", 11: "second:2", 17: "first:3"}


def test_the_running_instruction_is_found():
    scope = {"where": lambda: (sys._getframe(2).f_code, sys._getframe(2).f_lasti)}
    exec(compile(MODULE, "module.py", "exec"), scope)
    scope["__file__"] = "module.py"
    places = {}
    for code in call_sites.code_objects(scope):
        for inner, sites in call_sites.offsets(code, call_sites.handles(MODULE)).items():
            for key, offsets in sites.items():
                places.update({(inner, offset): key for offset in offsets})
    scope["Runner"]().call(1)
    scope["branch"](1)
    assert [places.get(place) for place in scope["seen"]] == [
        "first:1", "second:2", None, "first:3", "first:3",
    ]  # fmt: skip
