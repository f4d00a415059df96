"""Programs that do nothing unless a word is not 0, for iterations of a loop that were enqueued past its end."""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Length, Load, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, If, Scope, Stmt, Store
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.validate import InvalidProgram


def guarded(program: Program) -> Program | None:
    """Guard a program by a word: the least change after which it may be launched without effect.

    Args:
        program: A valid program.

    Returns:
        The program with one more input at the end, a `u32`. If it is 0 nothing is written, else the program does what
        it did before, except that outputs which were only written are read and written: they do not begin as zeros.
        None if the program cannot be guarded: its grid is read from a buffer, or it has barriers of the grid or control
        flow that is not valid within a condition.
    """
    return program.memoised(_guarded)


def _guarded(program: Program) -> Program | None:
    if find_indirect_dispatch(program) is not None:
        return None
    if any(stmt.scope is Scope.GRID for stmt in program.of(Barrier)):
        return None
    bound = [buffer for buffer in program.buffers if buffer.memory.is_bound]
    word = Buffer(Fresh.of(program)("go"), u32, Access.READ, count=1, binding=len(bound))
    changed = {b: _in_place(b) for b in program.buffers}
    memo: dict[Expr, Expr] = {}

    def node(expr: Expr) -> Expr:
        match expr:
            case Load(buffer, index):
                return Load(changed[buffer], index)
            case Length(buffer):
                return Length(changed[buffer])
        return expr

    def statement(stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, lambda expr: rewrite(expr, node, memo))
        return replace(stmt, buffer=changed[stmt.buffer]) if isinstance(stmt, Store | Atomic) else stmt

    runs = Apply(OPS["ne"], Load(word, literal(u32, 0)), literal(u32, 0))
    body = (If(runs, rewrite_body(program.body, statement)),)
    others = [changed[buffer] for buffer in program.buffers if not buffer.memory.is_bound]
    buffers = (*[changed[buffer] for buffer in bound], word, *others)
    result = replace(program, buffers=buffers, body=body)
    try:
        result.validate()
    except InvalidProgram:
        return None
    return result


def _in_place(buffer: Buffer) -> Buffer:
    is_only_written = buffer.memory is Memory.STORAGE and buffer.access is Access.WRITE
    return buffer.replace(access=Access.READ_WRITE) if is_only_written else buffer
