"""Negative controls: backends with planted faults, each of which the suite has to find."""

from __future__ import annotations

from vyre_conform.controls.expressions import FAULTS as IN_EXPRESSIONS
from vyre_conform.controls.fault import Fault
from vyre_conform.controls.hunt import hunt, run_controls
from vyre_conform.controls.launches import FAULTS as IN_LAUNCHES
from vyre_conform.controls.statements import FAULTS as IN_STATEMENTS

FAULTS: tuple[Fault, ...] = (*IN_EXPRESSIONS, *IN_STATEMENTS, *IN_LAUNCHES)

__all__ = ["FAULTS", "Fault", "hunt", "run_controls"]
