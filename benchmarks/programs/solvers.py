"""Steps of solvers of linear equations, whose sizes are known when they are launched."""

from __future__ import annotations

from programs.sizes import GROUP, TILE
from vyre_foundation import Program, f32, program, select, u32


def jacobi_step() -> Program:
    """One step of Jacobi's iteration: a matrix in rows of (column, value) without its diagonal, whose inverse is
    apart."""
    with program("jacobi_step", GROUP) as p:
        starts, columns, values = p.read("starts", u32), p.read("columns", u32), p.read("values", f32)
        x, right = p.read("x", f32), p.read("right", f32)
        inverse = p.read("inverse", f32)
        out = p.write("out", f32, like=right)
        row = p.global_id(0)
        rest = p.var(right[row])
        with p.range(starts[row], starts[row + 1]) as n:
            rest.set(rest - values[n] * x[columns[n]])
        out[row] = rest * inverse[row]
    return p.build()


def elimination() -> Program:
    """One step of Gauss's elimination: all rows below the pivot lose a multiple of its row.

    The first axis of the grid goes through rows, as such programs often do, so that neighbours in x are `n` elements
    apart. `sizes` are the side of the matrix and the number of the pivot.
    """
    with program("elimination", (TILE, TILE)) as p:
        sizes, factors = p.uniform("sizes", u32, 2), p.read("factors", f32)
        a = p.read("a", f32)
        out = p.write("out", f32, like=a)
        n, pivot = sizes[0], sizes[1]
        row, column = p.global_id(0), p.global_id(1)
        own = p.let(a[row * n + column])
        out[row * n + column] = select(row > pivot, own - factors[row] * a[pivot * n + column], own)
    return p.build()


def trailing_update() -> Program:
    """What a tile of an LU decomposition takes from the rest of the matrix: the product of a panel of columns and one
    of rows, `TILE` wide. `sizes` has the side of the matrix."""
    with program("trailing_update", (TILE, TILE)) as p:
        sizes, left, top = p.uniform("sizes", u32, 1), p.read("left", f32), p.read("top", f32)
        a = p.read("a", f32)
        out = p.write("out", f32, like=a)
        tile_left, tile_top = p.workgroup("tile_left", f32, TILE * TILE), p.workgroup("tile_top", f32, TILE * TILE)
        n = sizes[0]
        x, y, column, row = p.local_id(0), p.local_id(1), p.global_id(0), p.global_id(1)
        tile_left[y * TILE + x] = left[row * TILE + x]
        tile_top[y * TILE + x] = top[y * n + column]
        p.barrier()
        total = p.var(0.0, f32)
        with p.range(0, TILE) as k:
            total.set(total + tile_left[y * TILE + k] * tile_top[k * TILE + x])
        out[row * n + column] = a[row * n + column] - total
    return p.build()
