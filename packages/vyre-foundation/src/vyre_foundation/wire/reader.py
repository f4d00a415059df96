"""A position in bytes that only moves forward. Nothing is allocated that the bytes left could not fill."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir.argument import shown
from vyre_foundation.wire.errors import Malformed, NestingTooDeep, NotCanonical, Truncated, UnknownTag, WireError
from vyre_foundation.wire.varint import read_column, read_number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def bytes_of(data: object, reader: str, fix: str) -> bytes:
    """The bytes of an object of the buffer protocol; `TypeMismatch` in the name of `reader` for any other."""
    try:
        return bytes(memoryview(data))  # type: ignore[arg-type]
    except TypeError:
        raise TypeMismatch(f"{reader} got {shown(data)}, expected bytes", fix=fix) from None


class Reader:
    """Reads `data` from `at` on."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def number(self) -> int:
        """Read one number of the column format."""
        number, self.at = read_number(self.data, self.at)
        return number

    def column(self, count: int) -> npt.NDArray[np.uint64]:
        """A column of numbers."""
        column, self.at = read_column(self.data, self.at, count)
        return column

    def numbers(self, count: int) -> list[int]:
        """A column of numbers, as a list."""
        numbers: list[int] = self.column(count).tolist()
        return numbers

    def take(self, count: int) -> bytes:
        """`count` bytes."""
        start, left = self.at, len(self.data) - self.at
        if count > left:
            message = f"{count} bytes were announced, {left} are left"
            raise Truncated(message, fix="give the whole program", where=f"offset {start}", offset=start)
        self.at = start + count
        return self.data[start : self.at]

    def tags(self, count: int, known: bytes, what: str) -> bytes:
        """A column of tags, each one out of `known`."""
        start = self.at
        tags = self.take(count)
        unknown = tags.translate(None, known)
        if unknown:
            refuse(UnknownTag, start + tags.index(unknown[0]), f"no {what} has the tag {unknown[0]}")
        return tags

    def offset(self, start: int, index: int) -> int:
        """Where number `index` of the column at `start` is."""
        for _ in range(index):
            start = read_number(self.data, start)[1]
        return start


_FIXES = {
    NestingTooDeep: "nest less, or compute conditions with `select`",
    UnknownTag: "decode it with the version of the library that wrote it",
    NotCanonical: "write it with `encode`, which gives the one spelling",
    Malformed: "write it with `encode`, from a program",
}


def refuse(error: type[WireError], offset: int, message: str, cause: Exception | None = None) -> NoReturn:
    """Raise `error` for the bytes at `offset`."""
    raise error(message, fix=_FIXES[error], where=f"offset {offset}", offset=offset) from cause


def only(tags: bytes, column: bytes) -> bytes:
    """What there is of `tags` in `column`."""
    return column.translate(None, column.translate(None, tags))
