"""Loops that count by more than one: the last step could leave the counter's type."""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.legalization.coordinates import add, multiply
from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.forms.forms import Forms
from vyre_driver.legalization.ranges import Ranges
from vyre_foundation.ir.expr import Apply, Bitcast, Expr, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, For, Let, Stmt
from vyre_foundation.ir.walk import rewrite_body, statements
from vyre_foundation.ops import OPS


def count_steps(program: Program, ranges: Ranges, forms: Forms) -> Program:
    """Replace loops whose last step may leave the counter's type by loops over iterations.

    ``for i in [a, b) step k``  →  ``let first = a; for n in [0, steps): let i = first + n * k; …``

    Only where ``i + k`` may leave the register of `i`: then the steps are counted, not the values.
    """
    if all(stmt.step == 1 for stmt in statements(program.body) if isinstance(stmt, For)):
        return program
    fresh = Fresh.of(program)

    def counted(stmt: Stmt) -> Stmt | Body:
        if not isinstance(stmt, For) or _stays_in_range(stmt, ranges, forms):
            return stmt
        return _counted(stmt, fresh)

    return declare(program, rewrite_body(program.body, counted))


def _stays_in_range(loop: For, ranges: Ranges, forms: Forms) -> bool:
    register = forms.carrier(loop.start.dtype)
    return loop.step == 1 or ranges.of(loop.stop).high + loop.step - 1 <= register.highest


def _counted(loop: For, fresh: Fresh) -> Body:
    """The difference of the bounds fits the unsigned type, and so does the number of steps."""
    dtype = loop.start.dtype
    unsigned = dtype.unsigned
    first, number = Local(fresh(f"{loop.name}_first"), dtype), Local(fresh(f"{loop.name}_step"), unsigned)
    steps: Expr = literal(unsigned, 1)
    if loop.step <= unsigned.highest:
        last = Apply(OPS["sub"], Apply(OPS["sub"], _bits(loop.stop), _bits(first)), literal(unsigned, 1))
        steps = add(Apply(OPS["div"], last, literal(unsigned, loop.step)), literal(unsigned, 1))
    steps = Select(Apply(OPS["lt"], first, loop.stop), steps, literal(unsigned, 0))
    value = add(_bits(first), multiply(number, literal(unsigned, loop.step & unsigned.highest)))
    counter = value if unsigned is dtype else Bitcast(dtype, value)
    body = (Let(loop.name, counter), *loop.body)
    counted = replace(loop, name=number.name, start=literal(unsigned, 0), stop=steps, step=1, body=body)
    return (Let(first.name, loop.start), counted)


def _bits(x: Expr) -> Expr:
    return x if x.dtype.unsigned is x.dtype else Bitcast(x.dtype.unsigned, x)
