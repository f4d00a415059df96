"""Grids that stand in an input."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Refusal, Spec, fixed
from vyre_conform.cases.values import pack
from vyre_driver.backend.config import Extent
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Memory


def specs() -> Iterator[Spec]:
    for grid in ((3, 1, 1), (2, 3, 1), (1, 2, 3), (0, 1, 1), (2, 0, 2)):
        text = "x".join(map(str, grid))
        yield fixed(address("indirect", "grid", grid=text), _grid, grid, 0)
    yield fixed(address("indirect", "offset"), _grid, (2, 2, 1), 5)
    yield fixed(address("indirect", "uniform"), _grid, (2, 2, 1), 1, Memory.UNIFORM)
    yield fixed(address("indirect", "too_short"), _too_short)


def _grid(grid: Extent, offset: int, memory: Memory = Memory.STORAGE) -> tuple[Launch, Expected]:
    """Every workgroup leaves a mark in a table of 3 × 3 × 3."""
    with program("indirect", 4) as p:
        words = p.uniform("words", u32) if memory is Memory.UNIFORM else p.read("words", u32)
        out = p.write("out", u32, 27)
        p.indirect_dispatch(words, offset)
        with p.if_(p.local_id(0) == 3):
            at = (p.workgroup_id(2) * 3 + p.workgroup_id(1)) * 3 + p.workgroup_id(0)
            out[at] = p.num_workgroups(0) * 100 + p.num_workgroups(1) * 10 + p.num_workgroups(2)
    x, y, z = grid
    mark = x * 100 + y * 10 + z
    table = [mark if c < x and b < y and a < z else 0 for a in range(3) for b in range(3) for c in range(3)]
    inputs = {"words": pack(u32, [77] * offset + [*grid, 88])}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, table),))


def _too_short() -> tuple[Launch, Expected]:
    with program("indirect_too_short", 4) as p:
        words, out = p.read("words", u32), p.write("out", u32, 4)
        p.indirect_dispatch(words, 2)
        out[p.global_id(0)] = 1
    return Launch(program=p.build(), inputs={"words": pack(u32, [1, 1, 1, 1])}), Refusal("InvalidInput")
