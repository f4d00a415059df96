"""What a pair is: a kernel of vyre and the same loops in Python, with arguments that both take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
u32, f32 = np.uint32, np.float32
"""Types as the loops name them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """`kernel` and `loops` take the same arguments, change none of them, and give the same result.

    Numba compiles `loops`; Python can run them, too. `make` gives the arguments at a size: `full` is measured, `toy` is
    for tests. `tolerance` is relative to the largest magnitude of the result, and 0 but for pairs that call `exp`,
    `log` or `sin`, which libraries of C round differently: the others round as often, in the same order.
    """

    kernel: Any
    loops: Callable[..., Array]
    make: Callable[[int], tuple[Any, ...]]
    full: int
    toy: int
    tolerance: float = 0.0

    def agree(self, result: Array, wanted: Array) -> bool:
        """Whether the results of both are the same, within the tolerance."""
        if result.shape != wanted.shape or result.dtype != wanted.dtype:
            return False
        if not self.tolerance:
            return np.array_equal(result, wanted)
        return np.allclose(result, wanted, rtol=0.0, atol=self.tolerance * float(np.abs(wanted).max()))


def floats(*shape: int) -> Array:
    """Numbers of f32 in [0, 1)."""
    return np.random.default_rng(1).random(shape, dtype=np.float32)


def doubles(*shape: int) -> Array:
    """Numbers of f64 in [0, 1)."""
    return np.random.default_rng(2).random(shape)


def words(low: int, high: int, *shape: int) -> Array:
    """Numbers of u32 in [low, high)."""
    return np.random.default_rng(3).integers(low, high, shape, dtype=np.uint32)


def octets(low: int, high: int, *shape: int) -> Array:
    """Numbers of u8 in [low, high)."""
    return np.random.default_rng(4).integers(low, high, shape, dtype=np.uint8)
