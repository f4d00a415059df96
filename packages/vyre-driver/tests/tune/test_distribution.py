"""What a sample of keys shows, and which sort it speaks for."""

import numpy as np
import pytest

from vyre_driver.tune.distribution import (
    MANY_KEYS,
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


# fmt: off
BUCKETS = [
    (RNG.integers(0, 2**32, SERIAL, np.uint32),              SortBackend.SERIAL),
    (RNG.integers(0, 2**32, SERIAL + 1, np.uint32),          SortBackend.BUCKETS),
    (RNG.integers(0, 1 << 16, 100_000, np.uint64),           SortBackend.BUCKETS),
    (RNG.integers(0, 256, 100_000, np.uint32),               SortBackend.NARROW_RADIX),
    (RNG.integers(0, 2**40, 100_000, np.uint64),             SortBackend.BUCKETS),
    (RNG.integers(0, 2**48, 100_000, np.uint64),             SortBackend.SPLITTERS),
    (RNG.integers(0, 2**64, 100_000, np.uint64) >> 32 << 32, SortBackend.BUCKETS),
    (RNG.integers(0, 2**32, 100_000, np.uint32) | 0xF << 28, SortBackend.BUCKETS),
    (RNG.integers(0, 2**20, 100_000, np.uint32) | 0xF << 28, SortBackend.BUCKETS),
    (RNG.standard_normal(100_000).view(np.uint64),           SortBackend.SPLITTERS),
    (np.arange(100_000.0).view(np.uint64),                   SortBackend.SPLITTERS),
    # Half of the keys have one leading digit: 64 KiB are few, 200 KiB are not.
    (np.where(RNG.random(32_000) < 0.5, RNG.integers(0, 2**32, 32_000, np.uint32), 77), SortBackend.BUCKETS),
    (np.where(RNG.random(100_000) < 0.5, RNG.integers(0, 2**32, 100_000, np.uint32), 77), SortBackend.SPLITTERS),
    (np.where(RNG.random(100_000) < 0.5, RNG.integers(0, 2**24, 100_000, np.uint32), 77), SortBackend.NARROW_RADIX),
    # Few different keys.
    (RNG.choice(RNG.integers(0, 2**32, 90, np.uint32), 70_000),  SortBackend.SPLITTERS),
    (RNG.choice(RNG.integers(0, 2**32, 200, np.uint32), 70_000), SortBackend.BUCKETS),
    (RNG.choice(RNG.integers(0, 2**32, 90, np.uint32), 60_000),  SortBackend.BUCKETS),
    (RNG.choice(RNG.integers(0, 2**16, 90, np.uint32), 70_000),  SortBackend.BUCKETS),
]
# fmt: on


@pytest.mark.parametrize(("keys", "chosen"), BUCKETS)
def test_where_each_bucket_may_be_sorted_by_itself(keys: np.ndarray, chosen: SortBackend) -> None:
    assert select_sort_backend(Distribution.of(keys.astype(keys.dtype)), has_buckets=True) is chosen


def test_of_many_keys_buckets_divide_those_that_differ_in_most_digits() -> None:
    few, many = (Distribution(length, 32, (1 << 32) - 1, fullest=0.5) for length in (MANY_KEYS, MANY_KEYS + 1))
    assert select_sort_backend(few, has_buckets=True) is SortBackend.SPLITTERS
    assert select_sort_backend(many, has_buckets=True) is SortBackend.RADIX
    wide = Distribution(MANY_KEYS + 1, 64, (1 << 56) - 1, fullest=0.5)
    assert select_sort_backend(wide, has_buckets=True) is SortBackend.SPLITTERS
    spread = Distribution(MANY_KEYS + 1, 64, (1 << 64) - 1, fullest=1 / 256)
    assert select_sort_backend(spread, has_buckets=True) is SortBackend.BUCKETS


def test_a_sample_knows_whether_no_other_key_can_differ_in_more() -> None:
    assert Distribution.of(RNG.integers(0, 2**32, 10_000, np.uint32)).varies_throughout
    assert not Distribution.of(RNG.integers(0, 2**31, 10_000, np.uint32)).varies_throughout
    assert not Distribution.of(RNG.integers(0, 2**32, 10_000, np.uint32) & 0xFF00FFFF).varies_throughout


def test_the_leading_digit_is_that_of_all_keys() -> None:
    keys = RNG.integers(0, 1 << 20, 100_000, np.uint32)
    assert Distribution.of(keys).fullest < 0.02
    assert Distribution.of(keys, (1 << 32) - 1).fullest == 1.0


def test_the_bits_in_which_keys_differ() -> None:
    assert varying_bits(np.array([0b1100, 0b1010], np.uint8)) == 0b0110
    assert varying_bits(np.array([5], np.uint8)) == 0
    assert digits_of(0x0001_0080, 32) == (0, 16)
    assert digits_of(0, 32) == ()
