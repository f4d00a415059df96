"""Negations of integers that a compiler cannot see, where words are shifted.

A compiler with a flaw takes the sign of ``-x``, spread over the word, for that of ``x > 0``: the least value, whose
negation is itself, loses its sign. The sign is spread by a shift, which may be a part of something else (a product's
high half, a shift in two steps), and a negation has many spellings that compilers know to be one. So the constant in it
becomes a value that the compiler cannot know. That costs nothing: there was an operation before, and there is one now.

Compiler: Intel's CPU runtime, seen in 2026.22. Programs: `tests/test_optimizers.py`, without the pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vyre_driver.legalization.declare import declare
from vyre_driver_opencl.quirks.hidden_constants import HiddenConstants
from vyre_foundation.ir.expr import Apply, Expr, Literal, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ir.walk import program_expressions, rebuilt, rewrite_body, statements, transform, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.passes import Pass

_SHIFTS = frozenset("raw_shr shr mul_high".split())
"""What spreads a sign, or has a shift in its spelling."""


def hide_negations(program: Program, context: object) -> Program:
    """Make integer negations opaque to the compiler.

    ``0 - x``  →  ``let zero = select(num_workgroups.x == 0, 1, 0); … zero - x``

    Of legalized programs: nothing but what the target spells is in them, nor in the result. A launch has workgroups.
    """
    if not any(isinstance(node, Apply) and node.op.id in _SHIFTS for node in program_expressions(program)):
        return program
    hider, memo = _Hider(program), dict[Expr, Expr]()
    body = rewrite_body(program.body, lambda s: with_expressions(s, lambda e: transform(e, hider.node, memo)))
    return declare(program, (*hider.constants.lets, *body) if hider.constants.lets else program.body)


HIDE_NEGATIONS: Pass[object] = Pass(
    "hide-negations", "Hide negations of integers where words are shifted", hide_negations
)


@dataclass(frozen=True, slots=True)
class _Step:
    """``constant + operand`` or, if it `is_negative`, ``constant - operand``. `place`: which operand of the node."""

    constant: int
    is_negative: bool
    operand: Expr
    place: int


class _Hider:
    """`constants` are those that the compiler must not know."""

    def __init__(self, program: Program) -> None:
        self.constants = HiddenConstants(program)
        self._lets: Mapping[str, Expr] = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}

    def node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        step = _step(node)
        if step is None or not self._negates(node):
            return rebuilt(node, args)
        constant = step.constant % (1 << node.dtype.bits)
        hidden = self.constants.of(node.dtype, constant, constant ^ 1)
        return Apply(OPS["sub" if step.is_negative else "add"], hidden, args[step.place])

    def _negates(self, node: Expr) -> bool:
        """Whether ``node`` is ``-x`` for some x that it is made of, in one step or several."""
        sign, offset = 1, 0
        for step in self._steps(node):
            offset += sign * step.constant
            sign = -sign if step.is_negative else sign
            if sign < 0 and offset % (1 << node.dtype.bits) == 0:
                return True
        return False

    def _steps(self, node: Expr) -> Iterator[_Step]:
        while (step := _step(self._lets.get(node.name, node) if isinstance(node, Local) else node)) is not None:
            yield step
            node = step.operand


def _step(node: Expr) -> _Step | None:
    """What an operation with a constant does, if it adds it, or subtracts from it."""
    if not (isinstance(node, Apply) and node.dtype.is_integer):
        return None
    match node.op.id, node.args:
        case "neg", (x,):
            return _Step(0, True, x, 0)
        case "not", (x,):
            return _Step(-1, True, x, 0)
        case ("xor" | "mul" | "add") as op, (first, second):
            constant, operand, place = (first, second, 1) if isinstance(first, Literal) else (second, first, 0)
            if not isinstance(constant, Literal):
                return None
            if op == "add":
                return _Step(constant.bits, False, operand, place)
            is_ones = constant.bits == (1 << node.dtype.bits) - 1
            return _Step(-1 if op == "xor" else 0, True, operand, place) if is_ones else None
        case "sub", (Literal(bits=bits), x):
            return _Step(bits, True, x, 1)
        case "sub", (x, Literal(bits=bits)):
            return _Step(-bits, False, x, 0)
        case _:
            return None
