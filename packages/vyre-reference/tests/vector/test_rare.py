"""Rare calls on the vectorised evaluator: computed for the lanes that take them, with the values of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from vyre_driver import acquire
from vyre_foundation.build import call, constant, program
from vyre_foundation.dialects import Composition, register, unregister
from vyre_foundation.dtype import u32
from vyre_foundation.ir import expr as ir
from vyre_foundation.ops import OPS
from vyre_reference.vector.evaluate import steps_of

TYPES = {(u32, u32): u32}


def product(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    return ir.Apply(OPS["mul"], x, y)


def chosen(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """``x y`` for multiples of 8, else y."""
    is_taken = ir.Apply(OPS["eq"], ir.Apply(OPS["and"], x, ir.literal(u32, 7)), ir.literal(u32, 0))
    return ir.Select(is_taken, ir.Call("rare.product", u32, x, y), y)


ROWS = (Composition("rare.product", TYPES, product, rare=True), Composition("rare.chosen", TYPES, chosen))


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(ROWS)
    yield
    unregister(row.id for row in ROWS)


@pytest.mark.parametrize("backend", ["reference", "reference-scalar"])
@pytest.mark.parametrize("length", [1, 7, 64, 1000])
def test_lanes_that_take_it_get_its_value(length: int, backend: str) -> None:
    with program("lanes", 64) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        both = p.write("both", u32, like=a)
        both[i] = call("rare.chosen", a[i], i + 3)
        p.write("uniform", u32, like=a)[i] = call("rare.chosen", a[i], constant(u32, 5))
        p.write("always", u32, like=a)[i] = call("rare.chosen", constant(u32, 8), a[i])
        p.write("direct", u32, like=a)[i] = call("rare.product", a[i], a[i]) + call("rare.chosen", a[i], 1)
    x = np.random.default_rng(1).integers(0, 2**32, length, dtype=np.uint32)
    found = [np.frombuffer(out, np.uint32) for out in acquire(backend).dispatch(p.build(), [x])]
    is_taken, y = x % 8 == 0, np.arange(length, dtype=np.uint32) + np.uint32(3)
    wanted = [
        np.where(is_taken, x * y, y),
        np.where(is_taken, x * np.uint32(5), np.uint32(5)),
        x * np.uint32(8),
        x * x + np.where(is_taken, x, np.uint32(1)),
    ]
    assert [got.tolist() for got in found] == [want.tolist() for want in wanted]


def test_its_steps_are_not_among_those_of_all_lanes() -> None:
    x, y = ir.Local("x", u32), ir.Local("y", u32)
    ops = {step.node.op.id for step in steps_of(chosen(x, y)) if isinstance(step.node, ir.Apply)}
    assert ops == {"and", "eq"}
    alone = {step.node.op.id for step in steps_of(product(x, chosen(x, y))) if isinstance(step.node, ir.Apply)}
    assert alone == {"and", "eq", "mul"}
