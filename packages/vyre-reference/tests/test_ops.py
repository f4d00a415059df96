"""Every op: its witnesses as programs, and the two implementations against each other where types are small."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from vyre_foundation import build
from vyre_foundation.build import program
from vyre_foundation.dtype import DType, bool_, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.expr import Cast
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.ops.scalar import from_bits, round_float, to_bits
from vyre_reference import UndefinedBehaviour
from vyre_reference.vector.ops import function, precondition
from vyre_reference.vector.registers import decode, encode, stored

Rows = list[tuple[bool | int | float, ...]]
LANGUAGE = [op for op in OPS.values() if op.tier is Tier.LANGUAGE]
RAW = [op for op in OPS.values() if op.tier is Tier.RAW]
EIGHT_BITS = [(op, t) for op in OPS.values() for t in op.accepts if t in (u8, i8) and op.arity == 2]
SIXTEEN_BITS = [(op, t) for op in OPS.values() for t in op.accepts if t.bits == 16 and op.arity == 1]
NARROW = [(op, t) for op in OPS.values() for t in op.accepts if t.bits <= 8 and op.arity == 1]
SAMPLED = [(op, t) for op in OPS.values() for t in op.accepts if t.bits >= 16 or (op, t) in EIGHT_BITS]


def in_turns(pairs: list[tuple[Op, DType]]) -> list[Any]:
    """Of each op one of its types, which take turns. `-m slow` has the others."""
    types: defaultdict[str, list[DType]] = defaultdict(list)
    for op, dtype in pairs:
        types[op.id].append(dtype)
    chosen = {(name, of_op[turn % len(of_op)]) for turn, (name, of_op) in enumerate(types.items())}
    return [pytest.param(op, t, marks=() if (op.id, t) in chosen else pytest.mark.slow) for op, t in pairs]


# Doubles from which each float type takes its boundaries: limits, ties, powers that casts and roots are sensitive to.
FLOAT_SEEDS = (
    *(0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 7.0, 0.1, 1 / 3, 255.0, 256.0, 257.0, 65504.0, 65520.0, 1e10, 2.0**24 + 1),
    *(2.0**31, 2.0**63, 2.0**64, 1e-7, 2.0**-24, 2.0**-126, 2.0**-133, 2.0**-149, 1e300, 5e-324, math.inf, math.nan),
)


def interesting(dtype: DType) -> list[bool | int | float]:
    """Boundaries of a type, and forty arbitrary patterns."""
    random = np.random.default_rng(dtype.tag)
    patterns = [
        int(b) for b in random.integers(0, 2**64, 40, dtype=np.uint64, endpoint=False) >> np.uint64(64 - dtype.bits)
    ]
    if dtype is bool_:
        return [False, True]
    if dtype.is_float:
        assert dtype.format is not None
        precision, emin, emax = dtype.format
        limits = (
            math.ldexp(1.0, emin),
            math.ldexp(1.0, emin - precision + 1),
            math.ldexp(2 - 2.0 ** (1 - precision), emax),
        )
        seeds = [round_float(dtype, sign * x) for x in (*FLOAT_SEEDS, *limits) for sign in (1.0, -1.0)]
        return [*seeds, *(from_bits(dtype, b) for b in patterns)]
    near = [*range(-3, 4), dtype.bits - 1, dtype.bits, dtype.bits + 1, -dtype.bits]
    ends = [
        dtype.lowest,
        dtype.lowest + 1,
        dtype.highest // 2,
        dtype.highest // 2 + 1,
        dtype.highest - 1,
        dtype.highest,
    ]
    known = {n for n in (*near, *ends) if dtype.lowest <= n <= dtype.highest}
    return [*sorted(known), *(from_bits(dtype, b) for b in patterns)]


def operands(op: Op, dtype: DType) -> Rows:
    values = interesting(dtype)[: 40 if op.arity == 3 else None]
    rows = itertools.product(values, repeat=op.arity)
    return [row for row in rows if op.precondition is None or op.precondition(dtype, *row)]


def columns_of(dtype: DType, rows: Rows) -> list[np.ndarray]:
    """The operands of all rows as the registers of the vector evaluator have them."""
    return [decode(dtype, bits(dtype, column).view(stored(dtype))) for column in zip(*rows, strict=True)]


def assert_same_meaning(op: Op, dtype: DType, rows: Rows, columns: list[np.ndarray]) -> None:
    """The NumPy function gives the bits that the op table's exact meaning gives."""
    result = op.results[dtype]
    with np.errstate(all="ignore"):
        got = encode(result, function(op.id, dtype)(*columns)).view(f"<u{result.size}")
    expected = bits(result, [op.evaluate(dtype, *row) for row in rows])
    wrong = [
        (rows[n], *(from_bits(result, int(of[n])) for of in (expected, got))) for n in (expected != got).nonzero()[0]
    ]
    assert not wrong, f"{op.id} on {dtype}: (operands, expected, got) {wrong[:5]}"


def bits(dtype: DType, values: Sequence[bool | int | float]) -> np.ndarray:
    """What memory holds for values."""
    if dtype.is_float:
        return np.array([to_bits(dtype, value) for value in values], f"<u{dtype.size}")
    return np.array(values, dtype.numpy).view(f"<u{dtype.size}")


