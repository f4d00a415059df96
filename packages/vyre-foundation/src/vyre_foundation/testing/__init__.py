"""Random programs for tests, and the parts of test suites that other packages use.

`generate(seed, profile)`, `recurrence(seed)`, `accumulation(seed)`, `addressing(seed)` and `row_walk(seed)` make
programs; `shrink(program, inputs, still_fails)` makes one smaller.
"""

from vyre_foundation.testing.accumulations import accumulation
from vyre_foundation.testing.addressing import addressing
from vyre_foundation.testing.generator import GeneratedProgram, generate
from vyre_foundation.testing.profile import DEFAULT, EVERYTHING, NARROW, STRAIGHT_LINE, STRUCTURED, WIDE, Profile
from vyre_foundation.testing.recurrences import recurrence
from vyre_foundation.testing.row_walks import row_walk
from vyre_foundation.testing.shrink import shrink

__all__ = [
    "DEFAULT", "EVERYTHING", "NARROW", "STRAIGHT_LINE", "STRUCTURED", "WIDE",
    "GeneratedProgram", "Profile", "accumulation", "addressing", "generate", "recurrence", "row_walk", "shrink",
]  # fmt: skip
