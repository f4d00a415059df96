"""Steps of solvers of linear equations."""

from __future__ import annotations

import numpy as np
import programs
from programs.sizes import GROUP, TILE

from workloads.work import Launch, Work, Workload

FILLED = 16
"""Elements of a row that are not zero, on average."""


def jacobi_step(rows: int) -> Work:
    random = np.random.default_rng(1)
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 2 * FILLED, rows))]).astype(np.uint32)
    filled = int(starts[-1])
    columns, values = random.integers(0, rows, filled, np.uint32), random.random(filled, np.float32)
    x, right, inverse = (random.random(rows, np.float32) for _ in range(3))
    sums = np.concatenate([[0.0], np.cumsum(values * x[columns], dtype=np.float64)])
    inputs = {"starts": starts, "columns": columns, "values": values, "x": x, "right": right, "inverse": inverse}
    return Work(
        program=programs.jacobi_step(),
        grid=(rows // GROUP, 1, 1),
        inputs=inputs,
        wanted=((right - (sums[starts[1:]] - sums[starts[:-1]])) * inverse).astype(np.float32),
        amount=2 * filled,
        bytes=sum(array.nbytes for array in inputs.values()) + 4 * rows,
        operations=2 * filled,
        tolerance=1e-4,
        launches=(Launch("jacobi_step", (rows // GROUP,), (GROUP,)),),
    )


def elimination(n: int) -> Work:
    random = np.random.default_rng(1)
    a, factors, pivot = random.random((n, n), np.float32), random.random(n, np.float32), n // 8
    wanted, tiles = a.copy(), n // TILE
    wanted[pivot + 1 :] -= factors[pivot + 1 :, None] * a[pivot]
    return Work(
        program=programs.elimination(),
        grid=(tiles, tiles, 1),
        inputs={"sizes": np.array([n, pivot], np.uint32), "factors": factors, "a": a},
        wanted=wanted,
        amount=8 * n**2,
        bytes=8 * n**2,
        operations=2 * n * (n - pivot),
        launches=(Launch("elimination", (tiles, tiles), (TILE, TILE), ("factors", "a", "out", n, pivot)),),
    )


def trailing_update(n: int) -> Work:
    random, tiles = np.random.default_rng(1), n // TILE
    a, left, top = (random.random(shape, np.float32) for shape in ((n, n), (n, TILE), (TILE, n)))
    return Work(
        program=programs.trailing_update(),
        grid=(tiles, tiles, 1),
        inputs={"sizes": np.array([n], np.uint32), "left": left, "top": top, "a": a},
        wanted=a - left @ top,
        amount=2 * TILE * n**2,
        bytes=8 * n**2,
        operations=2 * TILE * n**2,
        tolerance=1e-4,
        launches=(Launch("trailing_update", (tiles, tiles), (TILE, TILE), ("left", "top", "a", "out", n)),),
    )


WORKLOADS = {
    "jacobi step": Workload(domain="solvers", unit="GFLOP/s", size=2**20, toy=GROUP, make=jacobi_step),
    "elimination": Workload(domain="solvers", unit="GB/s", size=1024, toy=TILE, make=elimination),
    "trailing update": Workload(domain="solvers", unit="GFLOP/s", size=1024, toy=TILE, make=trailing_update),
}
