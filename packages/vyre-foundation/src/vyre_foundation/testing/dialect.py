"""Compositions for tests: three that random programs call, and one with attributes and a reference."""

from __future__ import annotations

from vyre_foundation.dialects import Composition, register
from vyre_foundation.dialects.attributes import AttrSchema, AttrType
from vyre_foundation.dialects.lowering import LoweringTable
from vyre_foundation.dtype import FLOATS, INTEGERS, NUMBERS, u32
from vyre_foundation.ir.expr import Apply, Call, Expr, Literal, Select, literal
from vyre_foundation.ops import OPS


def _clamp(x: Expr, low: Expr, high: Expr) -> Expr:
    return Apply(OPS["min"], Apply(OPS["max"], x, low), high)


def _gray(x: Expr) -> Expr:
    return Apply(OPS["xor"], x, Apply(OPS["shr"], x, literal(x.dtype, 1)))


def _ramp(x: Expr) -> Expr:
    """Nested: calls `testing.clamp`."""
    zero, one = literal(x.dtype, 0.0), literal(x.dtype, 1.0)
    return Select(Apply(OPS["is_nan"], x), zero, Call("testing.clamp", x.dtype, x, zero, one))


CLAMP = Composition("testing.clamp", {(t, t, t): t for t in NUMBERS}, _clamp, "min(max(x, low), high)")
GRAY = Composition("testing.gray", {(t,): t for t in INTEGERS}, _gray, "x ^ (x >> 1)")
RAMP = Composition("testing.ramp", {(t,): t for t in FLOATS}, _ramp, "x clamped to 0 … 1")

COMPOSITIONS = (CLAMP, GRAY, RAMP)
"""What random programs call."""


def _mixed(x: Expr, y: Expr, order: Expr, factor: Expr) -> Expr:
    """``x * factor + y`` or ``y * factor + x``."""
    assert isinstance(order, Literal)
    first, second = (x, y) if order.value == 0 else (y, x)
    return Apply(OPS["add"], Apply(OPS["mul"], first, factor), second)


def _mixed_reference(x: int, y: int, *, order: str, factor: int) -> int:
    first, second = (x, y) if order == "forward" else (y, x)
    return (first * factor + second) % 2**32


MIXED = Composition(
    "testing.mixed",
    {(u32, u32, u32, u32): u32},
    _mixed,
    "x * factor + y, in either order",
    attrs=(
        AttrSchema("order", AttrType(choices=("forward", "backward")), "forward"),
        AttrSchema("factor", AttrType(u32), 0x9E3779B1),
    ),
    lowerings=LoweringTable(reference=_mixed_reference),
)

register((*COMPOSITIONS, MIXED))
