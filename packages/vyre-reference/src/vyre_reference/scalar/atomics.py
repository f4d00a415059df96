"""What an atomic writes, given what it found."""

from __future__ import annotations

from vyre_foundation.dtype import DType
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.ops.scalar import wrap


def replacement(op: AtomicOp, dtype: DType, old: int, value: int, expected: int | None) -> int:
    """Give the new element where `old` was.

    `expected` is for `COMPARE_EXCHANGE`, which is strong: it never fails without a reason.
    """
    match op:
        case AtomicOp.ADD:
            return wrap(dtype, old + value)
        case AtomicOp.AND:
            return old & value
        case AtomicOp.OR:
            return old | value
        case AtomicOp.XOR:
            return old ^ value
        case AtomicOp.MIN:
            return min(old, value)
        case AtomicOp.MAX:
            return max(old, value)
        case AtomicOp.EXCHANGE:
            return value
        case AtomicOp.COMPARE_EXCHANGE:
            return value if old == expected else old
