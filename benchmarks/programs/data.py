"""What the programs run over, and what they must give."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from programs.sizes import BINS, GROUP

U32 = npt.NDArray[np.uint32]


def words(size: int) -> U32:
    """The same random words in every process."""
    return np.random.default_rng(1).integers(0, 2**32, size, dtype=np.uint32)


def group_sums(x: U32) -> U32:
    return x.reshape(-1, GROUP).sum(axis=1, dtype=np.uint32)


def counts(x: npt.NDArray[Any]) -> U32:
    return np.bincount(x & (BINS - 1), minlength=BINS).astype(np.uint32)


def earlier_equals(x: U32) -> U32:
    """How many elements before each one fall into its bin: the order in which a reference takes them."""
    bins = x & np.uint32(BINS - 1)
    order = np.argsort(bins, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(bins, minlength=BINS))[:-1]])
    ranks = np.empty_like(x)
    ranks[order] = np.arange(x.size) - starts[bins[order]]
    return ranks
