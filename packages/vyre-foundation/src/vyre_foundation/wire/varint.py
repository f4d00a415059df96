"""Unsigned LEB128 varints, alone and in columns. A column costs a few passes of NumPy, or none if all fit in a byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from vyre_foundation.wire.errors import NotCanonical, Truncated

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_SIZE = 10
"""Bytes of the greatest number, 2**64 - 1; its last byte is 1."""


def write_column(numbers: Sequence[int] | npt.NDArray[np.int64]) -> bytes:
    """All of `numbers`, one after the other. One that is negative or above 2**64 - 1 raises OverflowError."""
    if not len(numbers):
        return b""
    if not isinstance(numbers, np.ndarray):
        if min(numbers) >= 0 and max(numbers) < 0x80:
            return bytes(numbers)
        numbers = np.array(numbers, np.uint64)
    values = numbers.astype(np.uint64)
    sizes = np.ones(len(values), np.intp)
    for bits in range(7, int(values.max()).bit_length(), 7):
        sizes += values >= np.uint64(1 << bits)
    ends = np.cumsum(sizes)
    at = ends - sizes
    out = np.empty(int(ends[-1]), np.uint8)
    while len(at):
        more = values > 0x7F
        out[at] = (values & np.uint64(0x7F)).astype(np.uint8) | more.astype(np.uint8) << 7
        at, values = at[more] + 1, values[more] >> np.uint64(7)
    return out.tobytes()


def read_number(data: bytes, start: int) -> tuple[int, int]:
    """The number at `start`, and where it ends."""
    number = shift = 0
    for at in range(start, min(start + MAX_SIZE, len(data))):
        byte = data[at]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if (byte == 0 and at > start) or number >> 64:
                _refuse(start)
            return number, at + 1
    if start + MAX_SIZE <= len(data):
        _refuse(start)
    raise Truncated(
        "the bytes end within a number", fix="give the whole program", where=f"offset {start}", offset=start
    )


def read_column(data: bytes, start: int, count: int) -> tuple[npt.NDArray[np.uint64], int]:
    """The `count` numbers from `start` on, and where they end."""
    near = data[start : start + count]
    if len(near) < count:
        raise Truncated(
            f"{count} numbers were announced, {len(near)} bytes are left",
            fix="give the whole program",
            where=f"offset {start}",
            offset=start,
        )
    if near.isascii():  # every byte is a number
        return np.frombuffer(near, np.uint8).astype(np.uint64), start + count
    window = np.frombuffer(data, np.uint8, offset=start)[: count * MAX_SIZE]
    last = np.flatnonzero(window < 0x80)[:count]
    first = np.concatenate((np.zeros(1, np.intp), last[:-1] + 1))[: len(last)]
    sizes = last - first + 1
    top = window[last]
    wrong = (sizes > MAX_SIZE) | ((sizes == MAX_SIZE) & (top > 1)) | ((sizes > 1) & (top == 0))
    if wrong.any():
        _refuse(start + int(first[np.argmax(wrong)]))
    if len(last) < count:  # the scalar reader says what is wrong with the number after the last whole one
        read_number(data, start + (int(last[-1]) + 1 if len(last) else 0))
    values = np.zeros(count, np.uint64)
    for byte in range(int(sizes.max())):
        there = sizes > byte
        values[there] |= (window[first[there] + byte] & 0x7F).astype(np.uint64) << np.uint64(7 * byte)
    return values, start + int(last[-1]) + 1


def _refuse(offset: int) -> NoReturn:
    raise NotCanonical(
        "a number is not in its shortest form, or not below 2**64",
        fix="write varints without leading zeros",
        where=f"offset {offset}",
        offset=offset,
    )
