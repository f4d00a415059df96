"""Hypothesis strategies. They draw a seed, so what Hypothesis shrinks is a seed: shrink the program with `shrink`."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from vyre_foundation.ir.program import Program
from vyre_foundation.testing.generator import GeneratedProgram, generate
from vyre_foundation.testing.profile import DEFAULT, Profile
from vyre_foundation.testing.structural import structural_program


def programs(profile: Profile = DEFAULT) -> st.SearchStrategy[GeneratedProgram]:
    """Random programs with a launch each."""
    return st.integers(0, 2**32 - 1).map(lambda seed: generate(seed, profile))


def structural_programs(size: int = 24) -> st.SearchStrategy[Program]:
    """Programs of every shape that the constructors allow; most are not valid."""
    return st.builds(lambda seed, size: structural_program(Random(seed), size), st.integers(0), st.integers(1, size))
