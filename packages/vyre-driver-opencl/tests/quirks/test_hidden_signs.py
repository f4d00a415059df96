"""Changes of signs beside barriers: exact, and nothing in the result by which a compiler would know them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver_opencl.quirks.hidden_negations import HIDE_NEGATIONS
from vyre_driver_opencl.quirks.hidden_signs import HIDE_SIGNS
from vyre_foundation.build import program
from vyre_foundation.dtype import f16, f32, f64, u32, u64
from vyre_foundation.ir.expr import Apply, Literal
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.testing import EVERYTHING, generate
from vyre_foundation.testing.values import special_bits
from vyre_foundation.validate import validate
from vyre_reference import run

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
    return {"x": bits.view(dtype.numpy), "n": np.zeros(len(bits), np.uint32)}


def shows_a_sign(node):
    """Whether a compiler for floats would make its own change of a sign of this."""
    match node:
        case Apply(op) if node.dtype.is_float:
            return op.id == "neg" or any(isinstance(a, Literal) and a.value in (-1.0, 0.0) for a in node.args)
        case Apply(op) if op.id in ("xor", "or", "add", "sub"):
            return any(isinstance(a, Literal) and a.bits == 1 << (a.dtype.bits - 1) for a in node.args)
        case _:
            return False


def hidden(made, arrays):
    """The program after the pass, of which the reference gives the same bytes."""
    after = HIDE_SIGNS.apply(made, None)
    validate(after, legalized=True)
    assert {n: a.tobytes() for n, a in run(after, arrays).items()} == {
        n: a.tobytes() for n, a in run(made, arrays).items()
    }
    return after


@pytest.mark.parametrize("dtype", [f16, f32, f64], ids=str)
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_exact_and_hidden(change, dtype):
    after = hidden(changed(dtype, CHANGES[change]), given(dtype))
    assert not any(map(shows_a_sign, program_expressions(after)))


@pytest.mark.parametrize(("dtype", "bits"), [(f32, u32), (f64, u64)])
@pytest.mark.parametrize("op", ["xor", "or", "add"])
def test_a_sign_that_is_changed_as_a_bit_is_hidden_too(op, dtype, bits):
    sign = 1 << (bits.bits - 1)
    apply = {"xor": lambda b: b ^ sign, "or": lambda b: b | sign, "add": lambda b: b + sign}[op]
    after = hidden(changed(dtype, lambda x: apply(x.bitcast(bits)).bitcast(dtype)), given(dtype))
    assert not any(map(shows_a_sign, program_expressions(after)))


def test_without_a_barrier_nothing_is_hidden():
    made = changed(f32, CHANGES["neg"], barrier=False)
    assert HIDE_SIGNS.apply(made, None) is made


def test_the_bit_comes_from_the_launch():
    text = str(HIDE_SIGNS.apply(changed(f32, CHANGES["neg"]), None))
    assert "let sign = select(num_workgroups.x != 0, 2147483648, 0);" in text, text


PROFILE = replace(EVERYTHING, max_invocations=48, max_statements=24, traps=False, indirect=False)


def outcome(made, generated):
    config = DispatchConfig(grid_override=generated.grid, fixpoint_iterations=generated.iterations)
    arrays = {n: np.frombuffer(data, made.buffer(n).dtype.numpy) for n, data in generated.inputs.items()}
    return {name: array.tobytes() for name, array in run(made, arrays, config).items()}


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_keep_their_meaning(seed):
    generated = generate(1000 + seed, PROFILE)
    for stage in (HIDE_SIGNS, HIDE_NEGATIONS):
        after = stage.apply(generated.program, None)
        validate(after, legalized=True)
        assert outcome(after, generated) == outcome(generated.program, generated)
