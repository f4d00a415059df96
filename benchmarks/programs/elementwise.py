"""One result for each element, from nothing but that element."""

from __future__ import annotations

from programs.sizes import GROUP, KEY
from vyre_foundation import Program, f32, program, u32

COEFFICIENTS = tuple((-1) ** k / (1 + k) for k in range(33))
"""Of a polynomial of degree 32, from the constant term up."""


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
