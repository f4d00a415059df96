"""Statements to bytes: tags in the order of the program, and columns of their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vyre_foundation.ir.buffer import Buffer
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
from vyre_foundation.wire.errors import NestingTooDeep
from vyre_foundation.wire.varint import write_column

if TYPE_CHECKING:
    from vyre_foundation.ir.program import Program
    from vyre_foundation.wire.encode import Strings

_BINDINGS: dict[type[Stmt], int] = {Let: f.LET, Var: f.VAR, Assign: f.ASSIGN}


class StatementColumns:
    """The fields of all statements of `body`; `roots` are the expressions that they evaluate."""

    def __init__(self, body: Body) -> None:
        self.tags = bytearray()
        self.details = bytearray()
        self.locals: list[str] = []
        self.labels: list[str] = []
        self.buffers: list[Buffer] = []
        self.numbers: list[int] = []
        self.roots: list[Expr] = []
        self._body(body, 0)

    @staticmethod
    def of(program: Program) -> StatementColumns:
        """Collect the columns of the body of `program`."""
        return StatementColumns(program.body)

    def _body(self, body: Body, depth: int) -> None:
        if body and depth > MAX_NESTING:
            raise NestingTooDeep(
                f"statements are nested more than {MAX_NESTING} deep",
                fix="nest less, or compute conditions with `select`",
            )
        for stmt in body:
            self.tags.append(self._statement(stmt))
            match stmt:
                case If():
                    self._body(stmt.then, depth + 1)
                    self.tags.append(f.ELSE)
                    self._body(stmt.orelse, depth + 1)
                    self.tags.append(f.END)
                case For() | Region():
                    self._body(stmt.body, depth + 1)
                    self.tags.append(f.END)

    def _statement(self, stmt: Stmt) -> int:
        """The tag of `stmt`; its fields go to their columns."""
        match stmt:
            case Store():
                self.buffers.append(stmt.buffer)
                self.roots += (stmt.index, stmt.value)
                return f.STORE if stmt.checked else f.STORE_UNCHECKED
            case Let() | Var() | Assign():
                self.locals.append(stmt.name)
                self.roots.append(stmt.value)
                return _BINDINGS[type(stmt)]
            case If():
                self.roots.append(stmt.condition)
                return f.IF
            case For():
                self.locals.append(stmt.name)
                self.numbers.append(stmt.step)
                self.roots += (stmt.start, stmt.stop)
                return f.FOR
            case Region():
                self.labels.append(stmt.label)
                return f.REGION
            case Atomic():
                return self._atomic(stmt)
            case Subgroup():
                return self._subgroup(stmt)
            case Trap():
                self.labels.append(stmt.tag)
                self.roots.append(stmt.code)
                return f.TRAP
            case IndirectDispatch():
                self.buffers.append(stmt.buffer)
                self.numbers.append(stmt.offset)
                return f.INDIRECT_DISPATCH
            case Barrier():
                return f.BARRIER_GRID if stmt.scope is Scope.GRID else f.BARRIER_WORKGROUP
            case Break():
                return f.BREAK
            case Continue():
                return f.CONTINUE
            case Return():
                return f.RETURN

    def _atomic(self, stmt: Atomic) -> int:
        self.details.append(f.ATOMIC_OPS[stmt.op])
        self.buffers.append(stmt.buffer)
        self.roots += (stmt.index, stmt.value)
        tag = f.ATOMIC + self._result(stmt.result) + (0 if stmt.checked else f.IS_UNCHECKED)
        if stmt.expected is None:
            return tag
        self.roots.append(stmt.expected)
        return tag + f.HAS_EXPECTED

    def _subgroup(self, stmt: Subgroup) -> int:
        self.details.append(f.SUBGROUP_OPS[stmt.op])
        self.roots.append(stmt.value)
        tag = f.SUBGROUP + self._result(stmt.result)
        if stmt.lane is None:
            return tag
        self.roots.append(stmt.lane)
        return tag + f.HAS_LANE

    def _result(self, name: str | None) -> int:
        if name is None:
            return 0
        self.locals.append(name)
        return f.HAS_RESULT

    def to_bytes(self, numbers: Mapping[Buffer, int], strings: Strings, rename: Callable[[str], str]) -> bytes:
        """The section, with buffers written as their `numbers`."""
        columns = (
            write_column((len(self.tags),)),
            bytes(self.tags),
            bytes(self.details),
            strings.references(map(rename, self.locals)),
            strings.references(self.labels),
            write_column([numbers[buffer] for buffer in self.buffers]),
            write_column(self.numbers),
        )
        return b"".join(columns)
