"""Barriers that divide nothing are left away.

::

    barrier workgroup;                  w[local_id.x] = a[global_id.x];
    w[local_id.x] = a[global_id.x];     barrier grid;
    barrier workgroup;             →    out[global_id.x] = w[0];
    let x = a[0];
    barrier grid;
    out[global_id.x] = w[0];
    barrier workgroup;

A barrier divides accesses to memory that invocations share and write. Of two in one body with no such access
between them the wider one stays. At the top of the program one goes if nothing before it writes what anything behind it
accesses, or the other way round. A workgroup of one invocation has nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, Break, Continue, Return, Scope, Stmt, Store
from vyre_foundation.ir.walk import expressions, rewrite_body, same_body, statements, with_bodies
from vyre_foundation.optimize.dependence import Changing, Dependences
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Facts


def merge_barriers(program: Program, facts: Facts) -> Program:
    """The program with fewer barriers."""
    if not any(isinstance(stmt, Barrier) for stmt in program.statements):
        return program
    body = _Merging(facts).program(program)
    return program if body is program.body else replace(program, body=body)


class _Merging:
    def __init__(self, facts: Facts) -> None:
        self._dependences = Dependences(facts.program, frozenset())
        self._shared: frozenset[Changing] = frozenset(
            b for b in self._dependences.written if b.memory is not Memory.PRIVATE
        )

    def program(self, program: Program) -> Body:
        body = program.body
        if program.workgroup_volume == 1:
            body = rewrite_body(body, lambda stmt: () if stmt == Barrier(Scope.WORKGROUP) else stmt)
        body = self._body(body)
        touches = [self._touches((stmt,)) for stmt in body]
        before, behind = _running(touches), _running(touches[::-1])[::-1]
        return same_body(
            body,
            [stmt for n, stmt in enumerate(body) if not isinstance(stmt, Barrier) or before[n].meet(behind[n])],
        )

    def _body(self, body: Body) -> Body:
        """Every barrier of a body beside the one before it, if nothing lies between."""
        out: list[Stmt] = []
        last: int | None = None
        for stmt in body:
            stmt = with_bodies(stmt, self._body)
            if isinstance(stmt, Barrier):
                if last is not None and stmt.scope is Scope.WORKGROUP:
                    continue
                if last is not None:
                    del out[last]
                last = len(out)
            elif last is not None and not self._is_idle(stmt):
                last = None
            out.append(stmt)
        return same_body(body, out)

    def _is_idle(self, stmt: Stmt) -> bool:
        """Whether it is the same before a barrier and behind it, and goes on to what follows."""
        if any(isinstance(inner, (Barrier, Break, Continue, Return)) for inner in statements((stmt,))):
            return False
        return not self._touches((stmt,)).all

    def _touches(self, body: Body) -> _Touches:
        """The accesses of statements to memory that others see change; all of it where they read too much."""
        read: set[Changing] = set()
        written: set[Changing] = set()
        for stmt in statements(body):
            for root in expressions(stmt):
                found = self._dependences.of(root)
                read |= self._shared if found is None else found & self._shared
            if isinstance(stmt, (Store, Atomic)) and stmt.buffer in self._shared:
                written.add(stmt.buffer)
        return _Touches(frozenset(read | written), frozenset(written))


class _Touches(NamedTuple):
    """Shared memory that statements access, and that they write."""

    all: frozenset[Changing] = frozenset()
    written: frozenset[Changing] = frozenset()

    def meet(self, other: _Touches) -> bool:
        """Whether one writes what the other accesses."""
        return not (self.written.isdisjoint(other.all) and other.written.isdisjoint(self.all))

    def both(self, other: _Touches) -> _Touches:
        return self if other.all <= self.all and other.written <= self.written else _Touches(
            self.all | other.all, self.written | other.written
        )  # fmt: skip


def _running(touches: Sequence[_Touches]) -> list[_Touches]:
    """For every place what all until there access."""
    return list(accumulate(touches, _Touches.both))


BARRIERS = Pass("barriers", "Merge adjacent barriers", merge_barriers)
