"""All passes together: what they find is complete, and what they give is as if it had been validated."""

import dataclasses
from random import Random

import pytest

from vyre_foundation.ir.stmt import Body, IndirectDispatch, Region, Stmt
from vyre_foundation.ir.walk import with_bodies
from vyre_foundation.optimize import PASSES, facts_after, optimize, steps
from vyre_foundation.passes import Pass
from vyre_foundation.testing import EVERYTHING, generate
from vyre_foundation.testing.echoes import echoed
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
    rounds = len(seen) // len(PASSES)
    assert tuple(stage for stage, _ in seen) == PASSES * rounds
    assert seen[-1][1].program == optimize(facts).program
    last_round = {after.program for _, after in seen[-len(PASSES) :]}
    assert last_round == {seen[-1][1].program}
    for _, after in seen:
        validate(after.program)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 12))])
def test_facts_are_those_of_validation(seed: int) -> None:
    source = generate(30_000 + seed, EVERYTHING).program.validate()
    made = optimize(source)
    fresh = validate(made.program)
    for field in dataclasses.fields(Facts):
        if field.compare:
            assert getattr(made, field.name) == getattr(fresh, field.name), field.name
    assert made.determinism == source.determinism


@pytest.mark.parametrize(
    "seed", [3, 28, *range(32_000, 32_003), *(pytest.param(n, marks=pytest.mark.slow) for n in range(32_003, 32_008))]
)
def test_every_pass_gives_a_valid_program_and_the_ranges_of_validation(seed: int) -> None:
    """Bounds are found from those of the program before: what is taken over is what would be found anew."""
    for _, facts in steps(generate(seed, EVERYTHING).program.validate()):
        fresh = validate(facts.program)
        assert dict(facts.ranges) == dict(fresh.ranges)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 12))])
def test_the_host_sees_the_same_program(seed: int) -> None:
    source = generate(31_000 + seed, EVERYTHING).program
    made = optimize(source.validate()).program
    assert (made.name, made.buffers, made.workgroup_size, made.subgroup_size) == (
        source.name, source.buffers, source.workgroup_size, source.subgroup_size,
    )  # fmt: skip


ROUNDS = """
program p workgroup(8, 1, 1) {
  read a: u32[] @0;
  write out: u32[4] @1;
  private v: u32[4];

  var n = a[0];
  n = 3;
  for i in 0..n {
    v[i] = a[i] + n;
  }
  out[0] = v[2];
}
"""


def test_passes_run_until_none_finds_anything() -> None:
    """The bound of the loop has to be known before it is unrolled, and that before its stores are."""
    made = optimize(parse(ROUNDS).validate()).program
    assert str(made).partition("\n\n")[2] == "  out[0] = a[2] + 3;\n}\n"


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 24))])
def test_an_optimized_program_is_a_fixed_point(seed: int) -> None:
    """Also of random programs, some of which say everything twice, and have regions."""
    source = generate(71_000 + seed, EVERYTHING).program
    if seed % 3 == 1:
        source = echoed(source, seed)
    if seed % 3 == 2:
        source = dataclasses.replace(source, body=in_regions(source.body, Random(seed)))
    made = optimize(source.validate())
    assert optimize(made) is made
    assert optimize(validate(made.program)).program is made.program


@pytest.mark.parametrize("stage", dict.fromkeys(PASSES), ids=lambda stage: stage.name)
def test_a_pass_gives_a_fixed_point_of_it(stage: Pass[Facts]) -> None:
    for seed in range(71_020, 71_030):
        source = generate(seed, EVERYTHING).program
        facts = dataclasses.replace(source, body=in_regions(source.body, Random(seed))).validate()
        made = stage.apply(facts.program, facts)
        assert stage.apply(made, facts_after(facts, made)) is made


def in_regions(body: Body, rng: Random) -> Body:
    """The same statements, some of them in regions."""
    inside = [with_bodies(stmt, lambda nested: in_regions(nested, rng)) for stmt in body]
    out: list[Stmt] = []
    while inside:
        size = 0 if isinstance(inside[0], IndirectDispatch) else rng.choice((0, 0, 1, 3))
        out += [Region("some", tuple(inside[:size]))] if size else inside[:1]
        del inside[: size or 1]
    return tuple(out)
