"""What comes behind a region in two versions is written behind each of them, where registers hold its memory.

::

    if all in bounds { fill shared } else { fill shared, with checks }  sum shared

becomes

    if all in bounds { fill shared; sum shared } else { fill shared, with checks; sum shared }

Where the versions join, every vector that they leave needs a register of its own. Behind one version alone, sums take
their operands from memory.
"""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.legalization.lowered import RARE
from vyre_driver_cpu.registers import RegisterArrays
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.rename import renamed
from vyre_foundation.ir.stmt import Body, For, If, Region, Stmt
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.validate.declared import declared_locals

_MOST = 400
"""Operations that are written twice."""


def follow_versions(program: Program, stream_bits: int) -> Program:
    """``if c { a } else { rare a }; b``  →  ``if c { a; b } else { rare a; b }``, if registers hold memory of both."""
    if not any(map(_is_in_versions, program.body)):
        return program
    body = _followed(program.body, RegisterArrays(program, stream_bits), Fresh.of(program))
    return program if body is program.body else replace(program, body=body)


def _is_in_versions(stmt: Stmt) -> bool:
    match stmt:
        case If(_, _, (Region(label),)):
            return label == RARE
        case _:
            return False


def _followed(body: Body, registers: RegisterArrays, fresh: Fresh) -> Body:
    for position, stmt in enumerate(body):
        rest = body[position + 1 :]
        match stmt:
            case If(condition, then, (Region(_, slow),)) if (
                _is_in_versions(stmt)
                and _is_short(rest)
                and all(_is_in_registers(part, registers) for part in (then, rest))
            ):
                names = {name: fresh(name) for name in declared_locals(rest)}
                rare = Region(RARE, (*slow, *renamed(rest, names, {})))
                return (*body[:position], If(condition, (*then, *_followed(rest, registers, fresh)), (rare,)))
    return body


def _is_short(body: Body) -> bool:
    seen: set[Expr] = set()
    for stmt in statements(body):
        postorder(expressions(stmt), seen)
        if len(seen) > _MOST:
            return False
    return True


def _is_in_registers(body: Body, registers: RegisterArrays) -> bool:
    """Whether a loop accesses memory that registers hold."""
    return any(isinstance(s, For) and s.is_parallel and registers.lanes(s) is not None for s in statements(body))
