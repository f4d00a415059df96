"""Expressions: one object for equal ones, immutable, and no ill-typed one can be made."""

import copy
import math
import pickle

import pytest

from vyre_foundation.dtype import DTYPES, bf16, bool_, f16, f32, f64, i8, i32, u8, u16, u32, u64
from vyre_foundation.errors import LiteralOutOfRange, TypeMismatch
from vyre_foundation.ir import (
    Access,
    Apply,
    Bitcast,
    Buffer,
    Call,
    Cast,
    Expr,
    Id,
    IdKind,
    Length,
    Literal,
    Load,
    Local,
    Memory,
    Program,
    Select,
    literal,
)
from vyre_foundation.ops import OPS
from vyre_foundation.wire import Malformed, decode_expr, encode

A = Buffer("a", f32, Access.READ, Memory.STORAGE, 4, 0)
X, Y, Z = Local("x", u32), Local("y", u32), Local("z", u32)
FLAG = Local("flag", bool_)

# One of each kind, and how to make it again over other operands.
KINDS = [
    lambda x: Literal(u32, 7),
    lambda x: Local("n", u64),
    lambda x: Load(A, x),
    lambda x: Load(A, x, checked=False),
    lambda x: Length(A),
    lambda x: Id(IdKind.LOCAL_ID, 2),
    lambda x: Id(IdKind.SUBGROUP_LANE),
    lambda x: Apply(OPS["neg"], x),
    lambda x: Apply(OPS["add"], x, Y),
    lambda x: Apply(OPS["add"], Y, x),
    lambda x: Select(FLAG, x, Y),
    lambda x: Cast(f32, x),
    lambda x: Cast(f32, x, checked=False),
    lambda x: Bitcast(f32, x),
    lambda x: Call("d.op", f32, x),
    lambda x: Call("d.op", u32, x),
    lambda x: Call("d.op", f32, x, x),
    lambda x: Call("d.op", f32),
]


def test_equal_expressions_are_one_object_and_others_are_not() -> None:
    assert all(make(X) is make(X) for make in KINDS)
    assert len({make(X) for make in KINDS}) == len(KINDS)


@pytest.mark.parametrize("make", KINDS)
def test_rebuilding(make: object) -> None:
    node: Expr = make(X)  # type: ignore[operator]
    if node.args:
        assert node.rebuild(node.args) is node
        assert node.rebuild(tuple(Z if a is X else a for a in node.args)) is make(Z)  # type: ignore[operator]
    elif not isinstance(node, Call):
        with pytest.raises(TypeError, match="no children"):
            node.rebuild((X,))


@pytest.mark.parametrize("make", KINDS)
def test_expressions_are_immutable_and_shown(make: object) -> None:
    node: Expr = make(X)  # type: ignore[operator]
    for field in ("dtype", "args", "anything"):
        with pytest.raises(AttributeError, match="Fix: build a new one"):
            setattr(node, field, 1)
    assert repr(node)
    assert "\n" not in repr(node)


def test_types() -> None:
    assert [make(X).dtype for make in KINDS] == [
        *(u32, u64, f32, f32, u32, u32, u32, u32, u32, u32, u32, f32, f32, f32, f32, u32, f32, f32),
    ]
    assert Apply(OPS["lt"], X, Y).dtype is bool_
    assert Apply(OPS["abs_diff"], Local("i", i8), Local("j", i8)).dtype is u8


def test_names_of_the_operands() -> None:
    load, select = Load(A, X), Select(FLAG, X, Y)
    assert (load.index, select.condition, select.if_true, select.if_false) == (X, FLAG, X, Y)
    assert Cast(f32, X).value is Bitcast(f32, X).value is X
    match Apply(OPS["add"], X, Y):
        case Apply(op, (first, second)):
            assert (op.id, first, second) == ("add", X, Y)


# ── what cannot be made ─────────────────────────────────────────────────────────────────────────────────────────────

# fmt: off
REFUSED = [
    (lambda: Apply(OPS["add"], X),                      "add got 1 operands (u32), expected 2"),
    (lambda: Apply(OPS["neg"]),                         "neg got 0 operands (), expected 1"),
    (lambda: Apply(OPS["add"], X, Local("f", f32)),     "add got (u32, f32), expected operands of one type"),
    (lambda: Apply(OPS["sqrt"], X),                     "sqrt got u32, expected one of f16 bf16 f32 f64"),
    (lambda: Apply(OPS["rem"], FLAG, FLAG),        "rem got bool, bool, expected one of u8 u16 u32 u64 i8 i16 i32 i64"),
    (lambda: Apply(OPS["fma"], *[Local("h", f16)] * 3), "fma got f16, f16, f16, expected one of f32 f64"),
    (lambda: Select(X, X, Y),                           "select got (u32, u32, u32), expected (bool, T, T)"),
    (lambda: Select(FLAG, X, Local("f", f32)),          "select got (bool, u32, f32), expected (bool, T, T)"),
    (lambda: Bitcast(u64, X),                           "bitcast got u32 (32 bits), expected one of 64 bits, as u64"),
    (lambda: Bitcast(bool_, Local("b", u8)),            "bitcast got u8 (8 bits), expected one of 1 bits, as bool"),
    (lambda: Load(A, Local("f", f32)),                  "the index of 'a' got f32, expected an integer type"),
    (lambda: Load(A, FLAG),                             "the index of 'a' got bool, expected an integer type"),
    (lambda: Id(IdKind.GLOBAL_ID, 3),                   "global_id has no axis 3"),
    (lambda: Id(IdKind.GLOBAL_ID, -1),                  "global_id has no axis -1"),
    (lambda: Id(IdKind.SUBGROUP_SIZE, 1),               "subgroup_size has no axis 1"),
]
# fmt: on


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_ill_typed_expressions(make: object, message: str) -> None:
    with pytest.raises(TypeMismatch) as error:
        make()  # type: ignore[operator]
    assert error.value.message == message
    assert "Fix: " in str(error.value)


