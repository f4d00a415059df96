"""`decode(encode(p)) == p` and `encode(decode(b)) == b`, for programs of every shape."""

import gc
import pickle
from random import Random

import pytest
from hypothesis import given, settings

from vyre_foundation import Program, decode, encode
from vyre_foundation.dtype import DTYPES, FLOATS, DType, f32, f64, u8, u32
from vyre_foundation.ir import (
    Access,
    Apply,
    Buffer,
    For,
    Id,
    IdKind,
    If,
    IndirectDispatch,
    LengthOf,
    Let,
    Literal,
    Load,
    Local,
    Memory,
    Region,
    Store,
    Trap,
)
from vyre_foundation.ops import OPS
from vyre_foundation.testing import EVERYTHING, generate
from vyre_foundation.testing.strategies import structural_programs
from vyre_foundation.testing.structural import NAMES, structural_program
from vyre_foundation.wire import NestingTooDeep, Unencodable

OUT = Buffer("out", u32, Access.WRITE, Memory.STORAGE, 4, 0)
ZERO = Literal(u32, 0)


def program(*body: object, name: str = "p", buffers: tuple[Buffer, ...] = (OUT,)) -> Program:
    return Program(name, buffers, (64, 1, 1), body)  # type: ignore[arg-type]


def assert_round_trip(p: Program) -> None:
    data = encode(p)
    again = decode(data)
    assert again == p
    assert encode(again) == data


@given(structural_programs())
@settings(max_examples=300, deadline=None)
def test_any_program(p: Program) -> None:
    assert_round_trip(p)


@pytest.mark.parametrize("seed", range(20))
def test_larger_programs(seed: int) -> None:
    assert_round_trip(structural_program(Random(seed), 400))


@pytest.mark.parametrize("seed", range(10))
def test_valid_programs(seed: int) -> None:
    assert_round_trip(generate(seed, EVERYTHING).program)


def test_a_program_that_was_not_interned_before() -> None:
    """Decoding makes the expressions anew where nothing else holds them."""
    x = Local("only here", u32)
    data = encode(program(Let("only here", ZERO), Let("y", Apply(OPS["mul"], x, Apply(OPS["add"], x, x)))))
    del x
    gc.collect()
    assert encode(decode(data)) == data


@pytest.mark.parametrize("dtype", DTYPES)
def test_literal_bits(dtype: DType) -> None:
    width = dtype.bits
    patterns = {0, 1, (1 << width) - 1, 1 << (width - 1), *(1 << bit for bit in range(width))}
    assert_round_trip(program(*[Let(f"x{bits}", Literal(dtype, bits)) for bits in sorted(patterns)]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_that_are_equal_or_not_even_that_keep_their_bits(dtype: DType) -> None:
    sign = 1 << (dtype.bits - 1)
    quiet = dtype.nan_bits
    patterns = [0, sign, 1, sign | 1, quiet, quiet | 1, sign | quiet, quiet >> 1 | quiet]
    decoded = decode(encode(program(*[Let(str(bits), Literal(dtype, bits)) for bits in patterns])))
    assert [stmt.value.bits for stmt in decoded.body] == patterns


@pytest.mark.parametrize("name", ["", *NAMES])
def test_names(name: str) -> None:
    b = Buffer(name or "b", u8, Access.READ, Memory.STORAGE, LengthOf(name), 0)
    assert_round_trip(program(Let(name, Load(b, ZERO)), Region(name, ()), Trap(ZERO, name), name=name, buffers=(b,)))


def test_a_shared_expression_is_written_once() -> None:
    e = Id(IdKind.GLOBAL_ID, 0)
    for _ in range(64):  # 2**64 as a tree
        e = Apply(OPS["mul"], e, e)
    data = encode(program(Store(OUT, ZERO, e)))
    assert len(data) < 300
    assert decode(data).body[0].value is e


def test_a_buffer_that_is_declared_twice_or_not_at_all() -> None:
    other = Buffer("other", u32, Access.READ, Memory.STORAGE, 4, 1)
    assert_round_trip(program(Let("x", Load(other, ZERO)), Let("y", Load(OUT, ZERO)), buffers=(OUT, OUT)))
    assert_round_trip(program(IndirectDispatch(other), Let("x", Load(OUT, ZERO)), buffers=()))


def test_large_constants_are_copied_whole() -> None:
    data = bytes(range(256)) * 4096
    table = Buffer("t", u8, Access.READ, Memory.CONSTANT, len(data), data=data)
    wire = encode(program(buffers=(table,)))
    assert len(wire) < len(data) + 200
    assert decode(wire).buffers == (table,)


def test_every_field_of_a_buffer_counts() -> None:
    base = Buffer("b", u32, Access.WRITE, Memory.STORAGE, 4, 0, output_range=(0, 8))
    others = (
        base,
        base.replace(name="c"),
        base.replace(dtype=f32),
        base.replace(access=Access.READ_WRITE),
        base.replace(memory=Memory.SCRATCH, access=Access.READ_WRITE, output_range=None),
        base.replace(count=5),
        base.replace(count=LengthOf("b")),
        base.replace(binding=1),
        base.replace(output_range=None),
        base.replace(output_range=(0, 9)),
        base.replace(output_range=(1, 8)),
    )
    assert len({encode(program(buffers=(buffer,))) for buffer in others}) == len(others)


def test_pickles_are_wire_forms() -> None:
    p = program(Let("x", Literal(f64, 1)))
    assert pickle.loads(pickle.dumps(p)) == p  # noqa: S301


# ── what has no bytes ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "p",
    [
        program(For("i", ZERO, ZERO, -1, ())),
        program(For("i", ZERO, ZERO, 2**64, ())),
        program(IndirectDispatch(OUT, -1)),
        program(name="\ud800"),
        program(Let("\udfff", ZERO)),
        Program("p", (), (-1, 1, 1), ()),
        Program("p", (), (1, 1, 1), (), -1),
        Program("p", (), (1, 1, 1), (), -2),
    ],
)
def test_unencodable(p: Program) -> None:
    with pytest.raises(Unencodable, match=r"Fix: validate the program"):
        encode(p)


def nested(depth: int) -> Program:
    body: tuple[object, ...] = (Let("x", ZERO),)
    for level in range(depth):
        body = (If(ZERO, (), body) if level % 2 else Region("r", body),)  # type: ignore[arg-type]
    return program(*body)


def test_nesting_up_to_the_limit() -> None:
    assert_round_trip(nested(64))
    with pytest.raises(NestingTooDeep, match="more than 64 deep"):
        encode(nested(65))