@pytest.mark.parametrize("op", LANGUAGE, ids=lambda op: op.id)
def test_witnesses_as_programs(run, typed, op):
    for dtype in dict.fromkeys(w.dtype for w in op.witnesses):
        rows = [w for w in op.witnesses if w.dtype is dtype]
        with program("witness", 4) as p:
            columns = [p.read(f"x{n}", dtype) for n in range(op.arity)]
            out = p.write("out", op.results[dtype], like=columns[0])
            i = p.global_id(0)
            with p.if_(i < out.length):
                out[i] = build.apply(op, *[column[i] for column in columns])
        inputs = {f"x{n}": typed(dtype, [w.operands[n] for w in rows]) for n in range(op.arity)}
        got = run(p.build(), inputs)["out"]
        assert got.tobytes() == typed(op.results[dtype], [w.result for w in rows]).tobytes(), (op.id, dtype)


@cache
def all_rows(dtype: DType, arity: int) -> tuple[Rows, list[np.ndarray]]:
    """All values of a type for each operand."""
    rows = list(itertools.product([from_bits(dtype, pattern) for pattern in range(1 << dtype.bits)], repeat=arity))
    return rows, columns_of(dtype, rows)


@pytest.mark.parametrize(("op", "dtype"), in_turns(EIGHT_BITS), ids=str)
def test_all_pairs_of_eight_bits(op, dtype):
    rows, columns = all_rows(dtype, 2)
    if op.precondition is not None:
        holds = [op.precondition(dtype, *row) for row in rows]
        rows, columns = list(itertools.compress(rows, holds)), [column[holds] for column in columns]
    assert_same_meaning(op, dtype, rows, columns)


@pytest.mark.parametrize(("op", "dtype"), [*NARROW, *in_turns(SIXTEEN_BITS)], ids=str)
def test_all_values_of_sixteen_bits(op, dtype):
    assert_same_meaning(op, dtype, *all_rows(dtype, 1))


@pytest.mark.parametrize(("op", "dtype"), SAMPLED, ids=str)
def test_interesting_operands(op, dtype):
    rows = operands(op, dtype)
    assert_same_meaning(op, dtype, rows, columns_of(dtype, rows))


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.id)
def test_uniform_operands_stay_uniform(op):
    """NumPy scalars in, a NumPy scalar (or an array without axes) of the same value out."""
    for dtype in op.accepts:
        result = op.results[dtype]
        for row in operands(op, dtype)[::37]:
            scalars = [
                decode(dtype, np.frombuffer(to_bits(dtype, x).to_bytes(dtype.size, "little"), stored(dtype))[0])
                for x in row
            ]
            with np.errstate(all="ignore"):
                got = function(op.id, dtype)(*scalars)
            assert got.ndim == 0
            expected = to_bits(result, op.evaluate(dtype, *row))
            assert int(encode(result, got).view(f"<u{result.size}")) == expected, (dtype, row)


@pytest.mark.parametrize("dtype", [u8, i8, u16, i16, u32, i32, u64, i64], ids=str)
@pytest.mark.parametrize("op", RAW, ids=lambda op: op.id)
def test_preconditions_of_raw_ops(op, dtype):
    rows = list(itertools.product(interesting(dtype), repeat=2))
    x, y = (np.array(column, dtype.numpy) for column in zip(*rows, strict=True))
    holds = precondition(op.id, dtype)
    assert holds is not None
    assert holds(x, y).tolist() == [op.precondition(dtype, *row) for row in rows]


# fmt: off
MEANINGLESS = [
    ("raw_div", u32, 7, 0), ("raw_rem", i32, 7, 0), ("raw_div", i32, -2**31, -1), ("raw_rem", i64, -2**63, -1),
    ("raw_shl", u32, 1, 32), ("raw_shr", i32, 1, -1), ("raw_shr", u64, 1, 64),
]
# fmt: on


@pytest.mark.parametrize(("op", "dtype", "x", "y"), MEANINGLESS, ids=str)
def test_raw_ops_outside_of_their_precondition(force, typed, op, dtype, x, y):
    """The third invocation is the first whose operands have no meaning; the fourth does not get there."""
    with program("raw", 4) as p:
        a, b = p.read("a", dtype), p.read("b", dtype)
        out = p.write("out", dtype, 4)
        i = p.global_id(0)
        with p.if_(i < 3):
            out[i] = build.apply(op, a[i], b[i])
    inputs = {"a": typed(dtype, [1, 1, x, x]).tobytes(), "b": typed(dtype, [1, 1, y, y]).tobytes()}
    with pytest.raises(UndefinedBehaviour, match=rf"^body\[0\]\.then\[0\]: invocation 2: {op}") as caught:
        force(p.build_unchecked(), inputs)
    assert caught.value.fields["invocation"] == 2


# fmt: off
# the least and the greatest value that fit, and one that does not
PROVEN = [
    (f32, i32, -2.0**31, 2.0**31 - 128, 2.0**31),
    (f64, u64, -0.9, 2.0**64 - 2048, -1.0),
    (f32, u8, -0.5, 255.9, math.nan),
    (i32, u8, 0, 255, 256),
    (i64, i8, -128, 127, -129),
]
# fmt: on


@pytest.mark.parametrize(("source", "target", "least", "greatest", "bad"), PROVEN, ids=str)
def test_proven_casts(force, typed, source, target, least, greatest, bad):
    with program("cast", 2) as p:
        a = p.read("a", source)
        out = p.write("out", target, 2)
        i = p.global_id(0)
        out[i] = build.Value(Cast(target, a[i].expr, checked=False))
    built = p.build_unchecked()
    expected = typed(target, [math.trunc(least), math.trunc(greatest)]).tobytes()
    assert force(built, {"a": typed(source, [least, greatest]).tobytes()})["out"] == expected
    with pytest.raises(UndefinedBehaviour, match=f"proven to fit {target}, and does not") as caught:
        force(built, {"a": typed(source, [least, bad]).tobytes()})
    assert caught.value.fields["invocation"] == 1
