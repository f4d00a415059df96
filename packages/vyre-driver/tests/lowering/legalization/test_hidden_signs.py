"""Changes of signs beside barriers: exact, and nothing in the result by which a compiler would know them."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.lower import legalize
from vyre_foundation.build import program
from vyre_foundation.dtype import f16, f32, f64, u32, u64
from vyre_foundation.ir.expr import Apply, Literal
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.testing.values import special_bits

CHANGES = {
    "neg": lambda x: -x,
    "mul": lambda x: x * -1.0,
    "mul_left": lambda x: -1.0 * x,
    "div": lambda x: x / -1.0,
    "sub": lambda x: -0.0 - x,
}


def changed(dtype, change, *, barrier=True):
    with program("changed", 8) as p:
        x, out = p.read("x", dtype), p.write("out", dtype, like=p.read("n", u32))
        i = p.let(p.global_id(0))
        value = p.let(change(x[i]))
        if barrier:
            p.barrier()
        out[i] = value
    return p.build()


def given(dtype):
    bits = np.array([*special_bits(dtype)], f"u{dtype.size}")
    return {"x": bits.tobytes(), "n": np.zeros(len(bits), np.uint32)}


def shows_a_sign(node):
    """Whether a compiler for floats would make its own change of a sign of this."""
    match node:
        case Apply(op) if node.dtype.is_float:
            return op.id == "neg" or any(isinstance(a, Literal) and a.value in (-1.0, 0.0) for a in node.args)
        case Apply(op) if op.id in ("xor", "or", "add", "sub"):
            return any(isinstance(a, Literal) and a.bits == 1 << (a.dtype.bits - 1) for a in node.args)
        case _:
            return False


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_exact_and_hidden(change, dtype, case, check):
    made = changed(dtype, CHANGES[change])
    lowered = check(case(made, given(dtype)), "hiding")
    (kernel,) = lowered.kernels
    assert not any(map(shows_a_sign, program_expressions(kernel.program)))


@pytest.mark.parametrize(("dtype", "bits"), [(f32, u32), (f64, u64)])
@pytest.mark.parametrize("op", ["xor", "or", "add"])
def test_a_sign_that_is_changed_as_a_bit_is_hidden_too(op, dtype, bits, case, check):
    sign = 1 << (bits.bits - 1)
    apply = {"xor": lambda b: b ^ sign, "or": lambda b: b | sign, "add": lambda b: b + sign}[op]
    made = changed(dtype, lambda x: apply(x.bitcast(bits)).bitcast(dtype))
    lowered = check(case(made, given(dtype)), "hiding")
    (kernel,) = lowered.kernels
    assert not any(map(shows_a_sign, program_expressions(kernel.program)))


def test_without_a_barrier_nothing_is_hidden(dialects):
    made = changed(f32, CHANGES["neg"], barrier=False)
    texts = [
        print_unit(legalize(made, made.validate(), dialects[name].target()), dialects[name]).text
        for name in ("rich", "hiding")
    ]
    assert texts[0] == texts[1]
    assert "neg_f32(" in texts[0]


def test_the_bit_comes_from_the_launch(dialects):
    made = changed(f32, CHANGES["neg"])
    text = print_unit(legalize(made, made.validate(), dialects["hiding"].target()), dialects["hiding"]).text
    assert "const u32 sign = ne_u32(num_workgroups_x, 0u) ? 0x80000000u : 0u;" in text
