"""Dead stores: what loops store to private arrays in iterations whose elements are loaded nowhere.

In a scan every invocation keeps an element for behind a barrier. The first few do not use theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from vyre_driver.legalization.target import Target
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Expr, Literal, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Body, For, Let, Stmt, Store
from vyre_foundation.ir.walk import expressions, postorder, rewrite_body, statements


def drop_dead_stores(program: Program, target: Target) -> Program:
    """Remove stores to elements of private arrays that are not loaded, and loops that do nothing without them.

    ``for l in 0..4: a[l] = 0; for l in 4..64: a[l] = x[l]; for l in 4..64: f(a[l])``  →  the same without the first

    Only for targets with `loop_versioning`, whose loops are split.
    """
    if not target.loop_versioning or not any(b.memory is Memory.PRIVATE for b in program.buffers):
        return program
    counters = _counters(statements(program.body))
    loaded: dict[Buffer, set[range | None]] = {}
    for buffer, index in _loads(program):
        loaded.setdefault(buffer, set()).add(_elements(index, counters))

    def is_dead(stmt: Store) -> bool:
        written = _elements(stmt.index, counters)
        if stmt.buffer.memory is not Memory.PRIVATE or written is None:
            return False
        return not any(read is None or _overlap(read, written) for read in loaded.get(stmt.buffer, ()))

    def each(stmt: Stmt) -> Stmt | Body:
        match stmt:
            case Store() if is_dead(stmt):
                return ()
            case For(body=body) if all(isinstance(s, Let) for s in body):
                return ()
            case _:
                return stmt

    body = rewrite_body(program.body, each)
    return program if body is program.body else replace(program, body=body)


def _counters(stmts: Iterable[Stmt]) -> dict[Expr, range | None]:
    """The values of the counters of loops; None where they are not known."""
    found: dict[Expr, range | None] = {}
    for stmt in stmts:
        match stmt:
            case For(name, Literal() as start, Literal() as stop):
                counter, values = Local(name, start.dtype), range(int(start.value), int(stop.value))
                found[counter] = values if found.get(counter, values) == values else None
            case For(name, start):
                found[Local(name, start.dtype)] = None
            case _:
                pass
    return found


def _loads(program: Program) -> Iterator[tuple[Buffer, Expr]]:
    """What is loaded, and what atomics access."""
    for stmt in statements(program.body):
        if isinstance(stmt, Atomic):
            yield stmt.buffer, stmt.index
        for node in postorder(expressions(stmt)):
            if isinstance(node, Load):
                yield node.buffer, node.index


def _elements(index: Expr, counters: dict[Expr, range | None]) -> range | None:
    """The elements that an index is; None where they are not known."""
    if isinstance(index, Literal):
        return range(int(index.value), int(index.value) + 1)
    return counters.get(index)


def _overlap(a: range, b: range) -> bool:
    return a.start < b.stop and b.start < a.stop
