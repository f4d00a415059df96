"""Tiled matrix multiplication and a stencil, with the roundings in the program's order."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import apply, constant, program
from vyre_foundation.dtype import DType, bf16, f16, f32, f64, i32, u32
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, round_float

TILE = 8


def specs() -> Iterator[Spec]:
    for dtype in (i32, f16, bf16, f32, f64):
        yield seeded(address("programs", "tiled_matmul", dtype=dtype), _matmul, dtype, False)
    yield seeded(address("programs", "fused_matmul"), _matmul, f32, True)
    yield seeded(address("programs", "stencil"), _stencil)


def _matmul(dtype: DType, fused: bool, rng: Random) -> tuple[Launch, Expected]:
    """C = A B for sizes that are no multiples of the tile; products and sums are rounded one by one, or fused."""
    rows, inner, columns = 13, 19, 10
    with program(f"matmul_{dtype}", (TILE, TILE, 1)) as p:
        a, b, c = p.read("a", dtype), p.read("b", dtype), p.write("c", dtype, rows * columns)
        tile_a, tile_b = p.workgroup("tile_a", dtype, TILE * TILE), p.workgroup("tile_b", dtype, TILE * TILE)
        x, y = p.let(p.global_id(0)), p.let(p.global_id(1))
        lx, ly = p.let(p.local_id(0)), p.let(p.local_id(1))
        total = p.var(constant(dtype, 0))
        with p.range(0, -(-inner // TILE)) as t:
            left, below = p.let(t * TILE + lx), p.let(t * TILE + ly)
            in_a, in_b = p.var(constant(dtype, 0)), p.var(constant(dtype, 0))
            with p.if_((y < rows) & (left < inner)):
                in_a.set(a[y * inner + left])
            with p.if_((below < inner) & (x < columns)):
                in_b.set(b[below * columns + x])
            tile_a[ly * TILE + lx] = in_a
            tile_b[ly * TILE + lx] = in_b
            p.barrier()
            with p.range(0, TILE) as k:
                u, v = tile_a[ly * TILE + k], tile_b[k * TILE + lx]
                total.set(apply("fma", u, v, total) if fused else total + u * v)
            p.barrier()
        with p.if_((y < rows) & (x < columns)):
            c[y * columns + x] = total
    left_values, right_values = _random(dtype, rows * inner, rng), _random(dtype, inner * columns, rng)
    add, multiply, fma = OPS["add"], OPS["mul"], OPS["fma"]
    product: list[Scalar] = []
    for y_ in range(rows):
        for x_ in range(columns):
            sum_: Scalar = 0.0 if dtype.is_float else 0
            for k_ in range(-(-inner // TILE) * TILE):  # the padding adds zeros, as the program does
                zero: Scalar = 0.0 if dtype.is_float else 0
                u_ = left_values[y_ * inner + k_] if k_ < inner else zero
                v_ = right_values[k_ * columns + x_] if k_ < inner else zero
                if fused:
                    sum_ = fma.evaluate(dtype, u_, v_, sum_)
                else:
                    sum_ = add.evaluate(dtype, sum_, multiply.evaluate(dtype, u_, v_))
            product.append(sum_)
    inputs = {"a": pack(dtype, left_values), "b": pack(dtype, right_values)}
    return Launch(program=p.build(), inputs=inputs, grid=(2, 2, 1)), Exactly((pack(dtype, product),))


def _random(dtype: DType, count: int, rng: Random) -> list[Scalar]:
    if dtype.is_float:
        return [round_float(dtype, rng.uniform(-3, 3)) for _ in range(count)]
    return [rng.randrange(dtype.lowest, dtype.highest) for _ in range(count)]


def _stencil(rng: Random) -> tuple[Launch, Expected]:
    """Conway's game of life on a 20 × 12 board without borders; neighbours outside are dead."""
    width, height = 20, 12
    with program("life", (8, 4, 1)) as p:
        board, out = p.read("board", u32), p.write("out", u32, width * height)
        x, y = p.let(p.global_id(0)), p.let(p.global_id(1))
        alive = p.var(0, u32)
        with p.range(-1, 2, dtype=i32) as dy, p.range(-1, 2, dtype=i32) as dx:
            nx, ny = p.let(x.cast(i32) + dx), p.let(y.cast(i32) + dy)
            inside = (nx >= 0) & (nx < width) & (ny >= 0) & (ny < height)
            with p.if_(inside & ((dx != 0) | (dy != 0))):
                alive.set(alive + board[ny * width + nx])
        with p.if_((x < width) & (y < height)):
            here = board[y * width + x]
            out[y * width + x] = ((alive == 3) | ((alive == 2) & (here == 1))).cast(u32)
    cells = [rng.randrange(2) for _ in range(width * height)]

    def next_(n: int) -> int:
        cx, cy = n % width, n // width
        around = [(cx + i, cy + j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
        count = sum(cells[b * width + a] for a, b in around if 0 <= a < width and 0 <= b < height)
        return int(count == 3 or (count == 2 and cells[n] == 1))

    launch = Launch(program=p.build(), inputs={"board": pack(u32, cells)}, grid=(3, 3, 1))
    return launch, Exactly((pack(u32, [next_(n) for n in range(width * height)]),))
