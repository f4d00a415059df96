"""Whether the invocations of a workgroup are work items, or loops that one work item runs."""

from __future__ import annotations

from collections.abc import Iterable

from vyre_driver.legalization.target import Arrangement, Groups
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Call, Load
from vyre_foundation.ir.stmt import Assign, Atomic, Barrier, Body, For, If, Let, Scope, Stmt, Var
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.validate.facts import Facts, Uniformity

MANY_BARRIERS = 12
"""From here on a CPU spends more on waiting than on what it does between. Measured: 9 in the text of a tree of sums are
5 times faster as work items, 48 in a prefix sum 3 times faster as loops, 63 in a sort 1.4 times."""

MOSTLY = 16
"""Times the work of the rest. Measured for 2**20 values, in ms: 100 rounds of a generator of random numbers 3.1
as work items and 1.6 as loops, 8 rounds 0.09 and 0.21."""

UNKNOWN_TRIP_COUNT = 64
"""A loop of which nothing is known has as many."""


def arrange(facts: Facts, groups: Groups) -> Arrangement:
    """How the workgroups of a program should run on a target that runs them as `groups` says."""
    match groups:
        case Groups.ITEMS:
            return Arrangement(False, "the device runs invocations side by side")
        case Groups.LOOPS:
            return Arrangement(True, "the compiler makes vectors of loops, and none of work items with barriers")
        case Groups.MIXED:
            divergence = _divergence(facts)
            if divergence is None and _is_mostly_loops(facts):
                return Arrangement(True, "most of it is a loop that all go through with values of their own")
            if divergence is None:
                return Arrangement(False, "all invocations go the same way, and the compiler makes vectors of them")
            return Arrangement(True, f"{divergence}, so the compiler makes no vectors of work items")


def _is_mostly_loops(facts: Facts) -> bool:
    """Whether nearly all work is in loops of arithmetic with the same bounds for all.

    Vectors of work items go through such a loop one after the other, each step waiting for the one before; as loops all
    of them do a step together.
    """
    body = facts.program.body
    inside, in_loops = 0, set[int]()
    for stmt in statements(body):
        if isinstance(stmt, (Atomic, Barrier, If)):
            return False
        if isinstance(stmt, For):
            if not all(isinstance(s, (Let, Var, Assign)) for s in stmt.body) or not _is_arithmetic(stmt.body):
                return False
            inside += (UNKNOWN_TRIP_COUNT if stmt.trip_count is None else stmt.trip_count) * _operations(stmt.body)
            in_loops |= {id(s) for s in (stmt, *stmt.body)}
    return inside > MOSTLY * _operations(s for s in statements(body) if id(s) not in in_loops)


def _is_arithmetic(body: Body) -> bool:
    return not any(isinstance(node, (Call, Load)) for stmt in body for node in postorder(expressions(stmt)))


def _operations(stmts: Iterable[Stmt]) -> int:
    return len(postorder(e for stmt in stmts for e in expressions(stmt)))


def _divergence(facts: Facts) -> str | None:
    """What keeps invocations from going the same way, if something does."""
    barriers = 0
    for stmt in statements(facts.program.body):
        match stmt:
            case For(start=start, stop=stop) if Uniformity.NONE in (facts.uniformity[start], facts.uniformity[stop]):
                return "a loop has its own bounds in each invocation"
            case Atomic(buffer=buffer) if buffer.memory is Memory.WORKGROUP:
                return f"invocations take turns at {buffer.name}"
            case Barrier(Scope.WORKGROUP):
                barriers += 1
            case _:
                pass
    return f"it has {barriers} barriers" if barriers > MANY_BARRIERS else None