def test_bitcasts_between_types_of_one_width() -> None:
    for source in DTYPES:
        for target in DTYPES:
            if source.bits == target.bits:
                assert Bitcast(target, Local("v", source)).dtype is target


# ── literals ─────────────────────────────────────────────────────────────────────────────────────────────────────────

# fmt: off
VALUES = [
    (u32, 5, 5), (u32, True, 1), (u32, 5.0, 5), (i32, -1, 2**32 - 1), (bool_, True, 1), (bool_, 0, 0),
    (u64, 2**64 - 1, 2**64 - 1), (f64, 0.1, 0x3FB999999999999A),
    (f32, 1, 0x3F800000), (f32, 0.1, 0x3DCCCCCD), (f32, -0.0, 0x80000000), (f32, math.nan, 0x7FC00000),
    (f32, math.inf, 0x7F800000), (f32, 1e39, 0x7F800000), (f16, 65520, 0x7C00), (bf16, 257.0, 0x4380),
    (f32, 2**60 + 2**36 + 1, 0x5D800001), (f32, 10**400, 0x7F800000), (f64, -(10**400), 0xFFF0000000000000),
]
# fmt: on


@pytest.mark.parametrize(("dtype", "value", "bits"), VALUES)
def test_literals_of_values(dtype: object, value: float, bits: int) -> None:
    made = literal(dtype, value)  # type: ignore[arg-type]
    assert (made.dtype, made.bits) == (dtype, bits)
    assert made is Literal(dtype, bits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        (u8, 256),
        (u8, -1),
        (i8, 128),
        (bool_, 2),
        (u32, math.nan),
        (i32, math.inf),
        (u64, 2**64),
        (u16, 1e300),
    ],
)
def test_values_that_a_type_has_not(dtype: object, value: float) -> None:
    with pytest.raises(LiteralOutOfRange, match=rf"is not a value of {dtype}\. Fix: use "):
        literal(dtype, value)  # type: ignore[arg-type]


@pytest.mark.parametrize(("dtype", "value"), [(u32, 0.5), (i32, -2.7), (bool_, 0.25)])
def test_fractions_that_a_type_has_not(dtype: object, value: float) -> None:
    message = (
        rf"{value} is not a value of {dtype}, which has no fractions\. Fix: use a whole number, or a type of floats"
    )
    with pytest.raises(LiteralOutOfRange, match=message):
        literal(dtype, value)  # type: ignore[arg-type]


def test_patterns_that_a_type_has_not() -> None:
    for dtype in DTYPES:
        for bits in (-1, 1 << dtype.bits):
            with pytest.raises(LiteralOutOfRange, match=f"is not a pattern of {dtype.bits} bits"):
                Literal(dtype, bits)


def test_floats_are_distinct_by_their_bits() -> None:
    assert Literal(f32, 0) is not Literal(f32, 1 << 31)
    assert Literal(f32, 0x7FC00000) is not Literal(f32, 0x7FC00001)
    assert math.isnan(Literal(f32, 0x7FC00001).value)


# ── at rest ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_long_chain_needs_no_stack() -> None:
    e: Expr = X
    for _ in range(100_000):
        e = Apply(OPS["add"], e, Y)
    assert len(repr(e)) < 1000
    del e


def test_an_exponential_tree_is_shown_in_part() -> None:
    e: Expr = X
    for _ in range(200):
        e = Apply(OPS["mul"], e, e)
    assert len(repr(e)) < 2000
    assert "…" in repr(e)


def test_reprs() -> None:
    assert repr(Apply(OPS["add"], X, Apply(OPS["mul"], Load(A, X).index, literal(u32, 3)))) == "x + x * 3"
    assert repr(literal(f32, 0.1)) == "0.1"
    assert repr(literal(i8, -1)) == "-1:i8"
    assert repr(Local("odd name", f32)) == "`odd name`"


def test_copies_and_pickles_are_the_same_object() -> None:
    deep: Expr = X
    for _ in range(10_000):
        deep = Apply(OPS["xor"], Load(A, deep).index, Apply(OPS["not"], deep))
    for make in KINDS:
        node = make(deep)
        assert copy.copy(node) is copy.deepcopy(node) is pickle.loads(pickle.dumps(node)) is node  # noqa: S301
    with pytest.raises(Malformed, match="of a program"):
        decode_expr(encode(Program("p", (), (1, 1, 1), ())))
