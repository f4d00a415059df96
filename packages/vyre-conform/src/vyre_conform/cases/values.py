"""Operands: witnesses first, then boundaries against boundaries, then random ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from random import Random

from vyre_foundation.dtype import DType
from vyre_foundation.ops import Op
from vyre_foundation.ops.scalar import Scalar, from_bits, to_bits
from vyre_foundation.testing.values import random_bits, special_bits

ROWS = 1500
"""Rows of one case: a multiple of no workgroup size, so the last workgroup is never full."""


def pack(dtype: DType, values: Iterable[Scalar]) -> bytes:
    """Values as they lie in memory."""
    return b"".join(to_bits(dtype, value).to_bytes(dtype.size, "little") for value in values)


def pack_bits(dtype: DType, patterns: Iterable[int]) -> bytes:
    """Patterns as they lie in memory, NaN payloads included."""
    return b"".join(bits.to_bytes(dtype.size, "little") for bits in patterns)


def unary_bits(dtype: DType, rng: Random, rows: int = ROWS) -> list[int]:
    """All patterns of a small type; else the special ones and random ones."""
    if dtype.bits <= 8:
        return list(range(1 << dtype.bits)) if dtype.bits == 8 else [0, 1, 0, 1]
    special = list(special_bits(dtype))
    return special + [random_bits(rng, dtype) for _ in range(max(0, rows - len(special)))]


def operand_rows(op: Op, dtype: DType, rng: Random) -> list[tuple[int, ...]]:
    """Patterns for the operands of `op` on `dtype`, one row for each evaluation."""
    rows = [tuple(to_bits(dtype, v) for v in w.operands) for w in op.witnesses if w.dtype is dtype]
    if op.arity == 1:
        return rows + [(bits,) for bits in unary_bits(dtype, rng)]
    special = special_bits(dtype)
    crossed = list(product(_spread(special, rng, (0, 0, 34, 10)[op.arity]), repeat=op.arity))
    drawn = [tuple(random_bits(rng, dtype) for _ in range(op.arity)) for _ in range(max(100, ROWS - len(crossed)))]
    return [*rows, *crossed, *_near(op, dtype, rng), *drawn]


def _spread(special: Sequence[int], rng: Random, count: int) -> list[int]:
    """`count` of the special patterns, the first of them always (they are nearest to zero)."""
    if len(special) <= count:
        return list(special)
    first = list(special[: count // 3])
    return first + rng.sample(list(special[count // 3 :]), count - len(first))


def _near(op: Op, dtype: DType, rng: Random) -> list[tuple[int, ...]]:
    """Rows in which operands nearly cancel: what tells one rounding from two."""
    if not dtype.is_float:
        return []
    rows: list[tuple[int, ...]] = []
    for _ in range(64):
        x = to_bits(dtype, from_bits(dtype, _moderate(rng, dtype)))
        y = x ^ rng.getrandbits(3)
        if op.arity == 2:
            rows.append((x, y ^ rng.choice((0, 1 << (dtype.bits - 1)))))
        else:
            exact = float(from_bits(dtype, x)) * float(from_bits(dtype, y))
            rows.append((x, y, _negated_rounding(dtype, exact)))
    return rows


def _moderate(rng: Random, dtype: DType) -> int:
    """The pattern of a number between 1 and 2."""
    assert dtype.format is not None
    mantissa = dtype.format.precision - 1
    return to_bits(dtype, 1.0) | rng.getrandbits(mantissa)


def _negated_rounding(dtype: DType, value: float) -> int:
    from vyre_foundation.ops.scalar import round_float

    return to_bits(dtype, -round_float(dtype, value))
