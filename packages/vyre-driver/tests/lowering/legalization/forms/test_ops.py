"""Every op on every type, decomposed for targets that have less and less: exhaustive where the types are small."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from vyre_driver.errors import UnsupportedFeature
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DTYPES, DType, bool_, f32, f64, i32, i64, u32, u64
from vyre_foundation.ir.expr import Select
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.ops.scalar import from_bits

LANES = 64


def ops_of(dtype: DType, arity: int, dialect: str) -> list[Op]:
    """The ops of the language on a type. Nothing composes fma on f64."""
    rows = [op for op in OPS.values() if op.tier is Tier.LANGUAGE and op.arity == arity and dtype in op.accepts]
    return [op for op in rows if not (op.id == "fma" and dtype is f64 and dialect == "wide")]


def patterns(dtype: DType, count: int) -> list[int]:
    """Boundaries of a type, and arbitrary patterns of all magnitudes."""
    if dtype is bool_:
        return [0, 1]
    width, random = dtype.bits, np.random.default_rng(dtype.tag)
    edges = {0, 1, 2, 3, 7, width - 1, width, width + 1, (1 << width) - 1, (1 << width) - 2}
    edges |= {1 << width - 1, (1 << width - 1) - 1, (1 << width - 1) + 1, (1 << width - 2) + 1, 1 << width // 2}
    if dtype.is_float:
        assert dtype.format is not None
        precision, _, emax = dtype.format
        for exponent in {
            0,
            1,
            2,
            emax - 1,
            emax,
            emax + 1,
            emax + precision - 2,
            emax + precision - 1,
            2 * emax,
            2 * emax + 1,
        }:
            for fraction in (0, 1, (1 << precision - 1) - 1, 1 << precision - 2, (1 << precision - 2) + 1):
                number = exponent % (2 * emax + 2) << precision - 1 | fraction
                edges |= {number, number | 1 << width - 1}
    words = [int(w) for w in random.integers(0, 2**64, count, dtype=np.uint64)]
    return sorted(edges) + [
        (w >> int(s)) % (1 << width) for w, s in zip(words, random.integers(0, 64, count), strict=True)
    ]


def operands(dtype: DType, arity: int) -> list[list[int]]:
    """Operand patterns by position: all of them for 8 bits and for single operands of 16, else a choice."""
    if dtype.bits == 8 or (arity == 1 and dtype.bits == 16):
        every = range(1 << dtype.bits)
        return [list(column) for column in zip(*itertools.product(every, repeat=arity), strict=True)]
    chosen = patterns(dtype, 60 if arity == 1 else 12 if arity == 2 else 6)
    tuples = list(itertools.product(chosen, repeat=arity))
    if len(tuples) > 6000:
        tuples = [tuples[k] for k in np.random.default_rng(7).choice(len(tuples), 6000, replace=False)]
    return [list(column) for column in zip(*tuples, strict=True)]


def array(dtype: DType, bits: list[int]) -> bytes:
    return b"".join(x.to_bytes(dtype.size, "little") for x in bits)


MISSING = {"poor": (u64, i64, f64), "bare": (f64,), "wide": (), "rich": ()}
CASES = [
    pytest.param(dialect, dtype, arity, id=f"{dialect}-{dtype}-{arity}")
    for dialect, missing in MISSING.items()
    for dtype in DTYPES
    for arity in (1, 2, 3)
    if dtype not in missing and ops_of(dtype, arity, dialect)
]


@pytest.mark.parametrize(("dialect", "dtype", "arity"), CASES)
def test_every_op_keeps_its_meaning(dialect, dtype, arity, case, check):
    rows = ops_of(dtype, arity, dialect)
    columns = operands(dtype, arity)
    with program("ops", LANES) as p:
        inputs = [p.read(f"in{k}", dtype) for k in range(arity)]
        i = p.global_id(0)
        values = [p.let(buffer[i]) for buffer in inputs]
        for op in rows:
            result = p.let(apply(op, *values))
            p.write(op.id, result.dtype, like=inputs[0])[i] = result
            if result.dtype.is_integer and result.dtype.bits < 32:  # shows what is left above the type's own bits
                p.write(f"{op.id}_wide", i32, like=inputs[0])[i] = result.cast(i32)
    launch = case(p.build(), {f"in{k}": array(dtype, column) for k, column in enumerate(columns)})
    check(launch, dialect)


@pytest.mark.parametrize("dtype", [t for t in DTYPES if t.is_integer], ids=str)
@pytest.mark.parametrize("op", ["div", "rem", "shl", "shr", "rotl", "rotr", "mul_high"])
def test_literal_operands_need_no_guard(op, dtype, case, check):
    """One operand a constant, on either side: the guards that go must not be missed."""
    constants = sorted(
        {
            from_bits(dtype, b)
            for b in (0, 1, 2, 3, dtype.bits - 1, dtype.bits, (1 << dtype.bits) - 1, 1 << dtype.bits - 1)
        }
    )
    with program("constants", LANES) as p:
        a = p.read("a", dtype)
        i = p.global_id(0)
        x = p.let(a[i])
        for n, constant in enumerate(constants):
            p.write(f"right{n}", dtype, like=a)[i] = apply(op, x, constant)
            p.write(f"left{n}", dtype, like=a)[i] = apply(op, constant, x)
    bits = list(range(256)) if dtype.bits == 8 else patterns(dtype, 60)
    lowered = check(case(p.build(), {"a": array(dtype, bits)}), "single")
    assert len(lowered.kernels) == 1


def test_fma_of_f64_needs_the_target(dialects, case):
    with program("fused", LANES) as p:
        a = p.read("a", f64)
        p.write("out", f64, like=a)[p.global_id(0)] = apply("fma", a[0], a[1], a[2])
    launch = case(p.build(), {"a": [1.0, 2.0, 3.0]})
    with pytest.raises(UnsupportedFeature, match=r"^wide does not support fma on f64\. Fix: .*capabilities list them$"):
        launch.lower(dialects["wide"].target())


@pytest.mark.parametrize(("dtype", "dialect"), [(f64, "single"), (u64, "poor"), (i64, "poor")], ids=str)
def test_a_missing_type_is_named(dtype, dialect, dialects, case):
    with program("copy", LANES) as p:
        a = p.read("a", dtype)
        p.write("out", dtype, like=a)[p.global_id(0)] = a[p.global_id(0)]
    with pytest.raises(UnsupportedFeature, match=rf"^{dialect} does not support values of type {dtype}\. Fix: "):
        case(p.build(), {"a": [1]}).lower(dialects[dialect].target())


@pytest.mark.parametrize(("op", "size"), [("div", 400), ("sqrt", 500), ("fma", 400), ("clz", 60)])
def test_decompositions_stay_small(op, size, dialects, case):
    """The text of one op, in statements and operations, does not grow by accident."""
    dtype = u32 if op == "clz" else f32
    with program("one", LANES) as p:
        a = p.read("a", dtype)
        x = a[p.global_id(0)]
        p.write("out", dtype, like=a)[0] = apply(op, *[x] * OPS[op].arity)
    lowered = case(p.build(), {"a": np.zeros(1)}).lower(dialects["bare"].target())
    assert len(program_expressions(lowered.kernels[0].program)) < size


@pytest.mark.parametrize("op", ["min", "max"])
def test_the_lesser_and_the_greater_of_floats_have_two_selects(op, dialects, case):
    """Compilers take exponential time for long chains of three nested ones."""
    with program("one", LANES) as p:
        a, b = p.read("a", f32, LANES), p.read("b", f32, LANES)
        i = p.local_id(0)
        p.write("out", f32, LANES)[i] = apply(op, a[i], b[i])
    kernel = case(p.build(), {"a": np.zeros(LANES), "b": np.zeros(LANES)}).lower(dialects["full"].target()).kernels[0]
    chosen = [node for node in program_expressions(kernel.program) if isinstance(node, Select)]
    nested = [node for node in chosen if any(arm in chosen for arm in node.args[1:])]
    assert len(nested) <= 2  # one around all makes a NaN canonical


def test_division_by_what_cannot_be_zero_has_no_guard(dialects, case):
    with program("ranges", LANES) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        p.write("out", u32, like=a)[i] = (a[i] // ((a[i] & 7) + 1)) << (i % 8)
    kernel = case(p.build(), {"a": range(64)}).lower(dialects["full"].target()).kernels[0]
    assert "select" not in str(kernel.program)
    assert "& 31" not in str(kernel.program)
