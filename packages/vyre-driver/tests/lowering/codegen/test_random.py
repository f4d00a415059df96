"""Translation validation: random programs give the same bytes before and after legalization, on every target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vyre_foundation.dtype import bf16, bool_, f16, f32, f64, i8, i16, i32, u8, u16, u32
from vyre_foundation.testing import EVERYTHING, generate

SMALL = replace(EVERYTHING, max_invocations=48, max_statements=24)
PROFILES = {
    "full": SMALL,
    "rich": SMALL,
    "shuffling": replace(SMALL, grid_barriers=False),
    "vectors": SMALL,
    "loops": replace(SMALL, max_invocations=32),
    "single": SMALL.without(f64),
    "bare": SMALL.without(f64),
    "poor": replace(SMALL, traps=False, subgroups=False).only((bool_, u32, i32, f32, f16, bf16, u8, i8, u16, i16)),
}


@pytest.mark.parametrize("dialect", PROFILES)
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 24))])
def test_random_programs_keep_their_meaning(seed, dialect, case, check):
    generated = generate(1000 + seed, PROFILES[dialect])
    launch = case(generated.program, generated.inputs, generated.grid, generated.iterations)
    check(launch, dialect)
