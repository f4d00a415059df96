"""Bounds: every access is proven, guarded, or a load that the target checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vyre_driver.lower.declare import declare
from vyre_driver.lower.fresh import Fresh
from vyre_driver.lower.guards import NOTHING, Guards, Known
from vyre_driver.lower.indices import proven_index, unsigned_index
from vyre_driver.lower.ranges import Ranges
from vyre_driver.lower.target import Target
from vyre_driver.lower.transform import rebuilt, transform
from vyre_foundation.dtype import u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Load, Local, literal
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
    Var,
)
from vyre_foundation.ir.walk import postorder, program_expressions, statements, with_expressions
from vyre_foundation.ops import OPS


def guard_accesses(program: Program, ranges: Ranges, target: Target) -> Program:
    """``b[i] = x``  →  ``if i < length(b): b[i] = x (unchecked)``, or no guard where the index is proven

    ``a[i]``  →  ``a[i] (unchecked)`` where proven; other loads stay checked. All indices become unsigned.
    """
    return declare(program, _Bounds(program, ranges, target).body(program.body, NOTHING))


Access = Load | Store | Atomic


class _Bounds:
    def __init__(self, program: Program, ranges: Ranges, target: Target) -> None:
        self._ranges, self._target, self._fresh = ranges, target, Fresh(program)
        loads = self._open(n for n in program_expressions(program) if isinstance(n, Load))
        writes = self._open(s for s in statements(program.body) if isinstance(s, (Store, Atomic)))
        self._loaded = frozenset(x.index for x in loads)
        self._guards = Guards(program, ranges, _parts([*loads, *writes]))
        self._memos: dict[Known, dict[Expr, Expr]] = {}

    def _open(self, accesses: Iterable[Access]) -> list[Access]:
        """The accesses that ranges do not prove: guards matter only for them."""
        return [x for x in accesses if x.checked and not self._in_range(x)]

    def _in_range(self, access: Access) -> bool:
        low, high = self._ranges.of(access.index)
        return isinstance(access.buffer.count, int) and low >= 0 and high < access.buffer.count

    def _proven(self, access: Access, known: Known) -> bool:
        return not access.checked or self._in_range(access) or self._guards.proves(known, access.index, access.buffer)

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _expr(self, root: Expr, known: Known) -> Expr:
        """`root` with every load checked or proven by `known`."""
        memo = self._memos.setdefault(known, {})
        return transform(root, lambda node, args: self._node(node, args, known), memo)

    def _node(self, node: Expr, args: tuple[Expr, ...], known: Known) -> Expr:
        if not isinstance(node, Load):
            return self._ranges.carry(node, rebuilt(node, args))
        if self._proven(node, known):
            return self._ranges.carry(node, Load(node.buffer, proven_index(args[0]), checked=False))
        return self._ranges.carry(node, Load(node.buffer, self._unsigned(node.index, args[0])))

    def _unsigned(self, source: Expr, index: Expr) -> Expr:
        return unsigned_index(index, self._ranges.of(source), self._target)

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def body(self, body: Body, known: Known) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            out += self._stmt(stmt, known)
            if isinstance(stmt, If):
                if leaves(stmt.then):
                    known |= self._guards.holds(stmt.condition, False)
                if leaves(stmt.orelse):
                    known |= self._guards.holds(stmt.condition, True)
        return tuple(out)

    def _stmt(self, stmt: Stmt, known: Known) -> Body:
        match stmt:
            case If(condition, then, orelse):
                yes = known | self._guards.holds(condition, True)
                no = known | self._guards.holds(condition, False)
                return (If(self._expr(condition, known), self.body(then, yes), self.body(orelse, no)),)
            case For(name, start, stop, step, body):
                inside = known | self._guards.counts(Local(name, start.dtype), stop)
                start, stop = self._expr(start, known), self._expr(stop, known)
                return (For(name, start, stop, step, self.body(body, inside)),)
            case Region(label, body):
                return (Region(label, self.body(body, known)),)
            case Store():
                return self._store(stmt, known)
            case Atomic():
                return self._atomic(stmt, known)
            case _:
                return (with_expressions(stmt, lambda e: self._expr(e, known)),)

    def _store(self, stmt: Store, known: Known) -> Body:
        if self._proven(stmt, known):
            index = proven_index(self._expr(stmt.index, known))
            return (Store(stmt.buffer, index, self._expr(stmt.value, known), checked=False),)
        setup, index = self._index(stmt, known)
        if stmt.index in self._loaded and self._guards.is_stable(stmt.index):
            known |= {(stmt.index, Length(stmt.buffer), 1)}
        store = Store(stmt.buffer, index, self._expr(stmt.value, known), checked=False)
        return (*setup, If(_below_length(index, stmt.buffer), (store,)))

    def _atomic(self, stmt: Atomic, known: Known) -> Body:
        """An old value that is used is 0 where nothing is done."""
        value = self._expr(stmt.value, known)
        expected = None if stmt.expected is None else self._expr(stmt.expected, known)
        if self._proven(stmt, known):
            index = proven_index(self._expr(stmt.index, known))
            return (replace(stmt, index=index, value=value, expected=expected, checked=False),)
        setup, index = self._index(stmt, known)
        atomic = replace(stmt, index=index, value=value, expected=expected, checked=False)
        if stmt.result is None:
            return (*setup, If(_below_length(index, stmt.buffer), (atomic,)))
        old = Local(self._fresh(f"{stmt.result}_found"), stmt.buffer.dtype)
        done = (replace(atomic, result=old.name), Assign(stmt.result, old))
        zero = Var(stmt.result, literal(stmt.buffer.dtype, 0))
        return (*setup, zero, If(_below_length(index, stmt.buffer), done))

    def _index(self, stmt: Store | Atomic, known: Known) -> tuple[Body, Expr]:
        """The unsigned index, which the guard and the access share: bound to a local if memory could change it."""
        index = self._unsigned(stmt.index, self._expr(stmt.index, known))
        if self._guards.is_stable(stmt.index):
            return (), index
        bound = Local(self._fresh(f"{stmt.buffer.name}_index"), index.dtype)
        return (Let(bound.name, index),), bound


def _parts(accesses: Iterable[Access]) -> frozenset[Expr]:
    """What conditions must speak of to prove accesses: indices, or for a fixed length what they are made of."""
    fixed = (x.index for x in accesses if isinstance(x.buffer.count, int))
    return frozenset((*postorder(fixed), *(x.index for x in accesses)))


def _below_length(index: Expr, buffer: Buffer) -> Expr:
    length = Length(buffer)
    return Apply(OPS["lt"], index, Cast(u64, length) if index.dtype is u64 else length)


def leaves(body: Body) -> bool:
    """Whether nothing after `body` runs in the same round or invocation."""
    match body[-1:]:
        case (Return() | Break() | Continue(),):
            return True
        case (Region(body=inner),):
            return leaves(inner)
        case (If(then=then, orelse=orelse),):
            return leaves(then) and leaves(orelse)
        case _:
            return False
