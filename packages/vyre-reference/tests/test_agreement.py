"""Two evaluators that were written apart give the same bytes, or the same trap, for the same number of steps."""

from __future__ import annotations

from functools import partial

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import Trapped
from vyre_foundation.testing import EVERYTHING, NARROW, WIDE, generate, recurrence
from vyre_reference import Budget, scalar, vector
from vyre_reference.launch import launch
from vyre_reference.scalar.schedule import Shuffled

PLENTY = 10**9


def outcome(made, evaluate):
    """Outputs or the trap, and the steps that it took."""
    config = DispatchConfig(grid_override=made.grid, fixpoint_iterations=made.iterations)
    budget = Budget(PLENTY)
    inputs = [memoryview(made.inputs[buffer.name]) for buffer in made.program.inputs]
    result: object
    try:
        result = list(map(bytes, launch(made.program, inputs, config, lambda p, m, budget: evaluate(p, m))))
    except Trapped as error:
        result = (error.tag, error.trap_code, error.invocation, error.where)
    return result, budget


def agree(seed, profile):
    agree_on(generate(seed, profile), seed)


def agree_on(made, seed):
    textbook, fast = Budget(PLENTY), Budget(PLENTY)
    expected, _ = outcome(made, partial(scalar.evaluate, budget=textbook))
    assert outcome(made, partial(vector.evaluate, budget=fast))[0] == expected, f"seed {seed}: the evaluators differ"
    assert fast.left == textbook.left, f"seed {seed}: the evaluators count steps differently"
    shuffled = partial(scalar.evaluate, schedule=Shuffled(seed))
    assert outcome(made, shuffled)[0] == expected, f"seed {seed}: the schedule matters"


@pytest.mark.parametrize("block", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 5))])
def test_on_random_programs(block):
    for seed in range(block * 12, block * 12 + 12):
        agree(seed, EVERYTHING)


@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 60), marks=pytest.mark.slow)], ids=str)
def test_on_random_recurrences(seeds):
    for seed in seeds:
        agree_on(recurrence(seed), seed)


@pytest.mark.parametrize("seeds", [range(5000, 5006), pytest.param(range(5006, 5100), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("profile", [NARROW, WIDE], ids=["narrow", "wide"])
def test_on_the_common_types(profile, seeds):
    for seed in seeds:
        agree(seed, profile)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_on_many_random_programs(block):
    for seed in range(100_000 + block * 250, 100_250 + block * 250):
        agree(seed, EVERYTHING)
