"""Schedules: who runs next. A program that is deterministic gives the same bytes under all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from random import Random


class Schedule(ABC):
    """Orders workgroups, and invocations between two barriers."""

    @abstractmethod
    def order(self, ready: Iterable[int]) -> list[int]:
        """The order in which those that are ready run."""

    @abstractmethod
    def gives_way(self) -> bool:
        """Whether an invocation lets the others of its workgroup go first, now that it is about to do an atomic."""


class InOrder(Schedule):
    """Ascending: each invocation runs to where it has to wait, then the next."""

    def order(self, ready: Iterable[int]) -> list[int]:
        """Give the invocations by number."""
        return sorted(ready)

    def gives_way(self) -> bool:
        """Never: each runs until it waits."""
        return False


class Shuffled(Schedule):
    """A random order for every interval between barriers, and a coin at every atomic; the seed decides all of it."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def order(self, ready: Iterable[int]) -> list[int]:
        """Give the invocations in random order, the same for the same seed."""
        shuffled = sorted(ready)
        self._random.shuffle(shuffled)
        return shuffled

    def gives_way(self) -> bool:
        """Whether other invocations run before the next atomic, which is so half of the time."""
        return self._random.random() < 0.5
