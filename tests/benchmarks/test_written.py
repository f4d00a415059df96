"""Kernels as people write them are judged by their loops, which Python runs at toy size, too."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from written import PAIRS


@pytest.mark.parametrize("name", PAIRS)
def test_a_result_agrees_within_the_tolerance_alone(name: str) -> None:
    pair = PAIRS[name]
    with np.errstate(over="ignore"):
        wanted = pair.loops(*pair.make(pair.toy))
        changed = wanted.copy()
        changed.flat[wanted.size // 2] += wanted.dtype.type(max(1, 2 * pair.tolerance * np.abs(wanted).max()))
    assert pair.agree(wanted.copy(), wanted)
    assert not pair.agree(changed, wanted)
    assert not pair.agree(wanted[:-1], wanted)


@pytest.mark.parametrize(
    "name", ["bilinear resize", "k-means, nearest centre", "softmax of rows", "CRC-32 of rows", "Levenshtein"]
)
def test_a_kernel_gives_what_its_loops_give(name: str) -> None:
    """One of each module."""
    pair = PAIRS[name]
    arguments = pair.make(pair.toy)
    assert pair.agree(pair.kernel.on("cpu")(*arguments), pair.loops(*arguments))
