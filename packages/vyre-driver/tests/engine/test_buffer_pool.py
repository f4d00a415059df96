"""Memory that begins at different lines of the cache."""

import numpy as np
import pytest

from vyre_driver.engine.buffer_pool import LINE, LINES, PAGE, padded_size, staggered


def begins(size: int, pieces: int) -> list[int]:
    """The offsets in a page of so many pieces, all of which are alive."""
    held = [staggered(np.empty(padded_size(size), np.uint8), size) for _ in range(pieces)]
    assert all(piece.nbytes == size for piece in held)
    return [piece.ctypes.data % PAGE for piece in held]


@pytest.mark.parametrize("size", [PAGE, 2**20, 2**20 + 20])
def test_as_many_pieces_as_lines_begin_at_all_of_them(size: int) -> None:
    assert sorted(begins(size, LINES)) == [LINE * n for n in range(LINES)]


@pytest.mark.parametrize("pieces", [2, 8, 16])
def test_few_pieces_are_far_apart(pieces: int) -> None:
    found = sorted(begins(2**20, pieces))
    assert min(b - a for a, b in zip(found, [*found[1:], found[0] + PAGE], strict=True)) >= 3 * LINE


def test_small_pieces_begin_at_a_line_and_take_little_more() -> None:
    assert all(begin % LINE == 0 for begin in begins(20, 100))
    assert padded_size(20) == 20 + LINE
