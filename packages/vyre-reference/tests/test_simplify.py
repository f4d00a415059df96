"""Translation validation: random programs give the same bytes, or the same trap, before and after simplification."""

from __future__ import annotations

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import Trapped
from vyre_foundation.ir.program import Program
from vyre_foundation.optimize.simplify import simplify
from vyre_foundation.testing import EVERYTHING, NARROW, STRAIGHT_LINE, GeneratedProgram, Profile, generate
from vyre_reference import scalar, vector
from vyre_reference.launch import launch


def outcome(made: GeneratedProgram, program: Program, evaluate):
    """The outputs, or the trap, of `program` in the launch that was made for another."""
    config = DispatchConfig(grid_override=made.grid, fixpoint_iterations=made.iterations)
    inputs = [memoryview(made.inputs[buffer.name]) for buffer in program.inputs]
    try:
        return list(map(bytes, launch(program, inputs, config, lambda p, m, budget: evaluate(p, m))))
    except Trapped as error:
        return error.tag, error.trap_code, error.invocation


def check(seed: int, profile: Profile, evaluate=vector.evaluate) -> None:
    made = generate(seed, profile)
    simplified = simplify(made.program, made.program.validate())
    before, after = (outcome(made, program, evaluate) for program in (made.program, simplified))
    assert before == after, f"seed {seed}\n{made.program}\n{simplified}"


@pytest.mark.parametrize("block", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))])
def test_on_random_programs(block):
    for seed in range(7000 + block * 20, 7000 + block * 20 + 20):
        check(seed, EVERYTHING)


@pytest.mark.parametrize("profile", [NARROW, STRAIGHT_LINE], ids=["narrow", "straight-line"])
def test_on_other_profiles(profile):
    for seed in range(8000, 8012):
        check(seed, profile)


def test_by_the_textbook_evaluator():
    for seed in range(9000, 9012):
        check(seed, EVERYTHING, scalar.evaluate)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_on_many_random_programs(block):
    for seed in range(200_000 + block * 250, 200_250 + block * 250):
        check(seed, EVERYTHING)
