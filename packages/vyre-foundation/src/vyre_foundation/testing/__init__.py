"""Random programs for tests: `generate(seed, profile)` and `shrink(program, inputs, still_fails)`."""

from vyre_foundation.testing.generator import GeneratedProgram, generate
from vyre_foundation.testing.profile import DEFAULT, EVERYTHING, NARROW, STRAIGHT_LINE, STRUCTURED, WIDE, Profile
from vyre_foundation.testing.shrink import shrink

__all__ = [
    "DEFAULT", "EVERYTHING", "NARROW", "STRAIGHT_LINE", "STRUCTURED", "WIDE",
    "GeneratedProgram", "Profile", "generate", "shrink",
]  # fmt: skip
