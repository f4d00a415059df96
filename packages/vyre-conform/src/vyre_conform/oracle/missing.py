"""Oracles that are not installed, and which cells are weaker without them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Missing:
    """What a run lacks, and the remedy."""

    distribution: str
    effect: str
    fix: str

    def __str__(self) -> str:
        return f"{self.distribution} is not installed: {self.effect}. Fix: {self.fix}"


# fmt: off
ORACLES = (
    Missing("gmpy2", "no MPFR says what fma of f64 and elementary functions give, only the evaluators do, which share "
                     "the compositions that are judged", "pip install 'vyre-conform[oracle]'"),
    Missing("vyre-math", "its functions (exp, sin, pow, …) are not judged at all", "pip install vyre-math"),
)
# fmt: on


def missing(versions: Iterable[str]) -> list[Missing]:
    """The oracles that are not among the distributions that took part in a run."""
    present = set(versions)
    return [oracle for oracle in ORACLES if oracle.distribution not in present]
