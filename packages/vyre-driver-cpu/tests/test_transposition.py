"""Shuffles that turn rows into columns and back, with NumPy's arrays for vectors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from vyre_driver_cpu.transposition import Transposition

SHAPES = [(width, length) for width in (2, 4, 8, 16, 32) for length in (2, 4, 8, 16) if length <= width]


def shuffle(a: Any, b: Any, places: Sequence[int]) -> Any:
    assert len(places) == len(a)
    return np.concatenate([a, b])[list(places)]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize(("width", "length"), SHAPES)
def test_rows_become_columns_and_rows_again(width: int, length: int, size: int) -> None:
    turned, rows = Transposition(width, length, size), np.arange(width * length).reshape(width, length)
    assert sorted(row for n in range(length) for row in turned.rows_of_vector(n)) == list(range(width))
    vectors: Any = [np.concatenate([rows[row] for row in turned.rows_of_vector(n)]) for n in range(length)]
    columns: Any = turned.columns(vectors, shuffle)
    assert np.array_equal(columns, rows.T)
    back: Any = turned.rows(columns, shuffle)
    assert np.array_equal([vector[places] for vector, places in back], rows)


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize(("width", "length"), [(4, 4), (8, 8), (16, 16), (16, 4), (8, 4)])
def test_each_shuffle_stays_in_pieces_of_16_bytes_or_moves_whole_ones(width: int, length: int, size: int) -> None:
    """As an instruction of SSE, AVX2 and AVX-512 does."""
    piece, masks = 16 // size, []

    def watched(a: Any, b: Any, places: Sequence[int]) -> Any:
        masks.append(np.reshape(places, (-1, piece)) % width // piece)
        return shuffle(a, b, places)

    turned, rows = Transposition(width, length, size), np.arange(width * length).reshape(width, length)
    vectors: Any = [np.concatenate([rows[row] for row in turned.rows_of_vector(n)]) for n in range(length)]
    columns: Any = turned.columns(vectors, watched)
    turned.rows(columns, watched)
    assert len(masks) == 2 * length * (length.bit_length() - 1)
    own = np.arange(width // piece)[:, None]
    for mask in masks:
        assert (mask == mask[:, :1]).all() or (mask == own).all()
