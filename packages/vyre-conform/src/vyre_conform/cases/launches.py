"""Launches of sizes that programs do not expect: many workgroups, buffers that are longer, grids that are empty."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import u8, u32, u64

TOP = 2**32


def specs() -> Iterator[Spec]:
    yield seeded(address("launches", "many_groups"), _many)
    yield seeded(address("launches", "many_groups_in_planes"), _planes)
    yield fixed(address("launches", "groups_without_ids"), _without_ids)
    yield seeded(address("launches", "long_buffers"), _long)
    yield seeded(address("launches", "empty_grid_with_ranges"), _empty)


def _many(rng: Random) -> tuple[Launch, Expected]:
    """More workgroups than any device runs at a time, the last of them not full, and the number of them."""
    group, count = 8, 8 * 150 - 5
    with program("many_groups", group) as p:
        x = p.read("x", u32)
        out, tail = p.write("out", u32, like=x), p.write("tail", u32, like=x)
        i = p.let(p.global_id(0))
        out[i] = x[i] * 3 + p.num_workgroups(0)
        with p.if_(i < x.length - 1):
            tail[i] = x[i + 1] + i
    values = [rng.randrange(TOP) for _ in range(count)]
    outputs = (
        pack(u32, [(v * 3 + 150) % TOP for v in values]),
        pack(u32, [*((v + n) % TOP for n, v in enumerate(values[1:])), 0]),
    )
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly(outputs, ("x",))


def _planes(rng: Random) -> tuple[Launch, Expected]:
    """Many workgroups on x, of which there are several rows and planes."""
    group, (x_groups, y_groups, z_groups) = 4, (67, 2, 3)
    width = group * x_groups
    with program("planes", group) as p:
        x, out = p.read("x", u32), p.write("out", u32, width * y_groups * z_groups)
        i = p.let(p.global_id(0))
        with p.if_(i < width - 3):
            row = p.let(p.global_id(2) * p.num_workgroups(1) + p.global_id(1))
            out[row * width + i] = x[i] * 5 + row
    values = [rng.randrange(TOP) for _ in range(width)]
    rows = range(y_groups * z_groups)
    expected = [(v * 5 + row) % TOP if n < width - 3 else 0 for row in rows for n, v in enumerate(values)]
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)}, grid=(x_groups, y_groups, z_groups))
    return launch, Exactly((pack(u32, expected),))


def _without_ids() -> tuple[Launch, Expected]:
    """Invocations that do not ask which they are: all of each workgroup add, and as many as there are workgroups."""
    with program("without_ids", (2, 2, 1)) as p:
        total, sizes = p.read_write("total", u64, 1), p.read_write("sizes", u32, 3)
        total.atomic_add(0, (p.num_workgroups(0) * 100 + p.num_workgroups(1)).cast(u64))
        for axis in range(3):
            sizes.atomic_max(axis, p.num_workgroups(axis))
    grid = (70, 3, 1)
    outputs = (pack(u64, [4 * 210 * 7003]), pack(u32, grid))
    inputs = {"total": bytes(8), "sizes": bytes(12)}
    return Launch(program=p.build(), inputs=inputs, grid=grid), Exactly(outputs)


def _long(rng: Random) -> tuple[Launch, Expected]:
    """Buffers that go on where the grid ends: what no invocation has is as it was, and can be read all the same."""
    group, groups, count = 4, 66, 1000
    ran = group * groups
    with program("long_buffers", group) as p:
        x, stored = p.read("x", u32), p.read_write("kept", u32)
        out = p.write("out", u32, like=x)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            out[i] = x[x.length - 1 - i] + x[i + x.length // 2]
            stored[i * 2] = stored[i * 2] + 1
    xs, ys = ([rng.randrange(TOP) for _ in range(count)] for _ in "xy")
    outputs = (
        pack(u32, [(v + 1) % TOP if n % 2 == 0 and n < 2 * ran else v for n, v in enumerate(ys)]),
        pack(u32, [(xs[count - 1 - n] + xs[n + count // 2]) % TOP if n < ran else 0 for n in range(count)]),
    )
    inputs = {"x": pack(u32, xs), "kept": pack(u32, ys)}
    return Launch(program=p.build(), inputs=inputs, grid=(groups, 1, 1)), Exactly(outputs)


def _empty(rng: Random) -> tuple[Launch, Expected]:
    """Where nothing runs the host gets its ranges of what was there at first."""
    with program("empty_ranges", 4) as p:
        stored = p.read_write("kept", u32, 16, output_range=(8, 24))
        halves = p.read_write("halves", u8, 9, output_range=(3, 8))
        fresh = p.write("fresh", u32, 16, output_range=(4, 12))
        i = p.let(p.global_id(0))
        stored[i] = 1
        halves[i] = 2
        fresh[i] = 3
    old, narrow = [rng.randrange(TOP) for _ in range(16)], rng.randbytes(9)
    inputs = {"kept": pack(u32, old), "halves": narrow}
    outputs = (pack(u32, old)[8:24], narrow[3:8], bytes(8))
    return Launch(program=p.build(), inputs=inputs, grid=(3, 0, 1)), Exactly(outputs)
