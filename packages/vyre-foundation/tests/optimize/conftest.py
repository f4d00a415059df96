"""Programs of a few statements over buffers of every kind, and what a pass makes of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vyre_foundation.ir.program import Program
from vyre_foundation.passes import Pass
from vyre_foundation.text import parse
from vyre_foundation.validate import Facts, validate

HEADER = """
program p workgroup(8, 1, 1) subgroup(4) {
  read a: u32[] @0;
  read f: f32[] @1;
  read_write b: u32[16] @2;
  read_write g: f32[] @3;
  write out: u32[16] @4;
  scratch s: u32[16] @5;
  constant table: u32[2] = hex
    "0100000002000000";
  workgroup w: u32[16];
  private v: u32[4];
"""

Becomes = Callable[[str, str], None]


def program(statements: str) -> Program:
    return parse(HEADER + statements + "\n}\n")


@pytest.fixture
def becomes(stage: Pass[Facts]) -> Becomes:
    """``becomes(before, after)``: that is what `stage`, a fixture of the test module, makes of the statements."""

    def check(before: str, after: str) -> None:
        source = program(before)
        made = stage.apply(source, source.validate())
        assert str(made) == str(program(after))
        facts = validate(made)
        assert stage.apply(made, facts) is made, "not idempotent"
        assert (made is source) == (str(made) == str(source)), "not the same object although nothing changed"

    return check


@pytest.fixture
def stays(becomes: Becomes) -> Callable[[str], None]:
    """``stays(statements)``: the pass finds nothing to do."""
    return lambda statements: becomes(statements, statements)
