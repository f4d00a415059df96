"""Matrices: moved, multiplied in two ways, and with few elements that are not zero."""

from __future__ import annotations

from itertools import product

from programs.sizes import GROUP, TILE
from vyre_foundation import Program, f32, program, u32
from vyre_foundation.functions import fma

SPAN, STRIPS = 32, 8
"""Side of a tile of the transpose, and the invocations that share one of its columns."""
ROWS, COLUMNS, DEPTH = 2, 4, 16
"""What one invocation of the blocked product computes, and how many products it adds for each tile. The results of
invocations side by side are 8 vectors: a CPU that has 16 keeps all of them there, and factors beside them."""
WIDE, HIGH = 16, 16
"""A workgroup of the blocked product."""


def transpose(width: int, height: int) -> Program:
    """In tiles through the memory of the workgroup, so that rows are read and rows are written."""
    with program("transpose", (SPAN, STRIPS)) as p:
        a, out = p.read("a", f32, width * height), p.write("out", f32, width * height)
        tile = p.workgroup("tile", f32, SPAN * (SPAN + 1))
        x, y = p.local_id(0), p.local_id(1)
        left, top = p.workgroup_id(0) * SPAN, p.workgroup_id(1) * SPAN
        for strip in range(0, SPAN, STRIPS):
            tile[(y + strip) * (SPAN + 1) + x] = a[(top + y + strip) * width + left + x]
        p.barrier()
        for strip in range(0, SPAN, STRIPS):
            out[(left + y + strip) * height + top + x] = tile[x * (SPAN + 1) + y + strip]
    return p.build()


def matmul(n: int) -> Program:
    """C = A B for squares of n × n, in tiles. The grid is (n / TILE, n / TILE, 1)."""
    with program("matmul", (TILE, TILE)) as p:
        a, b, c = p.read("a", f32, n * n), p.read("b", f32, n * n), p.write("c", f32, n * n)
        tile_a, tile_b = p.workgroup("tile_a", f32, TILE * TILE), p.workgroup("tile_b", f32, TILE * TILE)
        row, column = p.global_id(1), p.global_id(0)
        y, x = p.local_id(1), p.local_id(0)
        total = p.var(0.0, f32)
        with p.range(0, n // TILE) as t:
            tile_a[y * TILE + x] = a[row * n + t * TILE + x]
            tile_b[y * TILE + x] = b[(t * TILE + y) * n + column]
            p.barrier()
            with p.range(0, TILE) as k:
                total.set(total + tile_a[y * TILE + k] * tile_b[k * TILE + x])
            p.barrier()
        c[row * n + column] = total
    return p.build()


def blocked_matmul(n: int) -> Program:
    """The same with `ROWS` × `COLUMNS` results for each invocation, products and sums rounded once.

    Neighbours in x have neighbouring columns, so that whatever they do they do to rows of memory.
    """
    high, wide = HIGH * ROWS, WIDE * COLUMNS
    with program("blocked_matmul", (WIDE, HIGH)) as p:
        a, b, c = p.read("a", f32, n * n), p.read("b", f32, n * n), p.write("c", f32, n * n)
        tile_a, tile_b = p.workgroup("tile_a", f32, high * DEPTH), p.workgroup("tile_b", f32, DEPTH * wide)
        x, y = p.local_id(0), p.local_id(1)
        left, top = p.workgroup_id(0) * wide, p.workgroup_id(1) * high
        totals = [[p.var(0.0, f32) for _ in range(COLUMNS)] for _ in range(ROWS)]
        with p.range(0, n, DEPTH) as first:
            for row in range(0, high, HIGH):
                tile_a[(row + y) * DEPTH + x] = a[(top + row + y) * n + first + x]
            for k, column in product(range(0, DEPTH, HIGH), range(0, wide, WIDE)):
                tile_b[(k + y) * wide + column + x] = b[(first + k + y) * n + left + column + x]
            p.barrier()
            for k in range(DEPTH):
                row_of_b = [tile_b[k * wide + column * WIDE + x] for column in range(COLUMNS)]
                for row, sums in enumerate(totals):
                    left_factor = tile_a[(y * ROWS + row) * DEPTH + k]
                    for total, right_factor in zip(sums, row_of_b, strict=True):
                        total.set(fma(left_factor, right_factor, total))
            p.barrier()
        for row, sums in enumerate(totals):
            for column, total in enumerate(sums):
                c[(top + y * ROWS + row) * n + left + column * WIDE + x] = total
    return p.build()


def sparse_product(rows: int) -> Program:
    """A matrix in rows of (column, value) times a vector, one row for each invocation."""
    with program("sparse_product", GROUP) as p:
        starts, columns = p.read("starts", u32, rows + 1), p.read("columns", u32)
        values, vector = p.read("values", f32), p.read("vector", f32)
        out = p.write("out", f32, rows)
        row = p.global_id(0)
        total = p.var(0.0, f32)
        with p.range(starts[row], starts[row + 1]) as n:
            total.set(total + values[n] * vector[columns[n]])
        out[row] = total
    return p.build()
