"""Races: two invocations, one element, no barrier between them, and not both reading, not both atomic.

Two accesses are ordered by a barrier of the grid between them, or, in one workgroup, by a barrier of that workgroup.
Accesses are compared in the order in which the schedule makes them; which of them race does not depend on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from vyre_driver.observe.accesses import Path, Touch
from vyre_foundation.ir.program import Program
from vyre_reference.errors import DataRace
from vyre_reference.place import describe, origin_of
from vyre_reference.scalar.memory import ScalarCells


class Races(Enum):
    """Whether an evaluation looks for races; looking costs time and memory for every access."""

    IGNORE = "ignore"
    DETECT = "detect"


class RecordedAccess(NamedTuple):
    """One access to an element: who made it, how, and by which statement."""

    invocation: int
    touch: Touch
    path: Path


class AccessHistory(NamedTuple):
    """The accesses of one kind that one workgroup has made to an element in its `interval`; two invocations do."""

    interval: int
    accesses: list[RecordedAccess]


class RaceDetector:
    """Remembers who has touched what since the last barrier; `DataRace` names the first two that race."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._intervals: defaultdict[int, int] = defaultdict(int)
        self._elements: defaultdict[tuple[ScalarCells, int], dict[tuple[Touch, int], AccessHistory]] = defaultdict(dict)

    def workgroup_barrier(self, group: int) -> None:
        """Begin another interval of a workgroup: what it did before no longer races with what it does from now on."""
        self._intervals[group] += 1

    def grid_barrier(self) -> None:
        """Everything before it is ordered with everything after."""
        self._elements.clear()

    def access(self, cells: ScalarCells, index: int, group: int, access: RecordedAccess) -> None:
        """Note an access, after comparing it with those before."""
        element = self._elements[cells, index]
        for earlier in self._unordered(element, group):
            if earlier.invocation != access.invocation and earlier.touch.conflicts(access.touch):
                origins = origin_of(self._program, earlier.path), origin_of(self._program, access.path)
                raise DataRace(cells.buffer.name, index, self._told(earlier), self._told(access), origins=origins)
        self._remember(element, group, access)

    def _unordered(self, element: dict[tuple[Touch, int], AccessHistory], group: int) -> Iterator[RecordedAccess]:
        for (_, other), recent in element.items():
            if other != group or recent.interval == self._intervals[group]:
                yield from recent.accesses

    def _remember(self, element: dict[tuple[Touch, int], AccessHistory], group: int, access: RecordedAccess) -> None:
        interval = self._intervals[group]
        recent = element.get((access.touch, group))
        if recent is None or recent.interval != interval:
            element[access.touch, group] = AccessHistory(interval, [access])
        elif len(recent.accesses) == 1 and recent.accesses[0].invocation != access.invocation:
            recent.accesses.append(access)

    def _told(self, access: RecordedAccess) -> tuple[int, str, str]:
        return access.invocation, access.touch.value, describe(self._program.body, access.path)
