"""What a sample of keys shows, and which sort it speaks for."""

import numpy as np
import pytest

from vyre_driver.tune.distribution import (
    SERIAL,
    Distribution,
    SortBackend,
    digits_of,
    select_sort_backend,
    varying_bits,
)

RNG = np.random.default_rng(1)
# fmt: off
CASES = [
    (np.zeros(0, np.uint32),                                  0, SortBackend.SERIAL),
    (RNG.integers(0, 2**32, SERIAL, np.uint32),               4, SortBackend.SERIAL),
    (RNG.integers(0, 2**32, SERIAL + 1, np.uint32),           4, SortBackend.RADIX),
    (RNG.integers(0, 256, 100_000, np.uint32),                1, SortBackend.NARROW_RADIX),
    (RNG.integers(0, 256, 100_000, np.uint8),                 1, SortBackend.RADIX),
    (np.full(100_000, 7, np.uint64),                          0, SortBackend.NARROW_RADIX),
    (RNG.integers(0, 2, 100_000, np.uint64) << np.uint64(40), 1, SortBackend.NARROW_RADIX),
]
# fmt: on


@pytest.mark.parametrize(("keys", "digits", "chosen"), CASES)
def test_the_sort_that_a_distribution_speaks_for(keys: np.ndarray, digits: int, chosen: SortBackend) -> None:
    found = Distribution.of(keys)
    assert (found.length, found.bits, found.digits) == (keys.size, 8 * keys.itemsize, digits)
    assert select_sort_backend(found) is chosen


def test_the_bits_in_which_keys_differ() -> None:
    assert varying_bits(np.array([0b1100, 0b1010], np.uint8)) == 0b0110
    assert varying_bits(np.array([5], np.uint8)) == 0
    assert digits_of(0x0001_0080, 32) == (0, 16)
    assert digits_of(0, 32) == ()
