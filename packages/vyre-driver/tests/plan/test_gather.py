"""Which programs copy the elements of a view."""

import numpy as np
import pytest

from vyre_driver.plan.gather import PIECE, gather, scatter


@pytest.mark.parametrize(
    ("shape", "strides", "name"),
    [
        ((1000,), (2,), "rows_apart_adjacent_u32_1"),
        ((1000,), (-1,), "rows_apart_adjacent_u32_1"),
        ((40, 50), (64, 1), "rows_adjacent_adjacent_u32_2"),
        ((40, 50), (50, 1), "rows_adjacent_adjacent_u32_1"),
        ((8, 1, 5, 50), (250, 7, 50, 1), "rows_adjacent_adjacent_u32_1"),
        ((50, 40), (0, 0), "rows_apart_adjacent_u32_1"),
        ((50, 40), (1, 50), "pieces_u32_2"),
        ((PIECE, 40), (1, 50), "pieces_u32_2"),
        ((PIECE - 1, 40), (1, 50), "rows_apart_adjacent_u32_2"),
        ((2, 50, 3, 40), (6003, 1, 2001, 50), "pieces_u32_4"),
        ((2, 50, 3, 40), (6000, 1, 2000, 50), "pieces_u32_3"),
        ((40, 3), (1, 50), "rows_adjacent_apart_u32_2"),
        ((40, 3), (7, 50), "elements_u32_2"),
        ((), (), "elements_u32_1"),
    ],
)
def test_a_view_has_the_program_for_its_axes(shape: tuple[int, ...], strides: tuple[int, ...], name: str) -> None:
    for make in (gather, scatter):
        move = make(4, 3, shape, strides)
        assert move.program.name == f"{make.__name__}_{name}"
        assert move.layout[0] == 3
        grid, size = move.config.grid_override, move.program.workgroup_size[0]
        each = PIECE if "pieces" in name else 1
        assert grid is not None
        assert np.prod(grid) * size * each >= np.prod(shape)
