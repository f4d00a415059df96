"""Values as they lie in memory, and rows of floats that tell one rounding from two."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from vyre_conform.address import Address
from vyre_foundation.dtype import DType, f64
from vyre_foundation.ops.scalar import Scalar, from_bits, round_float, to_bits


def pack(dtype: DType, values: Iterable[Scalar]) -> bytes:
    """Values as they lie in memory."""
    return b"".join(to_bits(dtype, value).to_bytes(dtype.size, "little") for value in values)


def pack_bits(dtype: DType, patterns: Iterable[int]) -> bytes:
    """Patterns as they lie in memory, NaN payloads included."""
    return b"".join(bits.to_bytes(dtype.size, "little") for bits in patterns)


def by_needs(at: Address, types: Iterable[DType], beside: Iterable[DType] = ()) -> dict[Address, list[DType]]:
    """The types that can stand in one program, by the address of that program.

    A device that lacks f64 or 64-bit integers refuses a program that has one of them, and nothing of it is judged.
    Types that every device has, and those that need no more than the types `beside` them in all programs, stay at `at`.
    """
    had = {_needs(dtype) for dtype in beside} | {""}
    found: dict[Address, list[DType]] = {}
    for dtype in types:
        needs = _needs(dtype)
        own = at if needs in had else Address(at.group, at.name, (*at.keys, ("needs", needs)))
        found.setdefault(own, []).append(dtype)
    return found


def _needs(dtype: DType) -> str:
    return "" if dtype.bits < 64 else "f64" if dtype is f64 else "int64"


def near_rows(dtype: DType, arity: int, rng: Random) -> list[tuple[int, ...]]:
    """Rows of floats that nearly cancel: what tells one rounding from two."""
    rows: list[tuple[int, ...]] = []
    for _ in range(64):
        x = to_bits(dtype, from_bits(dtype, _moderate(rng, dtype)))
        y = x ^ rng.getrandbits(3)
        if arity == 2:
            rows.append((x, y ^ rng.choice((0, 1 << (dtype.bits - 1)))))
        else:
            exact = float(from_bits(dtype, x)) * float(from_bits(dtype, y))
            rows.append((x, y, _negated_rounding(dtype, exact)))
    return rows + [_twice_rounded(dtype, rng) for _ in range(16)] if arity == 3 else rows


def _twice_rounded(dtype: DType, rng: Random) -> tuple[int, ...]:
    """x * y + z is next to the middle of two numbers, so close that a wider type rounds it to the middle first."""
    assert dtype.format is not None
    precision = dtype.format.precision
    scale, near = 2.0 ** rng.randint(-4, 4), 2.0 ** -(precision * 2 // 3)
    x = rng.choice((1.0, -1.0)) * (1 + near) * scale
    y = (1 - near) * 2.0**-precision / scale
    return to_bits(dtype, x), to_bits(dtype, y), _moderate(rng, dtype) | 1


def _moderate(rng: Random, dtype: DType) -> int:
    """The pattern of a number between 1 and 2."""
    assert dtype.format is not None
    mantissa = dtype.format.precision - 1
    return to_bits(dtype, 1.0) | rng.getrandbits(mantissa)


def _negated_rounding(dtype: DType, value: float) -> int:
    return to_bits(dtype, -round_float(dtype, value))
