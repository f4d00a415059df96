"""Calls of dialect ops: expanded, or left to a target that has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.lower import legalize
from vyre_foundation.build import call, program
from vyre_foundation.dialects import Composition, register, unregister
from vyre_foundation.dtype import f32
from vyre_foundation.ir import expr as ir
from vyre_foundation.ops import OPS


def square(x: ir.Expr) -> ir.Expr:
    return ir.Apply(OPS["mul"], x, x)


def fourth(x: ir.Expr) -> ir.Expr:
    return ir.Call("lowering.square", f32, ir.Call("lowering.square", f32, x))


@pytest.fixture(autouse=True)
def dialect() -> Iterator[None]:
    rows = [
        Composition("lowering.square", {(f32,): f32}, square),
        Composition("lowering.fourth", {(f32,): f32}, fourth),
    ]
    register(rows)
    yield
    unregister(row.id for row in rows)


def build():
    with program("calls", 4) as p:
        a = p.read("a", f32)
        p.write("out", f32, like=a)[p.global_id(0)] = call("lowering.fourth", a[p.global_id(0)])
    return p.build()


def test_calls_inside_of_compositions_are_expanded_too(case, check):
    lowered = check(case(build(), {"a": [1.5, -2.0, 3.0, 0.0]}), "full")
    assert "lowering" not in str(lowered.kernels[0].program)


def test_what_the_target_has_stays_a_call(dialects):
    native = replace(dialects["full"], calls={("lowering.square", f32): "native_square({0})"})
    program = build()
    text = print_unit(legalize(program, program.validate(), native.target()), native).text
    assert "native_square(native_square(a[global_id_x]))" in text
