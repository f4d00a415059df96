"""Bytes to statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.stmt import (
    MAX_NESTING,
    Assign,
    Atomic,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    IndirectDispatch,
    Let,
    Region,
    Return,
    Scope,
    Stmt,
    Store,
    Subgroup,
    Trap,
    Var,
)
from vyre_foundation.wire import format as f
from vyre_foundation.wire.decode_tables import BufferTable, StringTable
from vyre_foundation.wire.errors import Malformed, NestingTooDeep, UnknownTag
from vyre_foundation.wire.reader import Reader, only, refuse

_ATOMICS = bytes(range(f.ATOMIC, f.ATOMIC + 8))
_SUBGROUPS = bytes(range(f.SUBGROUP, f.SUBGROUP + 4))
_ATOMIC_OPS = {tag: op for op, tag in f.ATOMIC_OPS.items()}
_SUBGROUP_OPS = {tag: op for op, tag in f.SUBGROUP_OPS.items()}
_WITH_LOCAL = bytes([f.LET, f.VAR, f.ASSIGN, f.FOR, *[tag for tag in _ATOMICS + _SUBGROUPS if tag & f.HAS_RESULT]])
_WITH_LABEL = bytes([f.TRAP, f.REGION])
_WITH_BUFFER = bytes([f.STORE, f.STORE_UNCHECKED, f.INDIRECT_DISPATCH, *_ATOMICS])
_WITH_NUMBER = bytes([f.FOR, f.INDIRECT_DISPATCH])
_KNOWN = bytes([*range(f.REGION + 1), *_ATOMICS, *_SUBGROUPS])


@dataclass(slots=True)
class _Open:
    """A statement whose bodies are being read: the body that it belongs to, how to make it, and its first body."""

    tag: int
    outer: list[Stmt]
    make: Callable[..., Stmt]
    then: Body | None = None


class StatementReader:
    """The tags of all statements and the columns that they consume; `roots` are the expressions that they evaluate."""

    def __init__(self, reader: Reader, buffers: BufferTable, strings: StringTable, roots: list[Expr]) -> None:
        count = reader.number()
        self.start = reader.at
        self.tags = tags = reader.tags(count, _KNOWN, "statement")
        self.details = iter(read_details(reader, only(_ATOMICS + _SUBGROUPS, tags)))
        self.locals = iter(strings.read(reader, len(only(_WITH_LOCAL, tags))))
        self.labels = iter(strings.read(reader, len(only(_WITH_LABEL, tags))))
        self.buffers = iter(buffers.read(reader, len(only(_WITH_BUFFER, tags))))
        self.numbers = iter(reader.numbers(len(only(_WITH_NUMBER, tags))))
        self.roots = iter(roots)

    def run(self) -> Body:
        """The body of the program."""
        body: list[Stmt] = []
        opened: list[_Open] = []
        at = self.start
        try:
            for at, tag in enumerate(self.tags, self.start):
                if tag in (f.ELSE, f.END):
                    body = self._close(at, tag, opened, body)
                elif len(opened) > MAX_NESTING:
                    refuse(NestingTooDeep, at, f"a statement is inside of more than {MAX_NESTING} others")
                elif tag in (f.IF, f.FOR, f.REGION):
                    opened.append(_Open(tag, body, self._open(tag)))
                    body = []
                else:
                    body.append(self._simple(tag))
        except StopIteration:
            refuse(Malformed, at, "the expressions end before the statements")
        if opened:
            refuse(Malformed, at, "a body is not closed")
        if next(self.roots, None) is not None:
            refuse(Malformed, at, "the statements end before the expressions")
        return tuple(body)

    def _close(self, at: int, tag: int, opened: list[_Open], body: list[Stmt]) -> list[Stmt]:
        """End `body` and give the one that goes on."""
        has_else = opened and opened[-1].tag == f.IF and opened[-1].then is None
        if not opened or has_else != (tag == f.ELSE):
            refuse(Malformed, at, "an `else` without `if`, an `if` without `else`, or the end of nothing")
        innermost = opened[-1]
        if has_else:
            innermost.then = tuple(body)
            return []
        opened.pop()
        bodies = () if innermost.then is None else (innermost.then,)
        innermost.outer.append(innermost.make(*bodies, tuple(body)))
        return innermost.outer

    def _open(self, tag: int) -> Callable[..., Stmt]:
        """How to make a statement of its bodies."""
        if tag == f.IF:
            return partial(If, next(self.roots))
        if tag == f.FOR:
            return partial(For, next(self.locals), next(self.roots), next(self.roots), next(self.numbers))
        return partial(Region, next(self.labels))

    def _simple(self, tag: int) -> Stmt:
        """A statement without bodies."""
        match tag:
            case f.LET:
                return Let(next(self.locals), next(self.roots))
            case f.VAR:
                return Var(next(self.locals), next(self.roots))
            case f.ASSIGN:
                return Assign(next(self.locals), next(self.roots))
            case f.STORE | f.STORE_UNCHECKED:
                return Store(next(self.buffers), next(self.roots), next(self.roots), tag == f.STORE)
            case f.BREAK:
                return Break()
            case f.CONTINUE:
                return Continue()
            case f.RETURN:
                return Return()
            case f.BARRIER_WORKGROUP:
                return Barrier(Scope.WORKGROUP)
            case f.BARRIER_GRID:
                return Barrier(Scope.GRID)
            case f.TRAP:
                return Trap(next(self.roots), next(self.labels))
            case f.INDIRECT_DISPATCH:
                return IndirectDispatch(next(self.buffers), next(self.numbers))
            case _ if tag < f.SUBGROUP:
                return self._atomic(tag - f.ATOMIC)
            case _:
                return self._subgroup(tag - f.SUBGROUP)

    def _atomic(self, flags: int) -> Atomic:
        op, buffer = _ATOMIC_OPS[next(self.details)], next(self.buffers)
        index, value = next(self.roots), next(self.roots)
        expected = next(self.roots) if flags & f.HAS_EXPECTED else None
        result = next(self.locals) if flags & f.HAS_RESULT else None
        return Atomic(op, buffer, index, value, expected, result, not flags & f.IS_UNCHECKED)

    def _subgroup(self, flags: int) -> Subgroup:
        op, value = _SUBGROUP_OPS[next(self.details)], next(self.roots)
        lane = next(self.roots) if flags & f.HAS_LANE else None
        return Subgroup(op, value, lane, next(self.locals) if flags & f.HAS_RESULT else None)


def read_details(reader: Reader, tags: bytes) -> bytes:
    """Which op each of the atomics and collectives in `tags` is."""
    start = reader.at
    details = reader.take(len(tags))
    for at, (tag, detail) in enumerate(zip(tags, details, strict=True), start):
        if detail not in (_ATOMIC_OPS if tag < f.SUBGROUP else _SUBGROUP_OPS):
            refuse(UnknownTag, at, f"no {'atomic' if tag < f.SUBGROUP else 'collective'} has the tag {detail}")
    return details
