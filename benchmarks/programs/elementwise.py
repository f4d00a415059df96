"""One result for each element, from nothing but that element."""

from __future__ import annotations

from programs.sizes import GROUP, KEY
from vyre_foundation import Program, f32, program, u32

COEFFICIENTS = tuple((-1) ** k / (1 + k) for k in range(33))
"""Of a polynomial of degree 32, from the constant term up."""
MAX_ROUNDS = 100
"""Of the escape time."""


def copy() -> Program:
    with program("copy", GROUP) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)]
    return p.build()


def xor(group: int = GROUP) -> Program:
    with program("xor", group) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] ^ KEY
    return p.build()


def saxpy() -> Program:
    with program("saxpy", GROUP) as p:
        x = p.read("x", f32)
        y, out = p.read("y", f32, like=x), p.write("out", f32, like=x)
        i = p.global_id(0)
        out[i] = x[i] * 2.5 + y[i]
    return p.build()


def escape_time() -> Program:
    """How many rounds of z² + c, at most `MAX_ROUNDS`, a point c of the plane stays near the origin."""
    with program("escape_time", GROUP) as p:
        x, y = p.read("x", f32), p.read("y", f32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        real, imaginary = p.let(x[i]), p.let(y[i])
        a, b, rounds = p.var(real), p.var(imaginary), p.var(0, u32)
        with p.range(MAX_ROUNDS):
            aa, bb = p.let(a * a), p.let(b * b)
            with p.if_(aa + bb > 4.0):
                p.break_()
            b.set(a * b * 2.0 + imaginary)
            a.set(aa - bb + real)
            rounds.set(rounds + 1)
        out[i] = rounds
    return p.build()


def polynomial() -> Program:
    """By Horner's rule, each product and each sum rounded."""
    with program("polynomial", GROUP) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        i = p.global_id(0)
        value = x[i] * COEFFICIENTS[-1] + COEFFICIENTS[-2]
        for coefficient in reversed(COEFFICIENTS[:-2]):
            value = value * x[i] + coefficient
        out[i] = value
    return p.build()
