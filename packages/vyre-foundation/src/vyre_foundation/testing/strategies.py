"""Hypothesis strategies. They draw a seed, so what Hypothesis shrinks is a seed: shrink the program with `shrink`."""

from __future__ import annotations

from hypothesis import strategies as st

from vyre_foundation.testing.generator import GeneratedProgram, generate
from vyre_foundation.testing.profile import DEFAULT, Profile


def programs(profile: Profile = DEFAULT) -> st.SearchStrategy[GeneratedProgram]:
    """Random programs with a launch each."""
    return st.integers(0, 2**32 - 1).map(lambda seed: generate(seed, profile))
