"""Whether the invocations of a workgroup are work items, or loops that one work item runs."""

from __future__ import annotations

from vyre_driver.lower.target import Arrangement, Groups
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.stmt import Atomic, Barrier, For, Scope
from vyre_foundation.ir.walk import statements
from vyre_foundation.validate.facts import Facts, Uniformity

MANY_BARRIERS = 12
"""From here on a CPU spends more on waiting than on what it does between. Measured: 9 in the text of a tree of sums are
5 times faster as work items, 48 in a prefix sum 3 times faster as loops, 63 in a sort 1.4 times."""


def arrange(facts: Facts, groups: Groups) -> Arrangement:
    """How the workgroups of a program should run on a target that runs them as `groups` says."""
    match groups:
        case Groups.ITEMS:
            return Arrangement(False, "the device runs invocations side by side")
        case Groups.LOOPS:
            return Arrangement(True, "the compiler makes vectors of loops, and none of work items with barriers")
        case Groups.MIXED:
            parting = _parting(facts)
            if parting is None:
                return Arrangement(False, "all invocations go the same way, and the compiler makes vectors of them")
            return Arrangement(True, f"{parting}, so the compiler makes no vectors of work items")


def _parting(facts: Facts) -> str | None:
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
