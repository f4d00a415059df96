"""The optimizer: from a program one that does the same, bit for bit, with less."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vyre_foundation.ir.argument import require
from vyre_foundation.ir.program import Program
from vyre_foundation.optimize.analysis import facts_after, finish
from vyre_foundation.optimize.barriers import BARRIERS
from vyre_foundation.optimize.branches import BRANCHES
from vyre_foundation.optimize.copies import COPIES
from vyre_foundation.optimize.dead import DEAD
from vyre_foundation.optimize.forward import FORWARD
from vyre_foundation.optimize.hoist import HOIST
from vyre_foundation.optimize.promote import PROMOTE
from vyre_foundation.optimize.regions import REGIONS
from vyre_foundation.optimize.simplify import SIMPLIFY
from vyre_foundation.optimize.unroll import UNROLL
from vyre_foundation.passes import Pass, Watch, ignore
from vyre_foundation.validate.facts import Facts

__all__ = ["PASSES", "facts_after", "optimize", "steps"]

PASSES: tuple[Pass[Facts], ...] = (
    REGIONS,
    BRANCHES,
    COPIES,
    SIMPLIFY,
    BRANCHES,
    UNROLL,
    FORWARD,
    COPIES,
    SIMPLIFY,
    PROMOTE,
    HOIST,
    BARRIERS,
    DEAD,
)  # fmt: skip
"""In the order in which they run. A pass may stand here twice, because others make work for it."""

MAX_ITERATIONS = 16
"""How often all passes run at most. Programs of people need one or two iterations, random ones up to six."""


def optimize(facts: Facts, watch: Watch[Facts] = ignore, passes: Sequence[Pass[Facts]] = PASSES) -> Facts:
    """The facts of the program after `passes`; the same object where nothing changed."""
    require(optimize, Facts, facts)
    result = facts
    for stage, result in steps(facts, passes):
        watch(stage, result.program)
    return result if result is facts else finish(result)


def steps(facts: Facts, passes: Sequence[Pass[Facts]] = PASSES) -> Iterator[tuple[Pass[Facts], Facts]]:
    """Every pass in turn, with the facts of the program as it leaves it, until none of them finds anything.

    Passes make work for each other, so all come again, each only where the program is not the one that it left.
    """
    made: dict[Pass[Facts], Program] = {}
    for _ in range(MAX_ITERATIONS):
        for stage in passes:
            if made.get(stage) is not facts.program:  # else it would find nothing
                facts = facts_after(facts, stage.apply(facts.program, facts))
                made[stage] = facts.program
            yield stage, facts
        if all(program is facts.program for program in made.values()):
            break
