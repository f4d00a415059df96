"""What a pass is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Facts


@dataclass(frozen=True, slots=True)
class Pass:
    """A rewriting of whole programs: takes the facts of a valid program and gives a valid program that does the same,
    bit for bit. Where nothing changes it gives the same object, so what it gives is a fixed point of it."""

    id: str
    run: Callable[[Facts], Program]
