"""Removal of what has no effect: unread locals, memory that is only written, empty blocks, jumps to what is next.

::

    let x = a[0];                          atomic add(b[0], 1);
    private_only[0] = x;
    let old = atomic add(b[0], 1);    →
    if a[1] == 2 {
      return;
    }

Traps, barriers and writes of memory that the host, other invocations or a later dispatch may read always stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Load, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Body,
    Break,
    Continue,
    For,
    If,
    Let,
    Region,
    Return,
    Stmt,
    Store,
    Subgroup,
    Var,
)
from vyre_foundation.ir.walk import bodies, expressions, same_body, with_bodies
from vyre_foundation.ops import OPS
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Facts

_FLEETING = (Memory.SCRATCH, Memory.WORKGROUP, Memory.PRIVATE)
"""Memory that is gone when the dispatch has ended."""


def remove_dead_code(program: Program, facts: Facts) -> Program:
    """The program without what has no effect."""
    body = _Sweep(program.body).live()
    while (ending := _without_last_jumps(body, Return)) is not body:
        body = _Sweep(ending).live()
    return program if body is program.body else replace(program, body=body)


# ── what is needed ───────────────────────────────────────────────────────────────────────────────────────────────────


class _Entry(NamedTuple):
    """A statement, the number of the one around it, and that of the innermost loop around it (-1: none)."""

    stmt: Stmt
    parent: int
    loop: int


class _Sweep:
    """Marks what is needed, beginning with effects; then drops the rest."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._entries: list[_Entry] = []
        self._gives: dict[str, list[int]] = {}
        self._writes: dict[Buffer, list[int]] = {}
        self._jumps: dict[int, list[int]] = {}
        self._enter(body, -1, -1)
        self._needed = [False] * len(self._entries)
        self._results: set[int] = set()
        self._seen: set[Expr] = set()
        self._work: list[int] = []
        for number, entry in enumerate(self._entries):
            if _is_effect(entry.stmt) and not _is_idle(entry.stmt):
                self._need(number)
        while self._work:
            self._need_operands(self._work.pop())

    def _enter(self, body: Body, parent: int, loop: int) -> None:
        for stmt in body:
            number = len(self._entries)
            self._entries.append(_Entry(stmt, parent, loop))
            match stmt:
                case _ if _is_idle(stmt):
                    continue
                case Let(name=name) | Var(name=name) | Assign(name=name) | Subgroup(result=str(name)):
                    self._gives.setdefault(name, []).append(number)
                case Store(buffer=buffer) | Atomic(buffer=buffer):
                    self._writes.setdefault(buffer, []).append(number)
                    if isinstance(stmt, Atomic) and stmt.result is not None:
                        self._gives.setdefault(stmt.result, []).append(number)
                case Break() | Continue():
                    self._jumps.setdefault(loop, []).append(number)
                case _:
                    pass
            for nested in bodies(stmt):
                self._enter(nested, number, number if isinstance(stmt, For) else loop)

    # ── marking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _need(self, number: int) -> None:
        if number >= 0 and not self._needed[number]:
            self._needed[number] = True
            self._work.append(number)

    def _need_operands(self, number: int) -> None:
        """What a needed statement needs: that around it, jumps inside a loop, locals and memory that it reads."""
        stmt, parent, _ = self._entries[number]
        self._need(parent)
        for jump in self._jumps.get(number, ()):
            self._need(jump)
        work = [root for root in expressions(stmt) if root not in self._seen]
        while work:
            node = work.pop()
            if node in self._seen:
                continue
            self._seen.add(node)
            work += node.args
            if isinstance(node, Local):
                self._need_local(node.name)
            elif isinstance(node, Load):
                self._need_memory(node.buffer)

    def _need_local(self, name: str) -> None:
        for number in self._gives.pop(name, ()):
            self._need(number)
            stmt = self._entries[number].stmt
            if isinstance(stmt, Atomic):
                self._results.add(number)
                self._need_memory(stmt.buffer)

    def _need_memory(self, buffer: Buffer) -> None:
        for number in self._writes.pop(buffer, ()):
            self._need(number)

    # ── dropping ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def live(self) -> Body:
        """The body with what is needed; the same object if that is all."""
        numbers = iter(range(len(self._entries)))
        return self._live(self._body, numbers)

    def _live(self, body: Body, numbers: Iterator[int]) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            number = next(numbers)
            new = with_bodies(stmt, lambda nested: self._live(nested, numbers))
            if not self._needed[number]:
                continue
            if isinstance(new, Atomic) and new.result is not None and number not in self._results:
                new = replace(new, result=None)
            out.append(_with_then(new) if isinstance(new, If) else new)
        return same_body(body, out)


def _is_effect(stmt: Stmt) -> bool:
    """Whether it has an effect, wherever it stands. Jumps out of a loop matter where the loop does."""
    match stmt:
        case Store() | Atomic():
            return stmt.buffer.memory not in _FLEETING
        case Let() | Var() | Assign() | Subgroup() | If() | For() | Region() | Break() | Continue():
            return False
        case _:
            return True


def _is_idle(stmt: Stmt) -> bool:
    """Whether it writes what is there. Floats and bools get their canonical bytes by that, so it matters for them."""
    match stmt:
        case Assign(name, Local(value)):
            return name == value
        case Store(buffer, index, Load() as value):
            return value.buffer is buffer and value.index is index and buffer.dtype.is_integer
        case _:
            return False


def _with_then(stmt: If) -> If:
    """Rewrite ``if c {} else { … }`` as ``if not(c) { … }``."""
    if stmt.then or not stmt.orelse:
        return stmt
    condition = stmt.condition
    is_not = isinstance(condition, Apply) and condition.op.id == "not"
    return If(condition.args[0] if is_not else Apply(OPS["not"], condition), stmt.orelse)


# ── jumps to what comes next ─────────────────────────────────────────────────────────────────────────────────────────


def _without_last_jumps(body: Body, jump: type[Stmt] | None) -> Body:
    """`body`, which ends where `jump` goes (None: where no jump goes), without such jumps at its ends.

    With a jump goes what stands before it without effect: declarations and empty branches.
    """
    out, ending = list(body), list[Stmt]()
    while jump is not None and out:
        last = out.pop()
        if isinstance(last, (If, Region)):
            last = with_bodies(last, lambda nested: _without_last_jumps(nested, jump))
            if any(bodies(last)):
                ending.append(_with_then(last) if isinstance(last, If) else last)
                break
        elif not isinstance(last, (jump, Let, Var)):
            out.append(last)
            break
    for number, stmt in enumerate(out):
        end = Continue if isinstance(stmt, For) else None
        out[number] = with_bodies(stmt, lambda nested, end=end: _without_last_jumps(nested, end))  # type: ignore[misc]
    return same_body(body, [*out, *ending])


DEAD = Pass("dead", "Remove statements without effect", remove_dead_code)
