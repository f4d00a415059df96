"""What the device has words for. Everything that is not here, lowering expresses by what is."""

from __future__ import annotations

from vyre_driver.legalization.target import Groups, Target
from vyre_foundation.dtype import DTYPES, INTEGERS, NUMBERS, DType, bf16, bool_, dtype, f16
from vyre_foundation.ir.stmt import ATOMIC_DTYPES, AtomicOp
from vyre_foundation.ops import OPS, Op, Tier

TYPES = tuple(t for t in DTYPES if t not in (f16, bf16))
"""Numbers that the device counts with; half floats are made of f32 and integers by lowering."""

# fmt: off
INTEGER_WORDS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "neg": "-{0}",
    "and": "{0} & {1}", "or":  "{0} | {1}", "xor": "{0} ^ {1}", "not": "~{0}",
}
COMPARISONS = {
    "eq": "{0} == {1}", "ne": "{0} != {1}",
    "lt": "{0} < {1}",  "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}",
}
# fmt: on
"""The device's own words, for unbounded integers; the printer cuts results to the type. Other ops are calls of their
meaning, which this device has built in."""


def word(op: str, operand: DType) -> str | None:
    """The template of an op in infix form, if the device has one."""
    if op in COMPARISONS and operand in NUMBERS:
        return COMPARISONS[op]
    return INTEGER_WORDS.get(op) if operand in INTEGERS else None


def _is_spelled(op: Op) -> bool:
    """All of the language, and the two shifts without a check of the count, which lowering likes to use."""
    return op.tier is Tier.LANGUAGE or op.id in ("raw_shl", "raw_shr")


def target() -> Target:
    """All of it, for lowering. One work item runs a workgroup, because the device has one finger at a time."""
    return Target(
        name="abacus",
        ops=frozenset((op.id, t) for op in OPS.values() if _is_spelled(op) for t in op.accepts if t in TYPES),
        memory=frozenset(TYPES),
        arithmetic=frozenset((bool_, *TYPES)),
        casts=frozenset((a, b) for a in TYPES for b in TYPES),
        bitcasts=frozenset((a, b) for a in TYPES for b in TYPES if a.bits == b.bits),
        atomics=frozenset((op, dtype(name)) for op in AtomicOp for name in ATOMIC_DTYPES),
        groups=Groups.LOOPS,
    )
