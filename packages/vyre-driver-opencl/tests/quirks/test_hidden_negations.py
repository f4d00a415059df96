"""Negated integers beside shifts: exact, and nothing in the result by which a compiler would know them."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver_opencl.quirks.hidden_negations import HIDE_NEGATIONS
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import i32, i64, u32
from vyre_foundation.ir.expr import Apply, Literal
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.testing.values import special_bits
from vyre_foundation.validate import validate
from vyre_reference import run

NEGATIONS = {
    "neg": lambda p, x: -x,
    "difference": lambda p, x: 0 - x,
    "product": lambda p, x: x * -1,
    "complement": lambda p, x: ~x + 1,
    "one_less": lambda p, x: ~(x - 1),
    "in_locals": lambda p, x: p.let(~p.let(x, name="x"), name="y") + 1,
    "two_steps": lambda p, x: (7 - x) - 7,
    "saturated": lambda p, x: apply("mul_sat", x, -1),
}


def negated(dtype, negation, *, shift=True):
    with program("negated", 8) as p:
        x = p.read("x", dtype)
        out = p.write("out", dtype, like=x)
        value = p.let(negation(p, p.let(x[p.global_id(0)])))
        out[p.global_id(0)] = value >> (dtype.bits - 1) if shift else value
    return p.build()


def given(dtype):
    return {"x": np.array([*special_bits(dtype)], f"u{dtype.size}").view(dtype.numpy)}


def is_negation(node):
    """Whether a compiler would see at once that an integer is negated."""
    if not (isinstance(node, Apply) and node.dtype.is_integer):
        return False
    ones = (1 << node.dtype.bits) - 1
    match node.op.id, node.args:
        case "neg", _:
            return True
        case "sub", (Literal(bits=bits), _):
            return bits == 0
        case "mul", args:
            return any(isinstance(arg, Literal) and arg.bits == ones for arg in args)
        case "add", args:
            return any(isinstance(arg, Literal) and arg.bits == 1 for arg in args)
        case _:
            return False


@pytest.mark.parametrize("dtype", [i32, i64], ids=str)
@pytest.mark.parametrize("negation", NEGATIONS)
def test_every_negation_is_exact_and_hidden(negation, dtype):
    made = negated(dtype, NEGATIONS[negation])
    after = HIDE_NEGATIONS.apply(made, None)
    validate(after, legalized=True)
    assert run(after, given(dtype))["out"].tobytes() == run(made, given(dtype))["out"].tobytes()
    assert not any(map(is_negation, program_expressions(after)))


def test_without_a_shift_nothing_is_hidden():
    made = negated(i32, NEGATIONS["neg"], shift=False)
    assert HIDE_NEGATIONS.apply(made, None) is made


def test_what_is_no_negation_stays():
    with program("other", 8) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        out[i] = ((5 - x[i]) ^ ~x[i] ^ (x[i] - 1)) >> 3
    made = p.build()
    assert HIDE_NEGATIONS.apply(made, None) is made
