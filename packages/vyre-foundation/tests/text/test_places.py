"""The place of a path in the text: every statement and every part of one, whatever stands around it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from vyre_foundation.ir.stmt import Assign, Atomic, For, If, Let, Region, Store, Subgroup, Trap, Var
from vyre_foundation.testing import EVERYTHING
from vyre_foundation.testing.strategies import programs, structural_programs
from vyre_foundation.text import parse, print_program
from vyre_foundation.text.places import Places, position
from vyre_foundation.validate.outline import outline

TEXT = """\
program p workgroup(8, 2) subgroup(4) {   # a comment
  read a: u32[] @0;
  undeclared read ghost: u32[4] @9;
  constant c: u32[2] = hex
    "0000000001000000";
  write out: u32[len(a)] @1;  scratch s: u32[4 per workgroup] @2;

  %0 = a[local_id.x] + 1;
  indirect_dispatch a[3];
  for i in 0..len(a) step 2 {
    if i == 3 { let x = %0 * (2 + a[i]); }
    else if a[i] == 4 { out[a[i] + 1] = select(true, 1, 2);  // another
    } else { region "{;" { var y = 1; y = y + 1; } }
  }
  let old = atomic compare_exchange(s[0], %0, expected = a[1]);
  atomic add(s[a[2]], 7);
  let lane = subgroup shuffle(%0, 3);
  subgroup any(a[0] == 1);
  trap(17, "; out");
  barrier workgroup;
  return;
}
"""


def shown(path: str) -> str:
    place = Places(TEXT).find(path)
    assert place is not None
    assert TEXT.splitlines()[place.line - 1] == place.code
    return place.code[place.column - 1 : place.column - 1 + place.width]


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("name", "p"),
        ("workgroup_size", "workgroup(8, 2)"),
        ("subgroup_size", "subgroup(4)"),
        ("buffers[0]", "read a: u32[] @0"),
        ("buffers[1]", "constant c: u32[2]"),
        ("buffers[2]", "write out: u32[len(a)] @1"),
        ("buffers[3]", "scratch s: u32[4 per workgroup] @2"),
        ("body[0]", "indirect_dispatch a[3]"),
        ("body[0].buffer", "a"),
        ("body[0].offset", "3"),
        ("body[1]", "for i in 0..len(a) step 2"),
        ("body[1].start", "0"),
        ("body[1].stop", "len(a)"),
        ("body[1].step", "2"),
        ("body[1].body[0]", "if i == 3"),
        ("body[1].body[0].condition", "i == 3"),
        ("body[1].body[0].then[0]", "let x = %0 * (2 + a[i])"),
        ("body[1].body[0].then[0].value", "%0 * (2 + a[i])"),
        ("body[1].body[0].orelse[0]", "if a[i] == 4"),
        ("body[1].body[0].orelse[0].condition", "a[i] == 4"),
        ("body[1].body[0].orelse[0].then[0]", "out[a[i] + 1] = select(true, 1, 2)"),
        ("body[1].body[0].orelse[0].then[0].index", "a[i] + 1"),
        ("body[1].body[0].orelse[0].then[0].value", "select(true, 1, 2)"),
        ("body[1].body[0].orelse[0].then[0].buffer", "out"),
        ("body[1].body[0].orelse[0].orelse[0]", 'region "{;"'),
        ("body[1].body[0].orelse[0].orelse[0].label", '"{;"'),
        ("body[1].body[0].orelse[0].orelse[0].body[0]", "var y = 1"),
        ("body[1].body[0].orelse[0].orelse[0].body[1]", "y = y + 1"),
        ("body[1].body[0].orelse[0].orelse[0].body[1].name", "y"),
        ("body[1].body[0].orelse[0].orelse[0].body[1].value", "y + 1"),
        ("body[2]", "let old = atomic compare_exchange(s[0], %0, expected = a[1])"),
        ("body[2].result", "old"),
        ("body[2].index", "0"),
        ("body[2].value", "%0"),
        ("body[2].expected", "a[1]"),
        ("body[3].index", "a[2]"),
        ("body[3].value", "7"),
        ("body[4].value", "%0"),
        ("body[4].lane", "3"),
        ("body[5].value", "a[0] == 1"),
        ("body[6].code", "17"),
        ("body[6].tag", '"; out"'),
        ("body[7]", "barrier workgroup"),
        ("body[8]", "return"),
    ],
)
def test_parts(path: str, part: str) -> None:
    assert shown(path) == part


def test_the_text_parses() -> None:
    assert len(parse(TEXT).body) == 9


def test_a_part_without_a_place_has_that_of_what_is_around_it() -> None:
    assert shown("body[7].nothing[3].here") == "barrier workgroup"
    assert shown("body[99]") == "p"


def test_a_text_of_no_program_has_no_places() -> None:
    assert Places("program").find("body[0]") is None
    assert Places("").find("name") is None


def test_a_position_stays_on_its_line() -> None:
    assert position("ab\ncd\nef", 4, 8) == (2, 2, 1, "cd")
    assert position("ab", 2, 2) == (1, 3, 1, "ab")


FIELDS = {
    Let: ["value"],
    Var: ["value"],
    Assign: ["value", "name"],
    Store: ["index", "value", "buffer"],
    If: ["condition"],
    For: ["start", "stop", "name"],
    Region: ["label"],
    Atomic: ["index", "value"],
    Subgroup: ["value"],
    Trap: ["code", "tag"],
}
WORDS = {Let: "let", Var: "var", If: "if", For: "for", Region: "region", Trap: "trap"}


def require_places(program: object) -> None:
    text = print_program(program)
    places = Places(text)
    for place in outline(parse(text)).places:
        found = places.find(place.path)
        assert found is not None
        part = found.code[found.column - 1 :]
        assert part.startswith(WORDS.get(type(place.stmt), ""))
        for field in FIELDS.get(type(place.stmt), []):
            inner = places.find(place.field(field))
            assert inner is not None
            assert inner[:2] > found[:2] or field in ("name", "buffer")


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        ("call<u32> step(0)", "9", " step 2"),
        ("0", "call<u32> step(1)", ""),
        ("0", "call<u32> step(call<u32> step(1))", " step 2"),
    ],
)
def test_a_function_may_be_called_step(start: str, end: str, step: str) -> None:
    text = f"program p workgroup(1, 1, 1) {{\n  for k in {start}..{end}{step} {{\n    break;\n  }}\n}}\n"
    require_places(parse(text))
    (loop,) = [place for place in outline(parse(text)).places if isinstance(place.stmt, For)]
    found = Places(text).find(loop.field("stop"))
    assert found is not None
    assert found.code[found.column - 1 :][: found.width] == end


@settings(max_examples=60, deadline=None)
@given(programs(EVERYTHING))
def test_every_statement_of_a_valid_program_has_a_place(generated) -> None:
    require_places(generated.program)


@settings(max_examples=60, deadline=None)
@given(structural_programs())
def test_every_statement_of_any_program_has_a_place(program) -> None:
    require_places(program)


def test_the_parts_of_one_line_share_its_text() -> None:
    """A program can be one line, and each part of it can have a finding."""
    places = Places("program p workgroup(1) { let x = 1; let y = 2; }")
    one, two = places.find("body[0]"), places.find("body[1]")
    assert one is not None
    assert two is not None
    assert (one.line, two.line) == (1, 1)
    assert one.code is two.code
