"""Bitonic sort: many barriers in nested loops."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import DType, f32, i32, u32
from vyre_foundation.ops.scalar import Scalar, from_bits
from vyre_foundation.testing.values import random_bits


def specs() -> Iterator[Spec]:
    for dtype in (u32, i32, f32):
        yield seeded(address("programs", "bitonic_sort", dtype=dtype), _bitonic, dtype, 128)
    yield seeded(address("programs", "odd_even_sort"), _odd_even)


def _bitonic(dtype: DType, count: int, rng: Random) -> tuple[Launch, Expected]:
    """One workgroup sorts in workgroup memory."""
    steps = count.bit_length() - 1
    with program(f"bitonic_{dtype}", count) as p:
        x = p.read("x", dtype)
        out = p.write("out", dtype, like=x)
        cells = p.workgroup("cells", dtype, count)
        i = p.let(p.local_id(0))
        cells[i] = x[i]
        p.barrier()
        one = p.let(1, u32)
        with p.range(1, steps + 1) as size, p.range(0, size) as step:
            partner = p.let(i ^ (one << (size - 1 - step)))
            with p.if_(partner > i):
                low, high = p.let(cells[i]), p.let(cells[partner])
                rising = (i & (one << size)) == 0
                with p.if_((low > high) == rising):
                    cells[i] = high
                    cells[partner] = low
            p.barrier()
        out[i] = cells[i]
    values: list[Scalar] = []
    while len(values) < count:  # equal floats with different bits have no order
        value = from_bits(dtype, random_bits(rng, dtype))
        if not (value != value or (dtype.is_float and value == 0)):
            values.append(value)
    launch = Launch(program=p.build(), inputs={"x": pack(dtype, values)})
    return launch, Exactly((pack(dtype, sorted(values)),))


def _odd_even(rng: Random) -> tuple[Launch, Expected]:
    """Transposition sort over the whole grid, one grid barrier per round."""
    count = 24
    with program("odd_even_sort", 8) as p:
        cells = p.read_write("cells", u32)
        i = p.let(p.global_id(0))
        with p.range(0, cells.length) as round:
            with p.if_(((i + round) % 2 == 0) & (i + 1 < cells.length)):
                low, high = p.let(cells[i]), p.let(cells[i + 1])
                with p.if_(low > high):
                    cells[i] = high
                    cells[i + 1] = low
            p.grid_barrier()
    values = [rng.randrange(100) for _ in range(count)]
    launch = Launch(program=p.build(), inputs={"cells": pack(u32, values)})
    return launch, Exactly((pack(u32, sorted(values)),))
