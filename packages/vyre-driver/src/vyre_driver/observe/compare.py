"""Outputs against outputs: the first element that differs, by bytes or beyond a budget of units in the last place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_foundation.dtype import DType
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program
from vyre_foundation.ops.scalar import from_bits

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The first element in which two results differ. `index` counts elements of the whole buffer."""

    output: str
    index: int
    byte_offset: int
    got: str
    expected: str
    count: int
    """How many elements of this output differ."""

    def __str__(self) -> str:
        more = f"; {self.count} elements differ" if self.count > 1 else ""
        return f"{self.output}[{self.index}]: got {self.got}, expected {self.expected}{more}"


def first_mismatch(
    program: Program, got: Sequence[memoryview], expected: Sequence[memoryview], ulp_budget: int = 0
) -> Mismatch | str | None:
    """None where the outputs agree; words where they cannot be compared.

    With a budget, floats may differ by that many units in the last place, NaN from NaN by nothing; all else is exact.
    """
    outputs = program.outputs
    if not len(got) == len(expected) == len(outputs):
        return f"got {len(got)} outputs, the reference gave {len(expected)}, expected {len(outputs)}"
    for buffer, ours, theirs in zip(outputs, got, expected, strict=True):
        if ours.nbytes != theirs.nbytes:
            return f"{buffer.name}: got {ours.nbytes} bytes, expected {theirs.nbytes}"
        if ours != theirs and (found := _compare(buffer, ours, theirs, ulp_budget)) is not None:
            return found
    return None


def _compare(buffer: Buffer, got: memoryview, expected: memoryview, ulp_budget: int) -> Mismatch | None:
    """Both in the units of the buffer's type, or byte by byte where the range of an output cuts elements."""
    start = (buffer.output_range or (0, 0))[0]
    size = buffer.dtype.size
    is_whole = start % size == 0 and got.nbytes % size == 0
    width = size if is_whole else 1
    ours, theirs = (np.frombuffer(view, f"<u{width}") for view in (got, expected))
    differs = ours != theirs
    if ulp_budget and is_whole and buffer.dtype.is_float:
        differs &= ~within_budget(buffer.dtype, ours, theirs, ulp_budget)
    where = np.flatnonzero(differs)
    if not where.size:
        return None
    at = int(where[0])
    return Mismatch(
        output=buffer.name,
        index=(start + at * width) // size,
        byte_offset=start + at * width,
        got=_shown(buffer.dtype if is_whole else None, int(ours[at])),
        expected=_shown(buffer.dtype if is_whole else None, int(theirs[at])),
        count=int(where.size),
    )


def within_budget(dtype: DType, a: Array, b: Array, budget: int) -> Array:
    """Which pairs of bit patterns are at most `budget` representable values apart, or both NaN."""
    sign = a.dtype.type(1 << (dtype.bits - 1))
    infinity = a.dtype.type(_infinity(dtype))
    x, y = a & ~sign, b & ~sign
    apart = np.where((a & sign) == (b & sign), np.maximum(x, y) - np.minimum(x, y), x + y)
    numbers = (x <= infinity) & (y <= infinity)
    close: Array = np.where(numbers, apart <= budget, (x > infinity) & (y > infinity))
    return close


def _infinity(dtype: DType) -> int:
    assert dtype.format is not None
    precision = dtype.format.precision
    return ((1 << (dtype.bits - precision)) - 1) << (precision - 1)


def _shown(dtype: DType | None, bits: int) -> str:
    """An element as its value and its bits; a byte where there is no type."""
    if dtype is None:
        return f"the byte 0x{bits:02x}"
    return f"{from_bits(dtype, bits)!r} (0x{bits:0{2 * dtype.size}x})"
