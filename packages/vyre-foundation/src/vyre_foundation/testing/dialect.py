"""Three compositions that random programs call, so that calls are expanded and evaluated in tests."""

from __future__ import annotations

from vyre_foundation.dialect import Composition, register
from vyre_foundation.dtype import FLOATS, INTEGERS, NUMBERS
from vyre_foundation.ir.expr import Apply, Call, Expr, Select, literal
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

register(COMPOSITIONS)
