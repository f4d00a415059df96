"""Attributes: constants by name, checked while a call is written and again where a program is read."""

from collections.abc import Iterator

import pytest

from vyre_foundation import dialects
from vyre_foundation.build import program as build
from vyre_foundation.dialects import Composition, call, expand
from vyre_foundation.dialects.attributes import AttrSchema, AttrType, BadAttribute, values_of
from vyre_foundation.dtype import bool_, f32, i8, u32
from vyre_foundation.ir import Apply, Call, Expr, Literal, Local
from vyre_foundation.ir.expr import literal
from vyre_foundation.ops import OPS
from vyre_foundation.text import parse, print_program
from vyre_foundation.validate import InvalidProgram
from vyre_foundation.wire import decode, encode

X = Local("x", f32)
NORM = AttrSchema("norm", AttrType(choices=("euclid", "taxi")), "taxi")
POWER = AttrSchema("power", AttrType(u32))


def power(x: Expr, count: Expr, _: Expr) -> Expr:
    """As many factors as the attribute says."""
    assert isinstance(count, Literal)
    product = x
    for _factor in range(int(count.value) - 1):
        product = Apply(OPS["mul"], product, x)
    return product


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    dialects.register([Composition("t.power", {(f32, u32, u32): f32}, power, attrs=(POWER, NORM))])
    yield
    dialects.unregister(["t.power"])


def test_attributes_are_literals_behind_the_values() -> None:
    node = call("t.power", X, power=3)
    assert node is Call("t.power", f32, X, Literal(u32, 3), Literal(u32, 1))
    assert call("t.power", X, norm="euclid", power=3).args[2] is Literal(u32, 0)
    assert call("t.power", *node.args) is node
    assert values_of((POWER, NORM), node.args) == {"power": 3, "norm": "taxi"}


def test_a_composition_decides_by_them() -> None:
    square = Apply(OPS["mul"], X, X)
    assert expand(call("t.power", X, power=1), {}) is X
    assert expand(call("t.power", X, power=3), {}) is Apply(OPS["mul"], square, X)


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({}, "attribute 'power' is missing. Fix: state power= as u32"),
        ({"power": -1}, "attribute 'power' got -1, expected u32"),
        ({"power": True}, "attribute 'power' got True, expected u32"),
        ({"power": "two"}, "attribute 'power' got 'two', expected u32"),
        ({"power": 2, "norm": "maximum"}, r"attribute 'norm' got 'maximum', expected euclid | taxi"),
        ({"power": 2, "radix": 3}, "got the attribute 'radix', the op has power, norm"),
    ],
)
def test_what_an_attribute_cannot_be(attrs, words) -> None:
    with pytest.raises(BadAttribute) as caught:
        call("t.power", X, **attrs)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("type", "value", "bits"),
    [(AttrType(i8), -1, 0xFF), (AttrType(bool_), True, 1), (AttrType(f32), 2, 0x4000_0000), (NORM.type, "taxi", 1)],
)  # fmt: skip
def test_values_and_their_operands(type, value, bits) -> None:
    operand = type.literal(value)
    assert operand is Literal(type.dtype, bits)
    assert type.value(operand) == value
    assert type.admits(operand)
    assert not type.admits(Local("n", type.dtype))
    assert not type.admits(literal(f32 if type.dtype is u32 else u32, 1))


def test_they_are_written_read_and_known_as_what_they_are() -> None:
    with build("p", 4) as p:
        x = p.read("x", f32)
        p.write("out", f32, like=x)[p.global_id(0)] = dialect_call(x[p.global_id(0)], 2)
    program = p.build()
    assert "call<f32> t.power(x[global_id.x], 2, 1)" in print_program(program)
    assert parse(print_program(program)).fingerprint() == program.fingerprint()
    assert decode(encode(program)) == program
    program.validate()


def dialect_call(x, power):
    from vyre_foundation.build import call

    return call("t.power", x, power=power)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("2, 2", "2 as its attribute 'norm', expected a literal of euclid | taxi"),
        ("len(x), 1", "len(x) as its attribute 'power', expected a literal of u32"),
    ],
)  # fmt: skip
def test_a_program_that_was_read_is_checked_too(last, words) -> None:
    with pytest.raises(InvalidProgram) as caught:
        parse(f"program p workgroup(1) {{ read x: f32[] @0; let y = call<f32> t.power(x[0], {last}); }}").validate()
    (finding,) = caught.value.findings
    assert (finding.code, words in finding.message) == ("V065", True)
