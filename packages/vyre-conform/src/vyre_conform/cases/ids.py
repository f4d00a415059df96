"""Where an invocation is, in one, two and three dimensions, and under overrides of the geometry."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed
from vyre_conform.cases.values import pack
from vyre_driver.backend.config import Extent
from vyre_foundation.build import ProgramBuilder, Value, program
from vyre_foundation.dtype import u32

SHAPES: tuple[tuple[Extent, Extent], ...] = (
    ((4, 1, 1), (3, 1, 1)),
    ((4, 2, 1), (2, 3, 1)),
    ((2, 3, 2), (3, 2, 2)),
    ((1, 5, 1), (1, 2, 3)),
    ((3, 1, 4), (2, 1, 2)),
    ((1, 1, 7), (1, 1, 3)),
    ((8, 8, 1), (1, 1, 1)),
)


def specs() -> Iterator[Spec]:
    for group, grid in SHAPES:
        yield fixed(address("ids", "all", group=_text(group), grid=_text(grid)), _ids, group, grid)
    yield fixed(address("ids", "workgroup_override"), _override, (6, 2, 1), (2, 2, 1))
    yield fixed(address("ids", "inferred_grid"), _inferred)
    yield fixed(address("ids", "empty_grid"), _empty_grid)
    yield fixed(address("ids", "large_grid"), _large)


def _text(extent: Extent) -> str:
    return "x".join(map(str, extent))


def linear_id(p: ProgramBuilder, size: Extent) -> Value:
    """The linear global id under a workgroup size that is known."""
    x, y, z = (p.global_id(axis) for axis in range(3))
    rows, slices = p.num_workgroups(0) * size[0], p.num_workgroups(1) * size[1]
    return p.let((z * slices + y) * rows + x)


def _launch_ids(size: Extent, grid: Extent, workgroup: Extent | None) -> tuple[Launch, Expected]:
    actual = workgroup or size
    total = actual[0] * actual[1] * actual[2] * grid[0] * grid[1] * grid[2]
    with program("ids", size) as p:
        out = p.write("out", u32, total * 12)
        i = linear_id(p, actual)
        for axis in range(3):
            kinds = (p.global_id(axis), p.local_id(axis), p.workgroup_id(axis), p.num_workgroups(axis))
            for n, value in enumerate(kinds):
                out[i * 12 + (axis * 4 + n)] = value
    rows = []
    extents = [grid[axis] * actual[axis] for axis in range(3)]
    for z, y, x in product(*(range(extents[axis]) for axis in (2, 1, 0))):
        for axis, at in enumerate((x, y, z)):
            rows += [at, at % actual[axis], at // actual[axis], grid[axis]]
    launch = Launch(program=p.build(), inputs={}, grid=grid, workgroup=workgroup)
    return launch, Exactly((pack(u32, rows),))


def _ids(size: Extent, grid: Extent) -> tuple[Launch, Expected]:
    return _launch_ids(size, grid, None)


def _override(workgroup: Extent, grid: Extent) -> tuple[Launch, Expected]:
    return _launch_ids((2, 1, 1), grid, workgroup)


def _inferred() -> tuple[Launch, Expected]:
    """The longest output decides, rounded up to whole workgroups; every invocation of the last one runs."""
    with program("inferred", (3, 2, 1)) as p:
        short, long = p.write("short", u32, 3), p.write("long", u32, 14)
        count = p.read_write("count", u32)
        count.atomic_add(0, 1)
        is_first = p.let((p.local_id(0) == 0) & (p.local_id(1) == 0))
        with p.if_(is_first):
            long[p.workgroup_id(0)] = p.num_workgroups(0)
        with p.if_(is_first & (p.workgroup_id(0) == 0)):
            short[0] = p.num_workgroups(1)
    outputs = (pack(u32, [1, 0, 0]), pack(u32, [3] * 3 + [0] * 11), pack(u32, [118]))
    return Launch(program=p.build(), inputs={"count": pack(u32, [100])}), Exactly(outputs)


def _empty_grid() -> tuple[Launch, Expected]:
    """A grid with a zero runs nothing: inputs come back, written outputs are zero."""
    with program("empty_grid", 4) as p:
        x, out = p.read_write("x", u32), p.write("out", u32, 3)
        x[p.global_id(0)] = 9
        out[p.global_id(0)] = 9
    launch = Launch(program=p.build(), inputs={"x": pack(u32, [1, 2])}, grid=(2, 0, 1))
    return launch, Exactly((pack(u32, [1, 2]), bytes(12)))


def _large() -> tuple[Launch, Expected]:
    """More workgroups than any device runs at once."""
    with program("large", 64) as p:
        out = p.write("out", u32, 40_000)
        i = p.let(p.global_id(0))
        out[i] = i * 2654435761
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, [n * 2654435761 % 2**32 for n in range(40_000)]),))
