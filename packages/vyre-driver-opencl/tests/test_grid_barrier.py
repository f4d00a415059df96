"""Grid barriers: what was written before is visible to all after, and everything local is still there."""

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, i64, u32


def test_all_groups_see_all_groups(backend: VyreBackend) -> None:
    count = 64 * 20
    with program("reverse", workgroup_size=64) as p:
        a = p.read("a", u32)
        out, middle = p.write("out", u32, like=a), p.scratch("middle", u32, like=a)
        i = p.global_id(0)
        middle[i] = a[i] * 3
        p.grid_barrier()
        out[i] = middle[count - 1 - i]
    given = np.arange(count, dtype=np.uint32)
    (got,) = backend.dispatch(p.build(), [given])
    assert bytes(got) == (given[::-1] * 3).tobytes()


def test_locals_and_memory_live_on(agree) -> None:
    with program("alive", workgroup_size=(4, 2)) as p:
        a = p.read("a", f32)
        out, total = p.write("out", f32, like=a), p.scratch("total", u32, 1)
        shared, mine = p.workgroup("shared", f32, 8), p.private("mine", u32, 3)
        i = p.global_id(0)
        doubled, kept = p.let(a[i] * 2.0), p.var(a[i] + 1.0)
        shared[p.local_id(1) * 4 + p.local_id(0)] = doubled
        mine[1] = i * 7
        total.atomic_add(0, 1)
        p.grid_barrier()
        kept.set(kept + total[0].cast(f32))
        p.grid_barrier()
        out[i] = kept + doubled + shared[7 - p.local_id(0)] + mine[1].cast(f32)
    agree(p.build(), [np.arange(24, dtype=np.float32)], DispatchConfig(grid_override=(6, 1, 1)))


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_barriers_in_host_loops(agree, rounds: int) -> None:
    """Heat on a line: every round reads both neighbours of the round before; the count is a length."""
    with program("heat", workgroup_size=16) as p:
        a, steps = p.read("a", f32), p.read("steps", u32)
        front, back, out = p.scratch("front", f32, like=a), p.scratch("back", f32, like=a), p.write("out", f32, like=a)
        i = p.global_id(0)
        back[i] = a[i]
        with p.range(0, steps.length) as k:
            p.grid_barrier()
            front[i] = (back[i - 1] + back[i] + back[i + 1]) * 0.25 + k.cast(f32)
            p.grid_barrier()
            back[i] = front[i]
        out[i] = back[i]
    agree(p.build(), [np.linspace(-1, 1, 48, dtype=np.float32), np.zeros(rounds, np.uint32)])


def test_nested_host_loops_count_right(agree) -> None:
    with program("nested", workgroup_size=4) as p:
        out, cells = p.write("out", i64, 8), p.scratch("cells", i64, 16)
        i = p.global_id(0)
        with p.range(-2, 3, 2, dtype=i64) as j:
            p.grid_barrier()
            with p.range(0, 3) as k:
                cells[8 + i] = cells[7 - i] * 3 + 10 * j + k.cast(i64)
                p.grid_barrier()
                cells[i] = cells[8 + i]
                p.grid_barrier()
        out[i] = cells[i]
    agree(p.build(), [])


def test_iterations_keep_scratch_and_repeat_the_schedule(backend: VyreBackend) -> None:
    with program("repeat", workgroup_size=4) as p:
        out, sums = p.write("out", u32, 8), p.scratch("sums", u32, 1)
        sums.atomic_add(0, 1)
        p.grid_barrier()
        out[p.global_id(0)] = sums[0]
    (got,) = backend.dispatch(p.build(), [], DispatchConfig(fixpoint_iterations=4))
    assert np.frombuffer(got, np.uint32).tolist() == [32] * 8
