"""Barriers that divide nothing are left away.

::

    barrier workgroup;                  w[local_id.x] = a[global_id.x];
    w[local_id.x] = a[global_id.x];     barrier grid;
    barrier workgroup;             →    out[global_id.x] = w[0];
    let x = a[0];
    barrier grid;
    out[global_id.x] = w[0];
    barrier workgroup;

A barrier divides accesses to memory that invocations share and somebody writes. Of two in one body with no such access
between them the wider one stays; so does none at the beginning and the end of the program. A workgroup of one
invocation waits for nobody.
"""

from __future__ import annotations

from dataclasses import replace

from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, Break, Continue, Return, Scope, Stmt, Store
from vyre_foundation.ir.walk import expressions, rewrite_body, statements, with_bodies
from vyre_foundation.optimize.bodies import same_body
from vyre_foundation.optimize.dependence import Dependences
from vyre_foundation.optimize.stage import Pass
from vyre_foundation.validate.facts import Facts


def merge_barriers(facts: Facts) -> Program:
    """The program with fewer barriers."""
    program = facts.program
    if not any(isinstance(stmt, Barrier) for stmt in statements(program.body)):
        return program
    body = _Merging(facts).program(program)
    return program if body is program.body else replace(program, body=body)


class _Merging:
    def __init__(self, facts: Facts) -> None:
        self._dependences = Dependences(facts.program, frozenset())
        self._shared = frozenset(b for b in self._dependences.written if b.memory is not Memory.PRIVATE)

    def program(self, program: Program) -> Body:
        body = program.body
        if program.workgroup_volume == 1:
            body = rewrite_body(body, lambda stmt: () if stmt == Barrier(Scope.WORKGROUP) else stmt)
        body = self._body(body)
        busy = [n for n, stmt in enumerate(body) if not (isinstance(stmt, Barrier) or self._is_idle(stmt))]
        first, last = (busy[0], busy[-1]) if busy else (len(body), len(body))
        return same_body(body, [s for n, s in enumerate(body) if first < n < last or not isinstance(s, Barrier)])

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
        for inner in statements((stmt,)):
            match inner:
                case Barrier() | Break() | Continue() | Return():
                    return False
                case Store(buffer=buffer) | Atomic(buffer=buffer) if buffer in self._shared:
                    return False
            if not all(self._dependences.are_disjoint(root, self._shared) for root in expressions(inner)):
                return False
        return True


BARRIERS = Pass("barriers", merge_barriers)
