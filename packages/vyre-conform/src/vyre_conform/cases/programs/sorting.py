"""Sorting: by a network with many barriers, by exchanges over the grid, and by digits."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_driver.plan.tail import coerce_to_pow2_with_tail_mask
from vyre_foundation.build import constant, program, select
from vyre_foundation.dtype import DType, f32, i32, u32
from vyre_foundation.ops.scalar import Scalar, from_bits
from vyre_foundation.testing.values import random_bits


def specs() -> Iterator[Spec]:
    for dtype in (u32, i32, f32):
        yield seeded(address("programs", "bitonic_sort", dtype=dtype), _bitonic, dtype, 128)
        yield seeded(address("programs", "bitonic_sort", dtype=dtype, n=100), _bitonic, dtype, 100)
    yield seeded(address("programs", "odd_even_sort"), _odd_even)
    for count in (1, 63, 64, 300):
        yield seeded(address("programs", "radix_sort", n=count), _radix, count)


def _bitonic(dtype: DType, count: int, rng: Random) -> tuple[Launch, Expected]:
    """One workgroup sorts in workgroup memory.

    A network has a power of two of lanes: those of the tail hold what comes last, and have nowhere to store it.
    """
    lanes = coerce_to_pow2_with_tail_mask(count)
    steps = lanes.rounded_count.bit_length() - 1
    with program(f"bitonic_{dtype}", lanes.rounded_count) as p:
        x = p.read("x", dtype)
        out = p.write("out", dtype, like=x)
        cells = p.workgroup("cells", dtype, lanes.rounded_count)
        i = p.let(p.local_id(0))
        last = constant(dtype, inf if dtype.is_float else dtype.highest)
        cells[i] = select(i < x.length, x[i], last) if lanes.tail_lanes else x[i]
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


def _radix(count: int, rng: Random) -> tuple[Launch, Expected]:
    """Eight passes of four bits over keys and what comes with them: counted, scanned and scattered, in order.

    Each workgroup counts its digits; where its keys with a digit go follows from all counts before, digit by digit.
    """
    group, digits = 64, 16
    groups = -(-count // group)
    with program("radix_sort", group) as p:
        keys, places = p.read_write("keys", u32), p.read_write("places", u32, count)
        other_keys, other_places = p.scratch("other_keys", u32, like=keys), p.scratch("other_places", u32, like=keys)
        counts, tile = p.scratch("counts", u32, digits * groups), p.workgroup("tile", u32, group)
        i, local, own = p.let(p.global_id(0)), p.let(p.local_id(0)), p.let(p.workgroup_id(0))
        places[i] = i
        with p.range(0, 8) as round:
            key, place = p.let(keys[i]), p.let(places[i])
            digit = p.let(select(i < keys.length, (key >> (round * 4)) & 15, 99))
            tile[local] = digit
            p.barrier()
            rank = p.var(0, u32)
            with p.range(0, local) as before:
                rank.set(rank + (tile[before] == digit).cast(u32))
            with p.if_(local < digits):
                total = p.var(0, u32)
                with p.range(0, group) as n:
                    total.set(total + (tile[n] == local).cast(u32))
                counts[local * groups + own] = total
            p.grid_barrier()
            start = p.var(0, u32)
            with p.range(0, digit * groups + own) as n, p.if_(i < keys.length):
                start.set(start + counts[n])
            with p.if_(i < keys.length):
                other_keys[start + rank] = key
                other_places[start + rank] = place
            p.grid_barrier()
            keys[i] = other_keys[i]
            places[i] = other_places[i]
            p.grid_barrier()
    values = [rng.choice((rng.randrange(2**32), rng.randrange(50))) for _ in range(count)]
    order = sorted(range(count), key=values.__getitem__)
    outputs = (pack(u32, [values[n] for n in order]), pack(u32, order))
    return Launch(program=p.build(), inputs={"keys": pack(u32, values), "places": bytes(4 * count)}), Exactly(outputs)
