"""From the memory of shards to that of the launch: what a shard changed, the changes of two, and the result.

Combinations are associative and commutative in exact integer arithmetic. They are nevertheless made in one order, that
of the workgroups, so that the graph of a launch is always the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from vyre_distributed.shards import Combination

Elements: TypeAlias = npt.NDArray[Any]
T = TypeVar("T")

Change: TypeAlias = tuple[Elements, ...]
"""What a shard changed in a buffer: one array, or for minima and maxima which elements changed, and their values."""


def changed(how: Combination, before: Elements, after: Elements) -> Change:
    """What happened between two states of a buffer of integers; of `MERGE` and `XOR`, of any type as bytes."""
    match how:
        case Combination.ADD:
            return (after - before,)
        case Combination.MIN | Combination.MAX:
            return after != before, after
        case _:
            return (after ^ before,)


def combined(how: Combination, one: Change, other: Change) -> Change:
    """Both changes."""
    match how:
        case Combination.ADD:
            return (one[0] + other[0],)
        case Combination.XOR:
            return (one[0] ^ other[0],)
        case Combination.MIN | Combination.MAX:
            least = np.minimum if how is Combination.MIN else np.maximum
            both = least(one[1], other[1])
            return one[0] | other[0], np.where(one[0] & other[0], both, np.where(one[0], one[1], other[1]))
        case _:
            return (one[0] | other[0],)


def applied(how: Combination, before: Elements, change: Change) -> Elements:
    """The buffer after a change."""
    match how:
        case Combination.ADD:
            return np.asarray(before + change[0])
        case Combination.MIN | Combination.MAX:
            return np.where(change[0], change[1], before)
        case _:
            return np.asarray(before ^ change[0])


def tree(items: Sequence[T], pair: Callable[[T, T], T]) -> T:
    """Combine neighbours, then neighbours of the results, until one is left; an odd one out goes up as it is."""
    level = list(items)
    while len(level) > 1:
        pairs = [pair(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]
