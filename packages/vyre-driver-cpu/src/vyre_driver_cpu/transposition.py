"""Rows of adjacent elements to vectors of their columns, and back, by shuffles that CPUs have instructions for.

An element has a row and a column, and lies in a vector, by its number, at a place. All of these are numbers of a few
bits, and a transposition is a permutation of bits. Each step shuffles pairs of vectors whose numbers differ in one bit:
that bit becomes a bit of the place, and a bit of the place becomes that of the number.

CPUs shuffle elements inside of pieces of 128 bits, or whole pieces. So a step is one of these:

- *even, odd*: the pieces, or elements inside of pieces, at even places, and those at odd ones. The bit of the number
  becomes the highest of these, and the lowest leaves.
- *interleave*: the lower halves of all pieces, element by element, and the upper ones. The bit of the number becomes
  the lowest of a piece, and the highest leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

PIECE = 16
"""Bytes inside of which a shuffle is one instruction, for elements of 4 and 8 bytes."""

Shuffle = Callable[[str, str, Sequence[int]], str]
"""A vector of elements of two vectors, by their places; those of the second follow those of the first."""


class Transposition:
    """How `width` rows of `length` elements of `size` bytes become `length` vectors of `width` elements, and back."""

    def __init__(self, width: int, length: int, size: int) -> None:
        self.width, self.length = width, length
        self._row_bits, self._column_bits = width.bit_length() - 1, length.bit_length() - 1
        self._piece_bits = min((PIECE // size).bit_length() - 1, self._row_bits)
        """Bits of a place inside of its piece."""
        self._inside = min(self._column_bits, self._piece_bits)
        """Bits of the column that are among these."""

    def rows_of_vector(self, number: int) -> list[int]:
        """The rows that lie in a vector, one behind the other, before their columns are taken."""
        behind = self._piece_bits - self._inside  # bits of rows inside of a piece
        pieces = self._row_bits - self._piece_bits - (self._column_bits - self._inside)  # and of pieces
        first = list(range(behind)) + list(range(self._piece_bits, self._piece_bits + pieces))
        numbers = list(range(behind, self._piece_bits)) + list(range(self._piece_bits + pieces, self._row_bits))
        return [_moved(at, first) | _moved(number, numbers) for at in range(self.width // self.length)]

    def columns(self, vectors: Sequence[str], shuffle: Shuffle) -> list[str]:
        """The columns, in their order, of vectors with the rows of `rows_of_vector`."""
        found = list(vectors)
        for bit in range(self._column_bits):
            piece = 1 << self._piece_bits
            each, span = (1, piece) if bit < self._inside else (piece, self.width)
            self._step(found, bit, [_at_even(each, span, self.width, odd) for odd in (0, 1)], shuffle)
        return found

    def rows(self, columns: Sequence[str], shuffle: Shuffle) -> list[tuple[str, list[int]]]:
        """For each row, a vector that has it and the places of its elements there."""
        found, piece = list(columns), 1 << self._piece_bits
        for bit in range(self._inside, self._column_bits):
            self._step(found, bit, [_at_even(piece, self.width, self.width, odd) for odd in (0, 1)], shuffle)
        for bit in reversed(range(self._inside)):
            self._step(found, bit, [_interleaved(piece, self.width, upper) for upper in (0, 1)], shuffle)
        behind, least = self._piece_bits - self._inside, self._column_bits + self._piece_bits - self._inside
        numbers = [*range(behind, self._piece_bits), *range(self._piece_bits, self._column_bits)]
        inside, pieces = list(range(behind)), list(range(least, self._row_bits))
        columns_at = [*range(self._inside), *range(self._piece_bits + len(pieces), self._row_bits)]
        rows: list[tuple[str, list[int]]] = []
        for row in range(self.width):
            at = _taken(row, inside) << self._inside | _taken(row, pieces) << self._piece_bits
            places = [at | _moved(column, columns_at) for column in range(self.length)]
            rows.append((found[_taken(row, numbers)], places))
        return rows

    def _step(self, vectors: list[str], bit: int, masks: Sequence[Sequence[int]], shuffle: Shuffle) -> None:
        """Shuffle each pair of vectors whose numbers differ in a bit."""
        for number in range(len(vectors)):
            if not number >> bit & 1:
                other = number | 1 << bit
                a, b = vectors[number], vectors[other]
                vectors[number], vectors[other] = (shuffle(a, b, mask) for mask in masks)


def _at_even(piece: int, span: int, width: int, odd: int) -> list[int]:
    """The places of pieces at even (or odd) places of each span, those of the first vector and of the second."""
    return [
        start + vector * width + at + n
        for start in range(0, width, span)
        for vector in (0, 1)
        for at in range(odd * piece, span, 2 * piece)
        for n in range(piece)
    ]


def _interleaved(span: int, width: int, upper: int) -> list[int]:
    """The places of the lower (or upper) half of each span, one of the first vector and one of the second in turn."""
    half = span // 2
    return [
        start + upper * half + n + vector * width
        for start in range(0, width, span)
        for n in range(half)
        for vector in (0, 1)
    ]


def _moved(value: int, bits: Sequence[int]) -> int:
    """The bits of a number, the lowest first, at other places."""
    return sum((value >> n & 1) << bit for n, bit in enumerate(bits))


def _taken(value: int, bits: Sequence[int]) -> int:
    """Some bits of a number, as a number."""
    return sum((value >> bit & 1) << n for n, bit in enumerate(bits))
