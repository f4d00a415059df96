"""Which statements can run in the same barrier interval.

Barriers cut a program into stretches of statements. From the end of a stretch the flow goes on to others, but not over
a barrier: so two accesses can be in one interval only if one stretch leads to the other. The branches of an `if` with a
barrier inside do not, nor do another iteration of such a loop and what follows the loop, because there all invocations
that share the barrier decide alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vyre_foundation.ir.stmt import Barrier, Break, Continue, For, If, Region
from vyre_foundation.validate.outline import Outline, Place

MAX_STEPS = 200_000
"""How much following of stretches is worth it; a program that needs more is taken as one stretch."""


@dataclass(frozen=True, slots=True)
class Phases:
    """`stretch[number]` is that of the statement with this number; `meetings` are the pairs that share an interval."""

    stretch: Sequence[int]
    meetings: Sequence[tuple[int, int]]


def find_phases(outline: Outline, cuts: Callable[[Barrier], bool]) -> Phases:
    """The phases of a program that the barriers for which `cuts` holds divide."""
    flow = _Flow(outline, cuts)
    flow.body(outline.top, 0)
    meetings = _meetings(flow.after)
    if meetings is None:
        return undivided(len(outline.places))
    return Phases(flow.stretch, meetings)


def undivided(places: int) -> Phases:
    """The phases of a program with this many statements and no barrier."""
    return Phases([0] * places, [(0, 0)])


class _Flow:
    """Numbers the stretches; `after[n]` are those that the flow reaches from stretch n without a barrier."""

    def __init__(self, outline: Outline, cuts: Callable[[Barrier], bool]) -> None:
        self.stretch = [0] * len(outline.places)
        self.after: list[set[int]] = [set()]
        self._outline = outline
        self._cuts = cuts
        self._divided: set[Place] = set()
        for place in outline.places:
            if isinstance(place.stmt, Barrier) and cuts(place.stmt):
                self._divided.update(place.around())

    def body(self, places: Sequence[Place], current: int) -> int:
        """Number the statements of a body that begins in stretch `current`; the stretch in which it ends."""
        for place in places:
            self.stretch[place.number] = current
            match place.stmt:
                case Barrier() as barrier if self._cuts(barrier):
                    current = self._new()
                case If() if place in self._divided:
                    current = self._if(place, current)
                case For() if place in self._divided:
                    current = self._loop(place, current)
                case Region():
                    (body,) = self._outline.bodies(place)
                    current = self.body(body, current)
                case _:
                    for number in range(place.number, self._outline.end(place) + 1):
                        self.stretch[number] = current
        return current

    def _if(self, place: Place, current: int) -> int:
        ends = [self.body(body, self._new(current)) for body in self._outline.bodies(place)]
        return self._new(*ends)

    def _loop(self, place: Place, current: int) -> int:
        (body,) = self._outline.bodies(place)
        first = self._new(current)
        end = self.body(body, first)
        following = self._new(current, end)
        self.after[end].add(first)
        for number in range(place.number + 1, self._outline.end(place) + 1):
            if _leaves(self._outline.places[number], place):
                self.after[self.stretch[number]] |= {first, following}
        return following

    def _new(self, *before: int) -> int:
        number = len(self.after)
        self.after.append(set())
        for stretch in before:
            self.after[stretch].add(number)
        return number


def _leaves(place: Place, loop: Place) -> bool:
    """Whether `place` jumps to the next iteration of `loop`, or out of it."""
    if not isinstance(place.stmt, (Break, Continue)):
        return False
    return next(around for around in place.around() if isinstance(around.stmt, For)) is loop


def _meetings(after: Sequence[set[int]]) -> list[tuple[int, int]] | None:
    """The pairs of stretches of which one leads to the other; None if finding them takes too long."""
    pairs: set[tuple[int, int]] = set()
    steps = 0
    for start in range(len(after)):
        seen = {start}
        work = [start]
        while work:
            stretch = work.pop()
            pairs.add((min(start, stretch), max(start, stretch)))
            steps += 1 + len(after[stretch])
            if steps > MAX_STEPS:
                return None
            new = after[stretch] - seen
            seen |= new
            work += new
    return sorted(pairs)
