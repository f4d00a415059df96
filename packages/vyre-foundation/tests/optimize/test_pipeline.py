"""All passes together: what they find is complete, and what they give is as if it had been validated."""

import dataclasses

import pytest

from vyre_foundation.optimize import PASSES, optimize, steps
from vyre_foundation.testing import EVERYTHING, generate
from vyre_foundation.text import parse
from vyre_foundation.validate import Facts, validate

REDUCTION = """
program sum workgroup(8, 1, 1) {
  read x: u32[] @0;
  write out: u32[1] @1;
  workgroup part: u32[8];

  let n = len(x);
  let i = local_id.x;
  region "load" {
    var mine = 0;
    if i < n {
      mine = x[i];
    }
    part[i] = mine;
  }
  barrier workgroup;
  for k in 0..3 {
    let distance = 4 >> k;
    if i < distance {
      part[i] = part[i] + part[i + distance];
    }
    barrier workgroup;
  }
  let unread = part[1];
  if i == 0 {
    out[0] = part[0];
  }
  barrier workgroup;
}
"""

OPTIMIZED = """
program sum workgroup(8, 1, 1) {
  read x: u32[] @0;
  write out: u32[1] @1;
  workgroup part: u32[8];

  var mine = 0;
  if local_id.x < len(x) {
    mine = x[local_id.x];
  }
  part[local_id.x] = mine;
  barrier workgroup;
  if local_id.x < 4 {
    part[local_id.x] = part[local_id.x] + part[local_id.x + 4];
  }
  barrier workgroup;
  if local_id.x < 2 {
    part[local_id.x] = part[local_id.x] + part[local_id.x + 2];
  }
  barrier workgroup;
  if local_id.x < 1 {
    part[local_id.x] = part[local_id.x] + part[local_id.x + 1];
  }
  barrier workgroup;
  if local_id.x == 0 {
    out[0] = part[0];
  }
}
"""


def test_a_reduction_becomes_its_phases() -> None:
    assert str(optimize(parse(REDUCTION).validate()).program) == str(parse(OPTIMIZED))


def test_a_program_with_nothing_to_do_is_kept() -> None:
    facts = parse(OPTIMIZED).validate()
    assert optimize(facts) is facts


def test_every_step_can_be_seen() -> None:
    facts = parse(REDUCTION).validate()
    seen = list(steps(facts))
    assert tuple(stage for stage, _ in seen) == PASSES
    assert seen[-1][1].program == optimize(facts).program
    for _, after in seen:
        validate(after.program)


@pytest.mark.parametrize("seed", range(12))
def test_facts_are_those_of_validation(seed: int) -> None:
    source = generate(30_000 + seed, EVERYTHING).program.validate()
    made = optimize(source)
    fresh = validate(made.program)
    for field in dataclasses.fields(Facts):
        if field.compare:
            assert getattr(made, field.name) == getattr(fresh, field.name), field.name
    assert made.determinism == source.determinism


@pytest.mark.parametrize("seed", range(12))
def test_the_host_sees_the_same_program(seed: int) -> None:
    source = generate(31_000 + seed, EVERYTHING).program
    made = optimize(source.validate()).program
    assert (made.name, made.buffers, made.workgroup_size, made.subgroup_size) == (
        source.name, source.buffers, source.workgroup_size, source.subgroup_size,
    )  # fmt: skip
