"""How lanes are cut into chunks."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_reference import vector
from vyre_reference.vector.chunk import LANES, chunks


def built(workgroup, *, grid_barrier=False):
    with program("p", workgroup) as p:
        out = p.write("out", u32, 1)
        if grid_barrier:
            p.grid_barrier()
        with p.if_(p.global_id(0) == 0):
            out[0] = 1
    return p.build()


@pytest.mark.parametrize(
    ("workgroup", "grid", "grid_barrier", "expected"),
    [
        (64, (10, 1, 1), False, [(0, 10)]),
        (1024, (40, 1, 1), False, [(0, 16), (16, 16), (32, 8)]),
        ((1000, 1, 1), (3, 3, 2), False, [(0, 16), (16, 2)]),
        (64, (2000, 1, 1), True, [(0, 2000)]),
        (64, (0, 1, 1), True, []),
        (64, (5, 0, 1), False, []),
    ],
)
def test_chunks(workgroup, grid, grid_barrier, expected):
    plan = plan_launch(built(workgroup, grid_barrier=grid_barrier), [], DispatchConfig(grid_override=grid))
    assert LANES == 16384
    assert [(chunk.first, chunk.groups) for chunk in chunks(plan)] == expected


def test_results_do_not_depend_on_the_cut(monkeypatch):
    """Workgroup memory, private memory, ids and divergence, with chunks of one group and with one chunk."""
    with program("cut", (4, 2, 1)) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        shared, own = p.workgroup("shared", u32, 8), p.private("own", u32, 2)
        i = (p.global_id(1) * p.num_workgroups(0) * 4) + p.global_id(0)
        l = p.local_id(1) * 4 + p.local_id(0)
        shared[l] = a[i]
        own[i % 2] = l
        p.barrier()
        with p.if_(a[i] % 3 == 0):
            own[0] = own[0] + shared[7 - l]
        out[i] = own[0] + own[1] * 1000 + p.workgroup_id(0) * 100_000
    config = DispatchConfig(grid_override=(6, 1, 1))
    plan = plan_launch(p.build(), [48 * 4], config)
    a = np.arange(48, dtype=np.uint32) * 7919 % 101
    results = []
    for lanes in (1, 16, 1 << 14):
        monkeypatch.setattr("vyre_reference.vector.chunk.LANES", lanes)
        memory = {"a": a.tobytes(), "out": bytearray(48 * 4)}
        vector.evaluate(plan, memory)
        results.append(bytes(memory["out"]))
    assert results[0] == results[1] == results[2]
