"""The lanes of a launch without an element.

A grid is a whole number of workgroups, and a tree of lanes is a power of two. Stores of the lanes after the last
element are out of bounds, so they have no effect, and other lanes read neutral elements for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from vyre_driver.errors import InvalidLaunch
from vyre_driver.plan.lengths import MAX_LENGTH


@dataclass(frozen=True, slots=True)
class TailMaskPolicy:
    """The numbers of elements (`original_count`) and of lanes (`rounded_count`), which is at least as large."""

    original_count: int
    rounded_count: int

    @property
    def tail_lanes(self) -> int:
        """The number of lanes without an element."""
        return self.rounded_count - self.original_count


def coerce_to_pow2_with_tail_mask(count: int) -> TailMaskPolicy:
    """Return the least sufficient power of two of lanes for `count` elements; 0 lanes for 0 elements.

    Raises:
        InvalidLaunch: `count` is negative, or needs more lanes than a u32 can count.
    """
    if not 0 <= count <= MAX_LENGTH:
        raise InvalidLaunch("count", needed=f"a number of elements up to {MAX_LENGTH}", got=repr(count))
    return TailMaskPolicy(count, 1 << (count - 1).bit_length() if count else 0)
