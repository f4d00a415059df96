"""The optimizer: from a program one that does the same, bit for bit, with less."""

from __future__ import annotations

from vyre_foundation.optimize.analysis import facts_after
from vyre_foundation.optimize.regions import REGIONS
from vyre_foundation.optimize.stage import Pass
from vyre_foundation.validate.facts import Facts

__all__ = ["PASSES", "Pass", "optimize"]

PASSES: tuple[Pass, ...] = (
    REGIONS,
)  # fmt: skip
"""In the order in which they run."""


def optimize(facts: Facts) -> Facts:
    """The facts of the optimized program; the same object where nothing changed."""
    for stage in PASSES:
        facts = facts_after(facts, stage.run(facts))
    return facts
