"""Comparisons from which a compiler cannot see that they leave one invocation alone.

A compiler with a flaw makes bounds of its loop over work items of comparisons with the global id. Where one id is left,
as in ``if global_id.x == n``, and a loop is behind the comparison, it may end. So the id in such a comparison becomes a
value that it cannot know.

Compiler: Intel's CPU runtime, seen in 2026.22. Programs: `tests/test_optimizers.py`, without the pass.
"""

from __future__ import annotations

from typing import NamedTuple

from vyre_driver.legalization.declare import declare
from vyre_driver_opencl.quirks.hidden_constants import HiddenConstants
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import For
from vyre_foundation.ir.walk import program_expressions, rebuilt, rewrite_body, statements, transform, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.ops.compare import MIRRORED
from vyre_foundation.passes import Pass

# For ``id OP constant``: how far behind the constant the first id is that is treated otherwise than the one before it.
_STEPS = {"lt": 0, "ge": 0, "le": 1, "gt": 1}
_IDS = 2**32


def hide_single_ids(program: Program, context: object) -> Program:
    """Make comparisons of an id with one number opaque to the compiler.

    ``if global_id.x == n { … }``  →
    ``let ones = select(num_workgroups.x == 0, 0xFFFFFFFE, 0xFFFFFFFF); if (global_id.x & ones) == n { … }``

    Of legalized programs with loops. Comparisons that leave more than one id are left, as compilers gain by them.
    """
    if not any(isinstance(stmt, For) for stmt in statements(program.body)):
        return program
    hidden = _hidden(program)
    if not hidden:
        return program
    constants, memo = HiddenConstants(program), dict[Expr, Expr]()

    def rule(node: Expr, args: tuple[Expr, ...]) -> Expr:
        if node not in hidden:
            return rebuilt(node, args)
        place = hidden[node]
        ones = (1 << args[place].dtype.bits) - 1
        unknown = Apply(OPS["and"], args[place], constants.of(args[place].dtype, ones, ones - 1))
        return node.rebuild((*args[:place], unknown, *args[place + 1 :]))

    body = rewrite_body(program.body, lambda s: with_expressions(s, lambda e: transform(e, rule, memo)))
    return declare(program, (*constants.lets, *body))


HIDE_SINGLE_IDS: Pass[object] = Pass(
    "hide-single-ids", "Hide that a comparison leaves one invocation where there are loops", hide_single_ids
)


class _Cut(NamedTuple):
    """The effect of a comparison on the ids.

    Each of `borders` is the first id that is treated otherwise than the one before. `place`: which operand is the id.
    """

    place: int
    borders: frozenset[int]


def _hidden(program: Program) -> dict[Expr, int]:
    """The comparisons that leave one id, and which of their operands it is."""
    found: dict[Expr, int] = {}
    cuts: dict[Expr, _Cut] = {}
    for node in program_expressions(program):
        place = _place(node)
        if place is None or not isinstance(node, Apply):
            continue
        if node.op.id in ("eq", "ne"):
            found[node] = place
        elif isinstance(constant := node.args[1 - place], Literal):
            cuts[node] = _Cut(place, _borders(node, place, constant.bits))
    borders = frozenset({0}).union(*(cut.borders for cut in cuts.values()))
    for node, cut in cuts.items():
        if any((border + step) % _IDS in borders for border in cut.borders for step in (-1, 1)):
            found[node] = cut.place
    return found


def _place(node: Expr) -> int | None:
    """Which operand of a comparison is the global id on x, if one is."""
    if not isinstance(node, Apply) or not (node.op.id in _STEPS or node.op.id in ("eq", "ne")):
        return None
    return next((place for place, arg in enumerate(node.args) if _offset(arg) is not None), None)


def _borders(node: Apply, place: int, constant: int) -> frozenset[int]:
    op = node.op.id if place == 0 else MIRRORED[node.op.id]
    offset = _offset(node.args[place]) or 0
    return frozenset((-offset % _IDS, (constant + _STEPS[op] - offset) % _IDS))


def _offset(node: Expr) -> int | None:
    """What is added to the global id on x, of whatever width; None for anything else."""
    match node:
        case Id(kind=IdKind.GLOBAL_ID, axis=0):
            return 0
        case Cast(args=(inner,)):
            return _offset(inner)
        case Apply(op=op, args=(inner, Literal(bits=bits))) if op.id in ("add", "sub"):
            offset = _offset(inner)
            return None if offset is None else offset + (bits if op.id == "add" else -bits)
        case _:
            return None
