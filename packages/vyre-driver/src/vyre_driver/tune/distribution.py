"""The distribution of the keys of a sort, from a sample, and the choice of a sort by it.

A sample proves nothing about the other keys, so the chosen sort must be correct for all keys. A sort that leaves digits
out first verifies over all keys that they are equal there; the sample only determines whether to verify.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Keys = npt.NDArray[np.unsignedinteger[Any]]

SAMPLE = 1024
"""Keys that are looked at, evenly spread."""
SERIAL = 1 << 13
"""Up to this many keys, one invocation sorts them all: launches cost more than it takes."""
DIGIT = 8
"""Bits that a pass of a radix sort puts in order."""
CROWDED, CROWDED_SHARE = 1 << 19, 1 / 20
"""Where buckets are sorted one by one: the bytes of the keys in the fullest at most, which a cache should hold, and the
share of all keys, since one worker sorts it."""
FEW_BYTES = 1 << 16
"""The fullest bucket that may have a greater share."""
SPLIT_DIGITS, SPLIT_DIGITS_OF_SPREAD, SPLIT_DIGITS_OF_MANY, MANY_KEYS = 4, 6, 7, 1 << 23
"""Digits in which keys differ, at least, where buckets that a sample divides take less time than other methods. The
first two are for up to `MANY_KEYS` keys: crowded ones, and ones whose leading digits are spread. The third is for more
keys."""
FEW_KEYS, FEW_FROM, FEW_DIGITS = 100, 1 << 16, 3
"""Different keys in a sample, at most, where such buckets have one key each; and the number of all keys and of the
digits in which they differ, at least, for which this takes less time."""


class SortBackend(Enum):
    """The methods of sorting keys among which an algorithm may choose."""

    SERIAL = "serial"
    """One invocation makes all passes."""
    RADIX = "radix"
    """A pass over all keys for each digit."""
    NARROW_RADIX = "narrow radix"
    """A pass over all keys for each digit in which the keys differ."""
    BUCKETS = "buckets"
    """A pass over all keys for the leading digit in which they differ; then each bucket is sorted where it is."""
    SPLITTERS = "splitters"
    """The same, but a sample of the keys says where buckets begin, so that these have about equal sizes."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of unsigned keys in a sample.

    `varying` has the bits in which the sampled keys, or all keys, differ; `bits` is the width of a key. `fullest` is
    the greatest share of the sampled keys with the same leading digit: the `DIGIT` bits from the highest that varies.
    `are_few` says whether no more than `FEW_KEYS` of the sampled keys are different, where a sort makes use of it.
    """

    length: int
    bits: int
    varying: int
    fullest: float
    are_few: bool = False

    @classmethod
    def of(cls, keys: Keys, varying: int | None = None) -> Distribution:
        """Return the distribution of keys, from `SAMPLE` of them. `varying` has the bits in which all keys differ."""
        sample = sampled(keys)
        if varying is None:
            varying = varying_bits(sample)
        shift = max(0, varying.bit_length() - DIGIT)
        leading = (sample >> keys.dtype.type(shift)).astype(np.uint8)
        fullest, bits = float(np.bincount(leading).max(initial=0)) / max(1, sample.size), 8 * keys.itemsize
        may_be_few = keys.size >= FEW_FROM and len(digits_of(varying, bits)) >= FEW_DIGITS
        return cls(keys.size, bits, varying, fullest, may_be_few and _different(sample) <= FEW_KEYS)

    @property
    def digits(self) -> int:
        """The digits in which sampled keys differ."""
        return len(digits_of(self.varying, self.bits))

    @property
    def varies_throughout(self) -> bool:
        """Whether sampled keys differ in the highest bit and in every digit: then no digit can be left out."""
        return self.varying.bit_length() == self.bits and self.digits * DIGIT == self.bits

    @property
    def is_spread(self) -> bool:
        """Whether a worker can sort each bucket of keys with one leading digit."""
        crowded = self.fullest * self.length * self.bits / 8
        return crowded <= (CROWDED if self.fullest <= CROWDED_SHARE else FEW_BYTES)


def select_sort_backend(distribution: Distribution, *, has_buckets: bool = False) -> SortBackend:
    """Return the sort for a distribution; `BUCKETS` only if the caller `has_buckets`."""
    if distribution.length <= SERIAL:
        return SortBackend.SERIAL
    is_short = distribution.length <= MANY_KEYS
    if has_buckets and (distribution.are_few or (is_short and distribution.digits >= SPLIT_DIGITS_OF_SPREAD)):
        return SortBackend.SPLITTERS
    if has_buckets and distribution.digits > 1 and distribution.is_spread:
        return SortBackend.BUCKETS
    if has_buckets and distribution.digits >= (SPLIT_DIGITS if is_short else SPLIT_DIGITS_OF_MANY):
        return SortBackend.SPLITTERS
    if distribution.digits * DIGIT < distribution.bits:
        return SortBackend.NARROW_RADIX
    return SortBackend.RADIX


def sampled(keys: Keys) -> Keys:
    """Return `SAMPLE` of the keys at most, evenly spread."""
    return keys[:: -(-keys.size // SAMPLE) or 1]


def _different(keys: Keys) -> int:
    """Return how many different keys there are; there is one at least."""
    ascending = np.sort(keys)
    return 1 + int(np.count_nonzero(ascending[1:] != ascending[:-1]))


def varying_bits(keys: Keys) -> int:
    """Return the bits in which keys differ; 0 for no keys."""
    if not keys.size:
        return 0
    return int(np.bitwise_or.reduce(keys)) ^ int(np.bitwise_and.reduce(keys))


def digits_of(varying: int, bits: int) -> tuple[int, ...]:
    """Return the first bits of the digits that contain one of the bits `varying`."""
    return tuple(first for first in range(0, bits, DIGIT) if varying >> first & ((1 << DIGIT) - 1))
