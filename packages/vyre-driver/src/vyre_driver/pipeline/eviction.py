"""Which entries go when the store is full: the coldest, by what they would cost again for each byte that they hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

HALF_LIFE_S = 7 * 24 * 3600.0
"""A use counts half after a week."""
FILL = 0.9
"""An eviction frees a tenth of the bound, so that not each new entry evicts."""


@dataclass(frozen=True, slots=True)
class Temperature:
    """What is known of an entry: bytes held, nanoseconds to make it again, uses, and seconds since the last one."""

    key: str
    size: int
    cost_ns: int
    uses: int
    age_s: float

    @property
    def heat(self) -> float:
        """Cost a byte, times the uses, halved with age. A clock that went back counts as no time."""
        fading = math.exp2(-max(0.0, self.age_s) / HALF_LIFE_S)
        return max(1, self.uses) * fading * max(1, self.cost_ns) / max(1, self.size)


def coldest(entries: Iterable[Temperature], limit: int) -> list[str]:
    """The keys to drop so that all together hold at most `FILL` of `limit` bytes; none if they hold at most `limit`.

    Ties go by key, so that every process drops the same.
    """
    ranked = sorted(entries, key=lambda entry: (entry.heat, entry.key))
    held = sum(entry.size for entry in ranked)
    dropped = []
    goal = held if held <= limit else int(limit * FILL)
    for entry in ranked:
        if held <= goal:
            break
        held -= entry.size
        dropped.append(entry.key)
    return dropped
