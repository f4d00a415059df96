"""The digest: a number in which everything that an invocation computes leaves a trace.

Random values mostly vanish: no store takes them, or a comparison swallows them. The digest is a u32 that grows by each
value that is shown to it, and goes to an output of its own, so that a wrong bit anywhere is a wrong byte.
"""

from __future__ import annotations

from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Local, literal
from vyre_foundation.ir.stmt import Assign, Stmt, Var
from vyre_foundation.ops import OPS

DIGEST = Local("digest", u32)
_START = 0x811C9DC5
_FACTOR = 0x01000193


def begin() -> Stmt:
    """The declaration."""
    return Var(DIGEST.name, literal(u32, _START))


def show(value: Expr) -> Stmt:
    """Mix a value in: ``digest = (digest ^ bits) * factor``."""
    mixed = Apply(OPS["xor"], DIGEST, as_u32(value))
    return Assign(DIGEST.name, Apply(OPS["mul"], mixed, literal(u32, _FACTOR)))


def as_u32(value: Expr) -> Expr:
    """All bits of a value in 32."""
    dtype: DType = value.dtype
    bits = Bitcast(dtype.unsigned, value) if dtype.is_float else value
    if dtype.bits == 64:
        bits = Apply(OPS["xor"], bits, Apply(OPS["shr"], bits, literal(bits.dtype, 32)))
    return bits if bits.dtype is u32 else Cast(u32, bits)
