"""Launches that are larger than what they are for: how many lanes are left over.

A grid is a whole number of workgroups, and a tree of lanes is a power of two. The lanes behind the last element have
nothing to do: their stores are out of bounds, so they do nothing, and what others read of them is a neutral element.
"""

from __future__ import annotations

from dataclasses import dataclass

from vyre_driver.errors import InvalidLaunch
from vyre_driver.plan.lengths import MAX_LENGTH


@dataclass(frozen=True, slots=True)
class TailMaskPolicy:
    """`original_count` elements by `rounded_count` lanes, at least as many."""

    original_count: int
    rounded_count: int

    @property
    def tail_lanes(self) -> int:
        """Lanes without an element."""
        return self.rounded_count - self.original_count


def coerce_to_pow2_with_tail_mask(count: int) -> TailMaskPolicy:
    """The least power of two that is enough for `count` elements; no lanes for none.

    `InvalidLaunch` for a number below 0, or one that needs more lanes than a u32 can number.
    """
    if not 0 <= count <= MAX_LENGTH:
        raise InvalidLaunch("count", needed=f"a number of elements up to {MAX_LENGTH}", got=repr(count))
    return TailMaskPolicy(count, 1 << (count - 1).bit_length() if count else 0)
