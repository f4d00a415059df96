"""Which outputs a launch writes from end to end, whatever it computes: their memory needs no zeros before.

A buffer is covered when nothing reads it, and every invocation stores to the element of its number, on its way through
the whole program: not in a loop, not behind a return, and under no condition but one that the number is below what is
at least the buffer's length.
"""

from __future__ import annotations

from collections.abc import Iterator

from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Literal, Local
from vyre_foundation.ir.stmt import Body, If, Let, Region, Return, Stmt, Store
from vyre_foundation.ir.walk import statements


def written_everywhere(plan: LaunchPlan) -> frozenset[str]:
    """The names of the write-only outputs that every dispatch of `plan` writes completely and never reads."""
    written = {b for b in plan.program.buffers if b.memory is Memory.STORAGE and b.access is Access.WRITE}
    untouched = {b for b in written if not (plan.facts.usage[b.name].loads or plan.facts.usage[b.name].atomics)}
    if not untouched or plan.num_workgroups == 0:
        return frozenset()
    stores = _Stores(plan)
    return frozenset(b.name for b in stores.of(plan.program.body) if b in untouched)


class _Stores:
    """Walks the straight part of a program, as far as every invocation with a low number gets."""

    def __init__(self, plan: LaunchPlan) -> None:
        self._plan = plan
        self._invocations = plan.grid[0] * plan.program.workgroup_size[0]
        self._values: dict[str, Expr] = {}
        self._below = 2**32
        """Invocations with numbers below this are still here."""

    def of(self, body: Body) -> Iterator[Buffer]:
        for stmt in body:
            match stmt:
                case Let(name, value):
                    self._values[name] = value
                case Region(_, inner):
                    yield from self.of(inner)
                case Store(buffer, index) if self._is_number(index) and self._reaches(buffer, self._below):
                    yield buffer
                case If(condition, then, ()) if (limit := self._limit(condition, "lt", "gt")) is not None:
                    below, self._below = self._below, min(self._below, limit)
                    yield from self.of(then)
                    self._below = below if not _returns(then) else 0
                case If(condition, (Return(),), ()) if (limit := self._limit(condition, "ge", "le")) is not None:
                    self._below = min(self._below, limit)
                case _ if _returns((stmt,)):
                    return

    def _reaches(self, buffer: Buffer, below: int) -> bool:
        return self._plan.lengths[buffer.name] <= min(below, self._invocations)

    def _limit(self, condition: Expr, op: str, mirrored: str) -> int | None:
        """The n of ``number < n``, whichever way round it is written."""
        match self._resolved(condition):
            case Apply(found, (x, y)) if found.id == op and self._is_number(x):
                return self._known(y)
            case Apply(found, (x, y)) if found.id == mirrored and self._is_number(y):
                return self._known(x)
        return None

    def _is_number(self, index: Expr) -> bool:
        return self._resolved(index) is Id(IdKind.GLOBAL_ID, 0)

    def _known(self, value: Expr) -> int | None:
        match self._resolved(value):
            case Literal() as literal:
                return int(literal.value)
            case Length(buffer):
                return self._plan.lengths[buffer.name]
        return None

    def _resolved(self, expr: Expr) -> Expr:
        """What a constant local stands for; widening keeps a number."""
        while True:
            match expr:
                case Local(name) if name in self._values:
                    expr = self._values[name]
                case Cast(dtype, value) if dtype.is_integer and dtype.bits > value.dtype.bits > 1:
                    expr = value
                case _:
                    return expr


def _returns(body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(stmt, Return) for stmt in statements(body))
