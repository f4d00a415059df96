"""Every conversion and reinterpretation between all types: exhaustive from 8 and 16 bits, boundaries from the rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vyre_foundation.build import program
from vyre_foundation.dtype import DTYPES, DType, bf16, bool_, f16, f32, f64, i64, u8, u16, u32, u64
from vyre_foundation.ops.scalar import cast, from_bits, to_bits

LANES = 64
MISSING = {"poor": {u64, i64, f64}, "bare": {f64}, "full": set(), "rich": set()}


def sources(dtype: DType) -> list[int]:
    """Patterns of `dtype`: all where there are few, else every power of two and tie of every target, and neighbours."""
    if dtype.bits <= 16:
        return [0, 1] if dtype is bool_ else list(range(1 << dtype.bits))
    random = np.random.default_rng(dtype.tag)
    edges = set()
    for exponent in range(-160, 130):
        for factor in (
            1.0,
            1.5,
            1 + 2.0**-8,
            1 + 2.0**-9,
            1 + 2.0**-11,
            1 + 2.0**-12,
            1 + 2.0**-24,
            2 - 2.0**-11,
            2 - 2.0**-24,
        ):
            value = math.ldexp(factor, exponent)
            if dtype.is_float:
                bits = to_bits(dtype, cast(f64, dtype, value))
                edges |= {bits, bits + 1, bits - 1, bits | 1 << dtype.bits - 1}
            elif value < 1 << dtype.bits:
                edges |= {int(value), int(value) + 1, int(value) - 1, -int(value)}
    special = [dtype.nan_bits, dtype.nan_bits + 5, dtype.nan_bits | 1 << dtype.bits - 1] if dtype.is_float else []
    mask = (1 << dtype.bits) - 1
    words = [int(w) & mask for w in random.integers(0, 2**64, 400, dtype=np.uint64)]
    return sorted(x & mask for x in (*edges, *special)) + words


CASES = [
    pytest.param(dialect, source, id=f"{dialect}-{source}")
    for dialect, missing in MISSING.items()
    for source in DTYPES
    if source not in missing
]


@pytest.mark.parametrize(("dialect", "source"), CASES)
def test_every_conversion_keeps_its_meaning(dialect, source, case, check):
    """Values are also shown as f32 or u32, so that nothing outside of the type hides in a register."""
    targets = [t for t in DTYPES if t is not source and t not in MISSING[dialect]]
    data = b"".join(x.to_bytes(source.size, "little") for x in sources(source))
    with program("casts", LANES) as p:
        a = p.read("a", source)
        i = p.global_id(0)
        x = p.let(a[i])
        for target in targets:
            value = p.let(x.cast(target))
            p.write(f"to_{target}", target, like=a)[i] = value
            if target.bits < 32 and target is not bool_:
                shown = f32 if target.is_float else u32
                p.write(f"shown_{target}", shown, like=a)[i] = value.cast(shown)
            if target.bits == source.bits and bool_ not in (source, target):
                p.write(f"bits_{target}", target, like=a)[i] = x.bitcast(target)
    check(case(p.build(), {"a": data}), dialect)


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        (f32, math.nan, u32, 0),
        (f32, -1.0, u32, 0),
        (f32, 4294967296.0, u32, 4294967295),
        (f32, 9.3e18, i64, 2**63 - 1),
        (f32, -9.3e18, i64, -(2**63)),
        (f32, 1.9e19, u64, 2**64 - 1),
        (f32, 300.0, u8, 255),
        (f64, 65519.99999, f16, 65504.0),
        (f64, 65520.0, f16, math.inf),
        (f64, 1 + 2.0**-11 + 2.0**-40, f16, 1 + 2.0**-10),  # two roundings would give 1
        (f64, 1 + 2.0**-8 + 2.0**-40, bf16, 1 + 2.0**-7),
        (u64, 2**63 + 2**55 + 1, bf16, 2.0**63 * (1 + 2.0**-7)),
        (u32, 65519, f16, 65504.0),
        (u32, 65520, f16, math.inf),
        (u16, 65535, bf16, 65536.0),
    ],
)
def test_witnesses(source, value, target, expected, case, dialects):
    with program("witness", 1) as p:
        a = p.read("a", source)
        p.write("out", target, 1)[0] = a[0].cast(target)
    data = to_bits(source, value).to_bytes(source.size, "little")
    launch = case(p.build(), {"a": data})
    outcome = launch.run_lowered(launch.lower(dialects["full"].target()))
    assert from_bits(target, int.from_bytes(outcome["out"], "little")) == expected
