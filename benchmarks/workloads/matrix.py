"""Matrices."""

from __future__ import annotations

import numpy as np
import programs
from programs.matrix import COLUMNS, HIGH, ROWS, SPAN, STRIPS, WIDE
from programs.sizes import GROUP, TILE

from vyre_foundation import Program
from workloads.work import Array, Extent, Launch, Work, Workload

FILLED = 16
"""Elements of a row that are not zero, on average."""


def transpose(side: int) -> Work:
    a = np.random.default_rng(1).random((side, side), np.float32)
    tiles = side // SPAN
    return Work(
        program=programs.transpose(side, side),
        grid=(tiles, tiles, 1),
        inputs={"a": a},
        wanted=np.ascontiguousarray(a.T),
        amount=8 * side**2,
        bytes=8 * side**2,
        sizes=(side,),
        launches=(Launch("transpose", (tiles, tiles), (SPAN, STRIPS), ("a", "out", side)),),
    )


def matmul(n: int) -> Work:
    launch = Launch("matmul", (n // TILE, n // TILE), (TILE, TILE))
    return _product(programs.matmul(n), (n // TILE, n // TILE, 1), launch, n)


def blocked_matmul(n: int) -> Work:
    grid = n // (WIDE * COLUMNS), n // (HIGH * ROWS), 1
    return _product(programs.blocked_matmul(n), grid, Launch("blocked_matmul", grid[:2], (WIDE, HIGH)), n)


def _product(program: Program, grid: Extent, launch: Launch, n: int) -> Work:
    random = np.random.default_rng(1)
    a, b = random.random((n, n), np.float32), random.random((n, n), np.float32)
    return Work(
        program=program,
        grid=grid,
        inputs={"a": a, "b": b},
        wanted=a @ b,
        amount=2 * n**3,
        bytes=12 * n**2,
        operations=2 * n**3,
        tolerance=1e-4,
        sizes=(n,),
        launches=(launch,),
        defines={"N": n, "TILE": TILE},
    )


def sparse_product(rows: int) -> Work:
    random = np.random.default_rng(1)
    counts = random.integers(0, 2 * FILLED, rows)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    columns = random.integers(0, rows, starts[-1], np.uint32)
    values, vector = random.random(starts[-1], np.float32), random.random(rows, np.float32)
    inputs = {"starts": starts, "columns": columns, "values": values, "vector": vector}
    return Work(
        program=programs.sparse_product(rows),
        grid=(rows // GROUP, 1, 1),
        inputs=inputs,
        wanted=row_sums(values * vector[columns], starts).astype(np.float32),
        amount=2 * float(starts[-1]),
        bytes=sum(array.nbytes for array in inputs.values()) + 4 * rows,
        operations=2 * float(starts[-1]),
        tolerance=1e-4,
        sizes=(rows,),
        launches=(Launch("sparse_product", (rows // GROUP,), (GROUP,)),),
    )


def row_sums(products: Array, starts: Array) -> Array:
    """Sums of the products between starts; empty rows have none."""
    before = np.concatenate([[0.0], np.cumsum(products, dtype=np.float64)])
    return before[starts[1:]] - before[starts[:-1]]


WORKLOADS = {
    "transpose": Workload(domain="matrix", unit="GB/s", size=4096, toy=SPAN, make=transpose),
    "matmul": Workload(domain="matrix", unit="GFLOP/s", size=512, toy=TILE, make=matmul),
    "blocked matmul": Workload(domain="matrix", unit="GFLOP/s", size=512, toy=WIDE * COLUMNS, make=blocked_matmul),
    "sparse product": Workload(domain="matrix", unit="GFLOP/s", size=2**20, toy=GROUP, make=sparse_product),
}
