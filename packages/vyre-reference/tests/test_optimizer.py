"""Translation validation: random programs give the same bytes, or the same trap, before and after every pass.

The programs and their inputs hold NaNs, both zeros, infinities, subnormal numbers, divisors of zero, shifts beyond the
width, indices out of bounds, barriers, atomics and traps.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import Trapped
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Trap
from vyre_foundation.ir.walk import statements
from vyre_foundation.optimize import (
    PASSES,
    barriers,
    dead,
    dependence,
    effects,
    forward,
    layout,
    optimize,
    promote,
    unroll,
)
from vyre_foundation.passes import Pass
from vyre_foundation.testing import EVERYTHING, GeneratedProgram, accumulation, generate
from vyre_foundation.testing.echoes import echoed
from vyre_foundation.validate import Facts, InvalidProgram, validate
from vyre_reference import scalar, vector
from vyre_reference.launch import Evaluator, launch

LARGE = replace(EVERYTHING, max_invocations=24, max_statements=60)
STAGES = {stage.name: stage for stage in PASSES} | {
    "all": Pass("all", "The optimizer", lambda program, facts: optimize(facts).program)
}
"""The passes, and all of them together."""


def drawn(seed: int, stage: Pass[Facts]) -> GeneratedProgram:
    """A random program; every third one repeats itself."""
    if stage.name == "promote" or (stage.name == "all" and seed % 4 == 3):
        return accumulation(seed)
    made = generate(seed, LARGE if seed % 2 else EVERYTHING)
    return replace(made, program=echoed(made.program, seed)) if seed % 3 == 0 else made


def outcome(made: GeneratedProgram, program: Program, evaluate: Evaluator) -> object:
    """What `program` gives for the launch that was made for another."""
    config = DispatchConfig(grid_override=made.grid, fixpoint_iterations=made.iterations)
    inputs = [memoryview(made.inputs[buffer.name]) for buffer in program.inputs]
    try:
        return list(map(bytes, launch(program, inputs, config, lambda plan, memory, budget: evaluate(plan, memory))))
    except Trapped as trap:
        return trap.tag, trap.trap_code, trap.invocation


def survives(stage: Pass[Facts], seed: int, evaluate: Evaluator = vector.evaluate) -> bool:
    """Whether a random program means the same behind `stage`; None of the rest of its promises may be broken."""
    return is_kept(stage, drawn(seed, stage), evaluate) is not False


def is_kept(stage: Pass[Facts], made: GeneratedProgram, evaluate: Evaluator = vector.evaluate) -> bool | None:
    """Whether what `stage` makes of a program means the same; None if it changes nothing."""
    facts = made.program.validate()
    program = stage.apply(facts.program, facts)
    if program is made.program:
        return None
    keeps_its_promises(stage, facts, program)
    return outcome(made, program, evaluate) == outcome(made, made.program, evaluate)


def keeps_its_promises(stage: Pass[Facts], facts: Facts, program: Program) -> None:
    """Valid, no less deterministic, the same for the host; and a fixed point, if it is one pass.

    Other spellings of an index may be beyond the proof of determinism; the facts keep what was proven of the source.
    """
    fresh = validate(program)
    if stage.name not in ("simplify", "all"):
        assert fresh.determinism.is_deterministic or not facts.determinism.is_deterministic
    assert (program.buffers, program.workgroup_size) == (facts.program.buffers, facts.program.workgroup_size)
    assert stage.name == "all" or stage.apply(fresh.program, fresh) is program


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_random_programs_keep_their_meaning(stage: Pass[Facts]) -> None:
    """Enough of them are changed that this shows something."""
    changed = 0
    for seed in range(20_000, 20_015):
        kept = is_kept(stage, drawn(seed, stage))
        assert kept is not False, f"seed {seed}"
        changed += kept is not None
    assert changed >= 2


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_by_the_textbook(stage: Pass[Facts]) -> None:
    for seed in range(21_000, 21_002):
        assert survives(stage, seed, scalar.evaluate), f"seed {seed}"


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_many_random_programs_keep_their_meaning(block: int) -> None:
    for seed in range(200_000 + 50 * block, 200_050 + 50 * block):
        for stage in STAGES.values():
            assert survives(stage, seed), f"{stage.name}: seed {seed}"


# ── planted bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────

BUGS = {
    "what a loop changes is kept": (20_000, "forward", forward._Forward, "_forget", lambda *_: None),
    "no two indices are the same": (20_090, "forward", forward, "are_apart", lambda *_: True),
    "every condition keeps its value": (20_050, "branches", dependence.Dependences, "is_stable", lambda *_: True),
    "values move past writes": (20_250, "copies", layout.Layout, "changes_between", lambda *_: False),
    "nothing lies between barriers": (20_040, "barriers", barriers._Merging, "_is_idle", lambda *_: True),
    "loops change nothing": (20_010, "hoist", effects.EffectsOf, "__call__", lambda *_: effects.NO_EFFECTS),
    "elements of one buffer are never the same": (20_000, "promote", promote, "are_apart", lambda *_: True),
    "every loop has an iteration": (20_000, "promote", promote.Facts, "has_iteration", lambda *_: True),
    "every store is made": (
        20_110,
        "promote",
        promote._Promote,
        "_in_each_iteration",
        lambda _, body: statements(body),
    ),
    "a local is dropped out of bounds": (20_030, "promote", promote.Facts, "in_bounds", lambda *_: True),
    "traps have no effect": (20_000, "dead", dead, "_is_effect", lambda stmt: not isinstance(stmt, Trap)),
    "jumps belong to no loop": (20_000, "unroll", unroll, "_is_left_early", lambda *_: False),
}
"""The first seed to try, close to one that finds it, the pass, and what is put in whose place."""


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_a_planted_bug_is_found(bug: tuple[int, str, object, str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    first, id, owner, name, wrong = bug
    monkeypatch.setattr(owner, name, wrong)

    def is_found(seed: int) -> bool:
        try:
            return not survives(STAGES[id], seed)
        except (AssertionError, InvalidProgram):
            return True

    assert any(is_found(seed) for seed in range(first, first + 400))
