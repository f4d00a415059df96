"""Rare branches leave the guards that a workgroup does not take as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vyre_driver.vectorization.workgroups.guarded import outside_of_guards
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.text import parse, print_program

FRAME = """program p workgroup(8, 2, 1) {{
  read x: f32[] @0;
  uniform size: u32[2] @1;
  read_write out: f32[len(x)] @2;

  var state = 1;
  if (global_id.y < size[0]) & (global_id.x < size[1]) {{
    {body}
  }}
}}"""
RARE = """let is_rare = x[global_id.x] > 1.0;
let twice = x[global_id.x] + x[global_id.x];
var rare = twice;
if is_rare {
  region "__rarely" {
    rare = call<f32> math.pow_wide(x[global_id.x], 2.5);
  }
}"""
GUARD = "if global_id.y * size[1] + global_id.x < len(out) "


def outside(body: str) -> str:
    program = parse(FRAME.format(body=body))
    made = print_program(replace(program, body=outside_of_guards(program.body, Fresh.of(program))))
    lines = made.split("size[1]) {\n", 1)[1].splitlines()
    return "\n".join(line[4:] for line in lines[:-2])


SECOND = """let again = rare < 0.5;
if again {
  region "__rarely" {
    rare = call<f32> math.pow_wide(rare, twice);
  }
}"""
SPLIT = """var is_rare = false;
var twice = 0.0;
var rare = 0.0;
var operand = 0.0;
var again = false;
%0 = global_id.y * size[1] + global_id.x < len(out);
if %0 {
  is_rare = x[global_id.x] > 1.0;
  twice = x[global_id.x] + x[global_id.x];
  rare = twice;
  operand = x[global_id.x];
}
if is_rare {
  region "__rarely" {
    rare = call<f32> math.pow_wide(operand, 2.5);
  }
}
if %0 {
  again = rare < 0.5;
}
if again {
  region "__rarely" {
    rare = call<f32> math.pow_wide(rare, twice);
  }
}
if %0 {
  out[global_id.x] = rare;
}"""


def test_a_guard_is_split_around_rare_branches_which_load_nothing() -> None:
    assert outside(f"{GUARD}{{\n{RARE}\n{SECOND}\nout[global_id.x] = rare;\n}}") == SPLIT


@pytest.mark.parametrize(
    "guarded",
    [
        f"if out[global_id.x] < 1.0 {{\n{RARE}\nout[global_id.x] = rare;\n}}",
        f"{GUARD}{{\nfor k in 0..4 {{\n{RARE}\nout[k] = rare;\n}}\n}}",
        f"{GUARD}{{\n{RARE}\nreturn;\n}}",
        f"if state == 1 {{\n{RARE}\nstate = 2;\n}}",
        f"{GUARD}{{\nout[global_id.x] = 1.0;\n}} else {{\n{RARE}\nout[global_id.x] = rare;\n}}",
        f"{GUARD}{{\nout[global_id.x] = 1.0;\n}}",
    ],
    ids=["a guard that a store changes", "a loop", "a return", "a variable of the guard", "an else", "no rare branch"],
)
def test_other_guards_stay(guarded: str) -> None:
    program = parse(FRAME.format(body=guarded))
    assert outside_of_guards(program.body, Fresh.of(program)) == program.body
