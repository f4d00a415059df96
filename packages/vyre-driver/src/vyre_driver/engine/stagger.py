"""Where a device works in host memory, pieces of it begin at different lines of the cache.

A cache has a few places for all lines whose addresses are alike modulo 4 KiB. Large arrays of an allocator begin at the
same offset in a page, so equal elements of several arrays compete for these places: with 16 arrays and 8 or 12 places,
each element is fetched again and again.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

LINE, PAGE = 64, 4096
"""Bytes. A line is as much as the widest vector, and all types are aligned to it."""
LINES = PAGE // LINE
STRIDE = 25
"""Lines from one piece to the next, odd: all offsets come once before one comes again. 64 divided by the square of the
golden ratio keeps those that follow each other far apart, however many there are."""
_pieces = count()


def with_spare(size: int) -> int:
    """How many bytes `staggered` needs for so many: small pieces begin wherever the allocator puts them."""
    return size + (PAGE if size >= PAGE else LINE)


def staggered(memory: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """`size` bytes of a fresh array of `with_spare(size)`, at another line of the cache than the pieces before."""
    offset = STRIDE * next(_pieces) % LINES * LINE
    start = (offset - memory.ctypes.data) % (memory.nbytes - size)
    return memory[start : start + size]
