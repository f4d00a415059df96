"""Bounds: every access is proven, guarded, or a load that the target checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.guards import NOTHING, Guards, Known
from vyre_driver.legalization.indices import proven_index, unsigned_index
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.scopes import find_scopes
from vyre_driver.legalization.target import Target
from vyre_foundation.dtype import u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
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
from vyre_foundation.ir.walk import postorder, rebuilt, statements, transform, with_expressions
from vyre_foundation.ops import OPS


def guard_accesses(program: Program, ranges: Ranges, target: Target, proofs: type[Guards] = Guards) -> Program:
    """Prove the bounds of accesses, or guard them.

    ``b[i] = x``  →  ``if i < length(b): b[i] = x (unchecked)``, or no guard where the index is proven

    ``a[i]``  →  ``a[i] (unchecked)`` where proven; other loads stay checked. All indices become unsigned. `proofs` is
    what decides whether conditions prove an index.
    """
    return declare(program, _Bounds(program, ranges, target, proofs).body(program.body, NOTHING))


Access = Load | Store | Atomic


class _Bounds:
    """Decides about every load once, at the first statement at the level of all its uses.

    What is proven there is proven for all uses, and may be computed there for all of them.
    """

    def __init__(self, program: Program, ranges: Ranges, target: Target, proofs: type[Guards]) -> None:
        self._ranges, self._target, self._fresh = ranges, target, Fresh.of(program)
        scopes = find_scopes(program.body, guarded_values=True)
        loads = [n for n in scopes.first if isinstance(n, Load)]
        writes = [s for s in statements(program.body) if isinstance(s, (Store, Atomic))]
        self._proven = {n for n in loads if self._is_in_range(n)}
        open_loads = [n for n in loads if n not in self._proven]
        self._guards = proofs(program, ranges, _parts([*open_loads, *(s for s in writes if not self._is_in_range(s))]))
        self._pending: dict[int, list[Load]] = {}
        for load in open_loads:
            self._pending.setdefault(scopes.place(load), []).append(load)
        self._memo: dict[Expr, Expr] = {}
        self._number = 0

    def _is_in_range(self, access: Access) -> bool:
        """Whether nothing but ranges is needed: guards matter for the others."""
        low, high = self._ranges.of(access.index)
        return not access.checked or (isinstance(access.buffer.count, int) and low >= 0 and high < access.buffer.count)

    def _decide(self, number: int, known: Known) -> None:
        """Prove what can be of the loads that belong to a place, where `known` holds."""
        for load in self._pending.get(number, ()):
            if self._guards.proves(known, load.index, load.buffer):
                self._proven.add(load)

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _expr(self, root: Expr) -> Expr:
        """`root` with every load checked or proven, all of which is decided."""
        return transform(root, self._node, self._memo)

    def _node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        if not isinstance(node, Load):
            return self._ranges.carry(node, rebuilt(node, args))
        if node in self._proven:
            return self._ranges.carry(node, Load(node.buffer, proven_index(args[0]), checked=False))
        return self._ranges.carry(node, Load(node.buffer, self._unsigned(node.index, args[0])))

    def _unsigned(self, source: Expr, index: Expr) -> Expr:
        return unsigned_index(index, self._ranges.of(source), self._target)

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def body(self, body: Body, known: Known) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            number = self._number
            self._number += 1
            self._decide(number, known)
            out += self._stmt(stmt, known, ~number)
            if isinstance(stmt, If):
                if leaves(stmt.then):
                    known |= self._guards.holds(stmt.condition, False)
                if leaves(stmt.orelse):
                    known |= self._guards.holds(stmt.condition, True)
        return tuple(out)

    def _stmt(self, stmt: Stmt, known: Known, inside: int) -> Body:
        """`inside` is the place behind the guard of a store or an atomic."""
        match stmt:
            case If(condition, then, orelse):
                yes = known | self._guards.holds(condition, True)
                no = known | self._guards.holds(condition, False)
                return (If(self._expr(condition), self.body(then, yes), self.body(orelse, no)),)
            case For(name, start, stop, step, body):
                counted = known | self._guards.counts(Local(name, start.dtype), stop)
                return (For(name, self._expr(start), self._expr(stop), step, self.body(body, counted)),)
            case Region(label, body):
                return (Region(label, self.body(body, known)),)
            case Store():
                return self._store(stmt, known, inside)
            case Atomic():
                return self._atomic(stmt, known, inside)
            case _:
                return (with_expressions(stmt, self._expr),)

    def _store(self, stmt: Store, known: Known, inside: int) -> Body:
        proven, setup, index = self._write(stmt, known, inside)
        store = Store(stmt.buffer, index, self._expr(stmt.value), checked=False)
        return (store,) if proven else (*setup, If(_below_length(index, stmt.buffer), (store,)))

    def _atomic(self, stmt: Atomic, known: Known, inside: int) -> Body:
        """An old value that is used is 0 where nothing is done."""
        proven, setup, index = self._write(stmt, known, inside)
        expected = None if stmt.expected is None else self._expr(stmt.expected)
        atomic = replace(stmt, index=index, value=self._expr(stmt.value), expected=expected, checked=False)
        if proven:
            return (atomic,)
        if stmt.result is None:
            return (*setup, If(_below_length(index, stmt.buffer), (atomic,)))
        old = Local(self._fresh(f"{stmt.result}_found"), stmt.buffer.dtype)
        done = (replace(atomic, result=old.name), Assign(stmt.result, old))
        zero = Var(stmt.result, literal(stmt.buffer.dtype, 0))
        return (*setup, zero, If(_below_length(index, stmt.buffer), done))

    def _write(self, stmt: Store | Atomic, known: Known, inside: int) -> tuple[bool, Body, Expr]:
        """Whether the bounds of a store or atomic are proven, and the index, which a guard and the access share.

        The index is bound to a local if memory could change it. The loads behind the guard are decided.
        """
        index = self._expr(stmt.index)
        if self._is_in_range(stmt) or self._guards.proves(known, stmt.index, stmt.buffer):
            self._decide(inside, known)
            return True, (), proven_index(index)
        index = self._unsigned(stmt.index, index)
        if self._guards.is_stable(stmt.index):
            self._decide(inside, known | {(stmt.index, Length(stmt.buffer), 1)})
            return False, (), index
        self._decide(inside, known)
        bound = Local(self._fresh(f"{stmt.buffer.name}_index"), index.dtype)
        return False, (Let(bound.name, index),), bound


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
