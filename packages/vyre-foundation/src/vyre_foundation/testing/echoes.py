"""Random programs say little twice. These do: conditions come again, elements are read and written again.

``echoed(program, seed)`` adds such statements to a program that computes a digest; it stays valid and free of races.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Body, If, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import postorder, with_bodies
from vyre_foundation.ops import OPS

DIGEST = Local("digest", u32)
IS_EVEN = Apply(OPS["eq"], Apply(OPS["and"], DIGEST, literal(u32, 1)), literal(u32, 0))
"""A condition that is another one after every statement that shows something."""

_PLAIN = (Let, Var, Assign, Store)


def echoed(program: Program, seed: int) -> Program:
    """The program with echoes."""
    return replace(program, body=_echoed(program.body, Random(seed)))


def _echoed(body: Body, rng: Random) -> Body:
    out: list[Stmt] = []
    conditions: list[Expr] = []
    stored: list[Store] = []
    shows = False
    for stmt in body:
        stmt = with_bodies(stmt, lambda nested: _echoed(nested, rng))
        if isinstance(stmt, If) and _is_quiet(stmt.condition):
            conditions.append(stmt.condition)
        if not isinstance(stmt, _PLAIN):
            stored = []
        if isinstance(stmt, Assign) and stmt.name == DIGEST.name:  # others may have to be the same in a workgroup
            shows = True
            if rng.random() < 0.6:
                stmt = _guarded(stmt, [*conditions, IS_EVEN], rng)
        out.append(stmt)
        if isinstance(stmt, Store) and stmt.buffer.access.reads:
            stored.append(stmt)
        if stored and shows and isinstance(stmt, _PLAIN) and rng.random() < 0.6:
            again = rng.choice(stored)
            if rng.random() < 0.3:
                index = Apply(OPS["or"], again.index, Literal(again.index.dtype, 0))
                out.append(replace(again, index=index, value=Literal(again.value.dtype, rng.randrange(2))))
            out.append(_show(Load(again.buffer, again.index)))
    return tuple(out)


def _is_quiet(condition: Expr) -> bool:
    """Whether it reads no memory that others may write by now."""
    return not any(isinstance(node, Load) and node.buffer.access.writes for node in postorder((condition,)))


def _guarded(stmt: Assign, conditions: list[Expr], rng: Random) -> If:
    condition = rng.choice(conditions)
    if rng.random() < 0.4:
        condition = Apply(OPS["not"], condition)
    again = If(condition, (_show(DIGEST),)) if rng.random() < 0.5 else _show(DIGEST)
    return If(condition, (stmt, again), (stmt,) if rng.random() < 0.3 else ())


def _show(value: Expr) -> Assign:
    mixed = Apply(OPS["xor"], DIGEST, Cast(u32, value))
    return Assign(DIGEST.name, Apply(OPS["mul"], mixed, literal(u32, 16777619)))
