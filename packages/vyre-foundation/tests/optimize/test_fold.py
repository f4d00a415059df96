"""Folding gives what the op table says, and nothing where that is not known."""

from __future__ import annotations

import pytest

from vyre_foundation.dtype import bool_, f32, i32, u8, u32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Literal, Local, literal
from vyre_foundation.ops import OPS, Op
from vyre_foundation.ops.scalar import to_bits
from vyre_foundation.optimize.fold import canonical, folded


@pytest.mark.parametrize("row", OPS.values(), ids=OPS)
def test_the_witnesses_of_every_op(row: Op) -> None:
    for witness in row.witnesses:
        node = Apply(row, *[literal(witness.dtype, value) for value in witness.operands])
        result = row.results[witness.dtype]
        assert folded(node) is Literal(result, to_bits(result, witness.result))


@pytest.mark.parametrize(
    ("node", "value"),
    [
        (Cast(u8, literal(i32, -1)), literal(u8, 255)),
        (Cast(u8, literal(f32, -1.0)), literal(u8, 0)),
        (Cast(i32, Literal(f32, f32.nan_bits | 1)), literal(i32, 0)),
        (Cast(bool_, Literal(f32, f32.nan_bits)), literal(bool_, True)),
        (Bitcast(u32, Literal(f32, 0xFFC0_0001)), literal(u32, f32.nan_bits)),
        (Bitcast(u32, literal(f32, -0.0)), literal(u32, 2**31)),
        (Apply(OPS["neg"], Literal(f32, f32.nan_bits)), Literal(f32, f32.nan_bits)),
    ],
)
def test_conversions_and_nan(node: Expr, value: Literal) -> None:
    assert folded(node) is value


@pytest.mark.parametrize(
    "node",
    [
        Apply(OPS["add"], literal(u32, 1), Local("x", u32)),
        Apply(OPS["raw_div"], literal(u32, 1), literal(u32, 0)),
        Apply(OPS["raw_shl"], literal(u32, 1), literal(u32, 32)),
        Cast(u8, literal(f32, 300.0), checked=False),
    ],
)
def test_nothing_is_known(node: Expr) -> None:
    assert folded(node) is None


def test_canonical_literals() -> None:
    assert canonical(Literal(f32, 0xFFC0_0001)) is Literal(f32, f32.nan_bits)
    assert canonical(literal(f32, -0.0)) is literal(f32, -0.0)
    assert canonical(literal(u32, 7)) is literal(u32, 7)
