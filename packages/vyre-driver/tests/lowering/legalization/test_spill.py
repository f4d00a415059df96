"""Private arrays that are too large for a stack live in scratch memory, and nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.legalization import spill
from vyre_foundation.build import program
from vyre_foundation.dtype import f64, i8, i32, i64, u8, u32, u64
from vyre_foundation.ir.buffer import Memory, Per, PerLaunch

WIDE = 33
"""Elements of u32 of which 64 invocations have more than fits, here."""


@pytest.fixture(autouse=True)
def small_stack(monkeypatch):
    monkeypatch.setattr(spill, "MAX_BYTES", 64 * 32 * 4)


def filling(count=WIDE, dtype=u32, index=u32, group=64, barrier=False, grid_barrier=False):
    """Stores at indices from memory, also outside, and looks at all of it."""
    with program("filling", group) as p:
        at, out = p.read("at", index), p.write("out", u32, 2 * group)
        table, small = p.private("table", dtype, count), p.private("small", u32, 2)
        i = p.global_id(0)
        table[at[i]] = (i + 1).cast(dtype)
        table[at[i] + at[i + 1]] = (i + 2).cast(dtype)
        small[i & 1] = table.length
        if barrier:
            p.barrier()
        if grid_barrier:
            p.grid_barrier()
        total = p.var(0, u32)
        with p.range(0, 8) as k:
            total.set(total * 31 + table[k * (count // 8)].cast(u32) + small[k & 1])
        out[i] = total * 31 + table[at[i]].cast(u32) + table[at[i + 3]].cast(u32)
    return p.build()


def indices(index, count=WIDE, size=140):
    rng = np.random.default_rng(3)
    low = max(index.lowest, -3 * count)
    high = min(index.highest, 3 * count)
    near = rng.integers(low, high, size, endpoint=True)
    edges = [index.lowest, index.highest, 0, min(count - 1, index.highest), min(count, index.highest)]
    near[: len(edges)] = [min(edge, 2**63 - 1) for edge in edges]
    return near.astype(index.numpy)


@pytest.mark.parametrize("index", [u32, i32, u8, i8, u64, i64], ids=str)
def test_nobody_can_tell(index, case, check):
    check(case(filling(index=index), {"at": indices(index)}, grid=(2, 1, 1)), "loops")


@pytest.mark.parametrize("dtype", [u8, f64], ids=str)
@pytest.mark.parametrize("barriers", [{"barrier": True}, {"grid_barrier": True}], ids=lambda kind: next(iter(kind)))
def test_across_barriers(dtype, barriers, case, check):
    count = 128 // dtype.size + 1
    source = filling(count, dtype, **barriers)
    check(case(source, {"at": indices(u32, count)}, grid=(2, 1, 1)), "loops")


def test_it_is_zero_again_in_the_next_iteration(case, check):
    check(case(filling(), {"at": indices(u32)}, grid=(2, 1, 1), iterations=3), "loops")


def test_the_largest_arrays_go_first(case, dialects):
    lowered = case(filling(), {"at": indices(u32)}).lower(dialects["loops"].target())
    (kernel,) = lowered.kernels
    assert lowered.buffers["table_spilled"].count == PerLaunch(Per.INVOCATION, WIDE)
    private = {b.name: b.count for b in kernel.program.buffers if b.memory is Memory.PRIVATE}
    assert private == {"small": 2 * 64}


@pytest.mark.parametrize(("dialect", "count"), [("loops", 30), ("rich", 4000)])
def test_what_fits_and_what_has_no_such_stack_stays(dialect, count, case, dialects):
    lowered = case(filling(count), {"at": indices(u32)}).lower(dialects[dialect].target())
    assert set(lowered.buffers) == {"at", "out"}
