"""The statements of a program in its order, each with the block, the loop and the stretch between barriers it is in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, Barrier, Body, For, Region, Stmt, Store
from vyre_foundation.ir.walk import bodies
from vyre_foundation.optimize.dependence import Changing


class NumberedStmt(NamedTuple):
    """A statement and its number. Regions are no blocks. `phase` counts the barriers that the text has before it."""

    stmt: Stmt
    number: int
    block: int
    loop: int
    phase: int


class Layout:
    """The entries of a program, and where in its text something changes."""

    def __init__(self, program: Program) -> None:
        self._changes: dict[Changing, list[int]] = {}
        self._blocks = self._loops = self._phase = 0
        self.entries: list[NumberedStmt] = []
        self._walk(program.body, 0, 0)

    def changes_between(self, start: int, stop: int, changing: Iterable[Changing]) -> bool:
        """Whether a statement after number `start` and before number `stop` changes one of these."""
        for one in changing:
            numbers = self._changes.get(one, [])
            first = bisect_right(numbers, start)
            if first < len(numbers) and numbers[first] < stop:
                return True
        return False

    def _walk(self, body: Body, block: int, loop: int) -> None:
        for stmt in body:
            number = len(self.entries)
            self.entries.append(NumberedStmt(stmt, number, block, loop, self._phase))
            match stmt:
                case Assign(name=changed) | Store(buffer=changed) | Atomic(buffer=changed):
                    self._changes.setdefault(changed, []).append(number)
                case Barrier():
                    self._phase += 1
                case _:
                    pass
            for nested in bodies(stmt):
                inner_block, inner_loop = block, loop
                if not isinstance(stmt, Region):
                    self._blocks += 1
                    inner_block = self._blocks
                if isinstance(stmt, For):
                    self._loops += 1
                    inner_loop = self._loops
                self._walk(nested, inner_block, inner_loop)
