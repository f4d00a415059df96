"""How the keys of a sort are distributed, by a sample, and which sort that speaks for.

A sample proves nothing about the other keys. So what it speaks for must be right for all keys: a sort that leaves
digits out first makes sure, over all keys, that they are equal there, and a sample only says whether to look.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

SAMPLE = 1024
"""Keys that are looked at, evenly spread."""
SERIAL = 1 << 13
"""Up to this many keys, one invocation sorts them all: launches cost more than it takes."""
DIGIT = 8
"""Bits that a pass of a radix sort puts in order."""


class SortBackend(Enum):
    """The ways to sort keys that an algorithm may choose among."""

    SERIAL = "serial"
    """One invocation makes all passes."""
    RADIX = "radix"
    """A pass over all keys for each digit."""
    NARROW_RADIX = "narrow radix"
    """The same for the digits alone in which the keys differ."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a sample of unsigned keys shows.

    `varying` has the bits in which sampled keys differ; `bits` is the width of a key.
    """

    length: int
    bits: int
    varying: int

    @classmethod
    def of(cls, keys: npt.NDArray[np.unsignedinteger[Any]]) -> Distribution:
        """The distribution of keys with one axis, by `SAMPLE` of them."""
        step = -(-keys.size // SAMPLE) or 1
        return cls(keys.size, 8 * keys.itemsize, varying_bits(keys[::step]))

    @property
    def digits(self) -> int:
        """The digits in which sampled keys differ."""
        return len(digits_of(self.varying, self.bits))


def select_sort_backend(distribution: Distribution) -> SortBackend:
    """The sort that a distribution speaks for."""
    if distribution.length <= SERIAL:
        return SortBackend.SERIAL
    if distribution.digits * DIGIT < distribution.bits:
        return SortBackend.NARROW_RADIX
    return SortBackend.RADIX


def varying_bits(keys: npt.NDArray[np.unsignedinteger[Any]]) -> int:
    """The bits in which keys differ; 0 for no keys."""
    if not keys.size:
        return 0
    return int(np.bitwise_or.reduce(keys)) ^ int(np.bitwise_and.reduce(keys))


def digits_of(varying: int, bits: int) -> tuple[int, ...]:
    """The first bits of the digits that have one of the bits `varying`."""
    return tuple(first for first in range(0, bits, DIGIT) if varying >> first & ((1 << DIGIT) - 1))
