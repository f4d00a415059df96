"""What the passes that lower one program share."""

from __future__ import annotations

from dataclasses import dataclass

from vyre_driver.legalization.forms.forms import Forms
from vyre_driver.legalization.lowered import ITEMS
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.target import Arrangement, Target
from vyre_foundation.ir.program import Program


@dataclass(slots=True)
class Context:
    """What the passes that lower one program share.

    `source` is the program that is lowered, `wanted` how its workgroups are to run. The pass that arranges them sets
    `arrangement`, which says how they do.
    """

    source: Program
    target: Target
    forms: Forms
    ranges: Ranges
    wanted: Arrangement
    arrangement: Arrangement = ITEMS
