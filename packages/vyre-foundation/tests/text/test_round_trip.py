"""`parse(print_program(p)) == p`, for programs of every shape; and the text is not larger than the program."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings

from vyre_foundation import Program, parse, print_program
from vyre_foundation.dtype import DTYPES, FLOATS, DType, bf16, f16, f32, f64, u32
from vyre_foundation.ir import (
    Access,
    Apply,
    Buffer,
    Expr,
    Id,
    IdKind,
    If,
    Let,
    Literal,
    Load,
    Local,
    Memory,
    Region,
    Select,
    Store,
    Trap,
    literal,
)
from vyre_foundation.ops import OPS
from vyre_foundation.testing import EVERYTHING, generate
from vyre_foundation.testing.strategies import structural_programs
from vyre_foundation.testing.structural import NAMES, structural_program
from vyre_foundation.text.syntax import number

GOLDENS = Path(__file__).parents[1] / "goldens"
OUT = Buffer("out", u32, Access.WRITE, Memory.STORAGE, 4, 0)
ZERO = Literal(u32, 0)
I = Id(IdKind.GLOBAL_ID, 0)


def program(*body: object, name: str = "p", buffers: tuple[Buffer, ...] = (OUT,)) -> Program:
    return Program(name, buffers, (64, 1, 1), body)  # type: ignore[arg-type]


def assert_round_trip(p: Program) -> str:
    text = print_program(p)
    assert parse(text) == p
    assert text.isascii() or all(c.isprintable() or c == "\n" for c in text)
    return text


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


@pytest.mark.parametrize("file", sorted(GOLDENS.glob("*.vyre")), ids=lambda file: file.stem)
def test_goldens_are_printed_as_they_are_written(file: Path) -> None:
    text = file.read_text("utf-8")
    assert print_program(parse(text)) == text


@pytest.mark.parametrize("name", ["", *NAMES, "\ud800", "a\rb"])
def test_names(name: str) -> None:
    b = Buffer(name or "b", u32, Access.READ_WRITE, Memory.STORAGE, 4, 0)
    use = Apply(OPS["add"], Local(name, u32), Load(b, ZERO))
    body = (Let(name, ZERO), Region(name, (Trap(use, name),)), Store(b, ZERO, use))
    assert_round_trip(program(*body, name=name, buffers=(b,)))


def test_buffers_of_one_name() -> None:
    buffers = tuple(
        Buffer(name, u32, Access.READ, Memory.STORAGE, 4, at) for at, name in enumerate(["a", "a_2", "a", "a"])
    )
    text = assert_round_trip(program(*[Let(f"x{at}", Load(b, ZERO)) for at, b in enumerate(buffers)], buffers=buffers))
    assert [line.split(":")[0].strip() for line in text.splitlines() if "read" in line] == [
        *("read a", "read a_2", "read a as a_3", "read a as a_4"),
    ]


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_every_type(dtype: DType) -> None:
    random = Random(dtype.name)
    patterns = {
        0,
        1,
        (1 << dtype.bits) - 1,
        1 << (dtype.bits - 1),
        *(random.getrandbits(dtype.bits) for _ in range(500)),
    }
    assert_round_trip(program(*[Let(f"x{bits}", Literal(dtype, bits)) for bits in patterns]))


@pytest.mark.parametrize("dtype", [f16, bf16])
def test_the_digits_of_every_number_of_sixteen_bits(dtype: DType) -> None:
    for bits in range(2**16):
        digits = number(Literal(dtype, bits))
        assert "nan(" in digits or literal(dtype, float(digits)).bits == bits


# fmt: off
SHOWN = [
    (f32, 0.1, "0.1"), (f32, 1 / 3, "0.33333334"), (f32, 1.0, "1.0"), (f32, -0.0, "-0.0"), (f32, 1e-45, "1e-45"),
    (f32, 16777216.0, "16777216.0"), (f32, 3.4028234663852886e38, "3.4028235e+38"), (f32, 1e10, "10000000000.0"),
    (f64, 0.1, "0.1:f64"), (f64, 1 / 3, "0.3333333333333333:f64"), (f64, 5e-324, "5e-324:f64"),
    (f16, 0.1, "0.1:f16"), (f16, 65504.0, "65504.0:f16"), (bf16, 0.1, "0.1:bf16"), (bf16, 3e38, "3e+38:bf16"),
    (f32, float("inf"), "inf"), (f64, float("-inf"), "-inf:f64"), (f16, float("nan"), "nan:f16"),
]
# fmt: on


@pytest.mark.parametrize(("dtype", "value", "text"), SHOWN)
def test_floats_have_few_digits(dtype: DType, value: float, text: str) -> None:
    assert f"let x = {text};" in assert_round_trip(program(Let("x", literal(dtype, value))))


@pytest.mark.parametrize("dtype", FLOATS)
def test_bits_of_a_nan(dtype: DType) -> None:
    bits = dtype.nan_bits | 1
    text = assert_round_trip(program(Let("x", Literal(dtype, bits)), Let("y", Literal(dtype, dtype.nan_bits))))
    assert f"nan({bits:#x})" in text
    assert "y = nan" in text


# ── sharing and depth ────────────────────────────────────────────────────────────────────────────────────────────────


def chain(size: int) -> Expr:
    e: Expr = I
    for step in range(size):
        e = Apply(OPS["sub"], e, Literal(u32, step % 97)) if step % 2 else Apply(OPS["sub"], Literal(u32, 3), e)
    return e


def tower(size: int) -> Expr:
    e: Expr = I
    for _ in range(size // 2):
        e = Apply(OPS["mul"], Apply(OPS["not"], e), e)
    return e


@pytest.mark.parametrize("shape", [chain, tower])
def test_forty_thousand_expressions(shape: object) -> None:
    texts = {}
    for size in (5_000, 40_000):
        p = program(Store(OUT, I, shape(size)))  # type: ignore[operator]
        text = texts[size] = print_program(p)
        assert parse(text) == p
        assert max(map(len, text.splitlines())) < 300
    assert len(texts[40_000]) < 9.6 * len(texts[5_000])


def test_what_is_shared_between_statements_is_written_once() -> None:
    e = Apply(OPS["mul"], Apply(OPS["add"], I, ZERO), I)
    body = (Let("x", e), If(Apply(OPS["eq"], e, ZERO), (Store(OUT, e, e),)))
    assert assert_round_trip(program(*body)).count("(global_id.x + 0) * global_id.x") == 1


def test_small_shared_expressions_are_repeated() -> None:
    load = Load(Buffer("a", u32, Access.READ, Memory.STORAGE, 4, 1), I)
    assert "a[global_id.x] * a[global_id.x]" in print_program(program(Let("x", Apply(OPS["mul"], load, load))))


def test_definitions_before_an_else_if() -> None:
    wide: Expr = Select(Literal(OPS["eq"].results[u32], 1), I, ZERO)
    for _ in range(5):
        wide = Apply(OPS["mul"], wide, Apply(OPS["add"], wide, wide))
    inner = If(Apply(OPS["lt"], wide, ZERO), (Store(OUT, wide, ZERO),))
    assert_round_trip(program(If(Apply(OPS["eq"], I, ZERO), (), (inner,))))
    text = assert_round_trip(program(If(Apply(OPS["eq"], I, ZERO), (), (If(Apply(OPS["lt"], I, ZERO), ()),))))
    assert "} else if global_id.x < 0 {" in text


@pytest.mark.parametrize("depth", [64])
def test_deep_statements(depth: int) -> None:
    body: tuple[object, ...] = (Let("x", ZERO),)
    for level in range(depth):
        body = (If(Apply(OPS["eq"], I, ZERO), (), body) if level % 2 else Region("r", body),)  # type: ignore[arg-type]
    assert_round_trip(program(*body))
