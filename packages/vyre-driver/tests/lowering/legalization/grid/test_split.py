"""Grid barriers as launches: what is live survives, in every way that a split can lose it, and nothing else is kept."""

from __future__ import annotations

import pytest

from vyre_driver.legalization.schedule import COUNTERS, KernelLaunch, Repeat
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DTYPES, bool_, f32, i8, i32, i64, u32, u64
from vyre_foundation.ir.buffer import Memory, Per, PerLaunch
from vyre_foundation.validate import InvalidProgram

DATA = {"a": [(k * 2654435761) % 2**32 for k in range(24)]}


def added(lowered) -> set[str]:
    """The buffers that lowering has added."""
    return lowered.buffers.keys() - {b.name for b in lowered.source.buffers}


def test_a_value_loaded_before_the_barrier_stays_what_it_was(case, check):
    """Hole 1: to load it again would see what others have stored since."""
    with program("reread", 4) as p:
        a = p.read_write("a", u32)
        i = p.global_id(0)
        mine = p.let(a[i], name="mine")
        p.grid_barrier()
        a[(i + 1) % a.length] = mine
        p.grid_barrier()
        p.write("out", u32, like=a)[i] = mine - a[i]
    lowered = check(case(p.build(), DATA), "full")
    assert len(lowered.kernels) == 3
    assert added(lowered) == {"mine0_kept"}
    assert lowered.buffers["mine0_kept"].count == PerLaunch(Per.INVOCATION)


def test_a_mutable_local_keeps_its_last_value(case, check):
    """Hole 2: its first value is not its value. Also where only some invocations have changed it."""
    with program("mutable", 4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        v = p.var(a[i], name="v")
        v.set(v * 3)
        with p.if_(i % 2 == 0):
            v.set(v + 1)
        p.grid_barrier()
        with p.if_(i % 3 == 0):
            v.set(v ^ 0xFF)
        p.grid_barrier()
        p.write("out", u32, like=a)[i] = v.get()
    assert added(check(case(p.build(), DATA), "full")) == {"v0_kept"}


def test_a_local_that_is_set_before_it_is_read_is_not_kept(case, check):
    with program("dead", 4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        v, w = p.var(a[i], name="v"), p.let(a[i] + 1, name="w")
        p.write("first", u32, like=a)[i] = v + w
        p.grid_barrier()
        v.set(i)
        p.write("out", u32, like=a)[i] = v.get()
    assert added(check(case(p.build(), DATA), "full")) == set()


def test_locals_of_blocks_stay_in_their_blocks(case, check):
    """Hole 3: a let inside of an if or a loop is evaluated there and nowhere else."""
    with program("blocks", 4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        total = p.var(0, u32, name="total")
        with p.if_(i < 3):
            inner = p.let(a[i] // 7, name="inner")
            total.set(inner)
        with p.range(0, 3, name="k") as k:
            total.set(total + p.let(a[i + k] + k, name="step"))
        p.grid_barrier()
        with p.if_(i >= 3):
            total.set(p.let(a[i] ^ 5, name="other"))
        p.write("out", u32, like=a)[i] = total.get()
    assert added(check(case(p.build(), DATA), "full")) == {"total0_kept"}


def test_the_order_of_what_is_kept_is_that_of_the_program(case, dialects):
    """Hole 4: sets of names must not decide about names and arguments of kernels."""
    with program("order", 4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        values = [p.let(a[i + k], name=name) for k, name in enumerate(("zeta", "alpha", "mu", "beta"))]
        p.grid_barrier()
        p.write("out", u32, like=a)[i] = values[3] + values[1] * values[0] - values[2]
    lowered = case(p.build(), DATA).lower(dialects["full"].target())
    names = [b.name for b in lowered.kernels[1].program.buffers]
    assert names == ["out", "zeta0_kept", "alpha0_kept", "mu0_kept", "beta0_kept"]


def test_buffers_that_are_only_measured_are_not_lost(case, check):
    """Hole 5: a length is a use, and an indirect dispatch needs its words only on the host."""
    with program("measured", 4) as p:
        grid = p.read("grid", u32)
        p.indirect_dispatch(grid)
        a, b = p.read("a", u32), p.read("b", u32)
        i = p.global_id(0)
        out = p.write("out", u32, 24)
        out[i] = a.length
        p.grid_barrier()
        out[i] = out_value = p.let(b.length * 100 + i)
        assert out_value.dtype is u32
    lowered = check(case(p.build(), {"grid": [2, 1, 1], "a": [1, 2, 3], "b": [1]}), "full")
    assert lowered.kernels[1].lengths == ("b",)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_loops_around_barriers_become_loops_of_the_host(rounds, case, check):
    """Hole 6: their bounds come from lengths, their values live from round to round, and no round is one too many."""
    with program("rounds", 4) as p:
        a, n = p.read_write("a", u32), p.read("n", u32)
        i = p.global_id(0)
        total = p.var(1, u32, name="total")
        with p.range(0, n.length, name="r") as r:
            total.set(total * 3 + a[(i + r) % a.length])
            p.grid_barrier()
            a[i] = total + r
            p.grid_barrier()
        p.write("out", u32, like=a)[i] = total.get()
    lowered = check(case(p.build(), {**DATA, "n": [0] * rounds}), "full")
    assert [type(step) for step in lowered.schedule] == [KernelLaunch, Repeat, KernelLaunch]
    assert added(lowered) == {"total0_kept", COUNTERS}


def test_loops_may_be_nested_and_count_in_any_type(case, check):
    with program("nested", 4) as p:
        a, n = p.read_write("a", u32), p.read("n", u32)
        i = p.global_id(0)
        last = p.let(p.num_workgroups(0).cast(i8) + 2, name="last")
        with p.range(-3, last, step=2, name="j") as j:
            with p.range(j.cast(i64) - 1, j.cast(i64) + n.length.cast(i64), name="k") as k:
                a[i] = a[i] * 3 + (j.cast(i64) * 100 + k).cast(u32)
                p.grid_barrier()
                a[(i * 7) % a.length] = a[i] ^ i
                p.grid_barrier()
            with p.region("between"):
                a[i] = a[i] + j.cast(u32)
                p.grid_barrier()
    lowered = check(case(p.build(), {**DATA, "n": [0, 0]}, grid=(6, 1, 1)), "full")
    (outer,) = lowered.schedule
    assert isinstance(outer, Repeat)
    assert [type(step) for step in outer.body] == [Repeat, KernelLaunch]
    assert lowered.buffers[COUNTERS].count == 2
    assert lowered.buffers[COUNTERS].dtype is u64


def test_no_kernel_has_a_grid_barrier_left(case, check):
    """Hole 7: who splits again what is split goes on for ever."""
    with program("regions", 4) as p:
        a = p.read_write("a", u32)
        with p.region("outer"), p.region("inner"):
            p.grid_barrier()
            a[p.global_id(0)] = 1
            p.grid_barrier()
            p.grid_barrier()
            with p.range(0, 2):
                p.grid_barrier()
        a[p.global_id(0)] = a[p.global_id(0)] + 1
        p.grid_barrier()
    lowered = check(case(p.build(), DATA), "full")
    assert len(lowered.kernels) == 2
    assert all("grid" not in str(kernel.program).replace("program ", "") for kernel in lowered.kernels)


@pytest.mark.parametrize("iterations", [1, 3])
def test_arrays_survive_and_begin_as_zeros_in_every_iteration(iterations, case, check):
    """Hole 8: workgroup and private memory, also where a loop takes them over before anybody has left them."""
    with program("arrays", 4) as p:
        a = p.read_write("a", u32)
        shared, own = p.workgroup("shared", u32, 6), p.private("own", u32, 3)
        i, l = p.global_id(0), p.local_id(0)
        with p.range(0, 3, name="r") as r:
            shared[l] = shared[l] + a[i] + r
            own[r] = own[0] + i
            p.grid_barrier()
            a[i] = shared[(l + 1) % 4] + own[r]
            p.grid_barrier()
        p.write("out", u32, like=a)[i] = shared[l] + shared[5] + own[2]
    lowered = check(case(p.build(), DATA, iterations=iterations), "full")
    assert lowered.buffers["shared_kept"].count == PerLaunch(Per.WORKGROUP, 6)
    assert lowered.buffers["own_kept"].count == PerLaunch(Per.INVOCATION, 3)
    assert isinstance(lowered.schedule[0], KernelLaunch)  # clears them


def test_arrays_that_nobody_reads_later_are_not_kept(case, check):
    with program("idle", 4) as p:
        a, shared = p.read("a", u32), p.workgroup("shared", u32, 4)
        out = p.write("out", u32, like=a)
        i, l = p.global_id(0), p.local_id(0)
        shared[l] = a[i]
        p.barrier()
        out[i] = shared[3 - l]
        p.grid_barrier()
        out[i] = i
        p.grid_barrier()
        shared[l] = i
        p.write("last", u32, like=a)[i] = l
    assert added(check(case(p.build(), DATA), "full")) == set()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_locals_of_every_type_survive(dtype, case, check):
    with program("types", 4) as p:
        a = p.read("a", dtype)
        i = p.global_id(0)
        v, w = p.var(a[i], name="v"), p.let(a[i + 1], name="w")
        p.grid_barrier()
        v.set(w if dtype is bool_ else apply("xor" if dtype.is_integer else "add", v.get(), w))
        p.grid_barrier()
        p.write("out", dtype, like=a)[i] = v.get()
    data = bytes((k * 37 + 11) % 256 for k in range(24 * dtype.size))
    if dtype is bool_:
        data = bytes(k % 2 for k in range(24))
    check(case(p.build(), {"a": data}), "full")


def test_cheap_values_are_computed_again(case, check):
    with program("cheap", (4, 2)) as p:
        a = p.read("a", u32)
        row, column = p.let(p.global_id(1), name="row"), p.let(p.global_id(0), name="column")
        i = p.let(row * (p.num_workgroups(0) * 4) + column, name="i")
        p.write("first", u32, like=a)[i] = a[i]
        p.grid_barrier()
        p.write("out", u32, like=a)[i] = a[(i + 1) % a.length]
    lowered = check(case(p.build(), DATA, grid=(3, 1, 1)), "full")
    assert added(lowered) == set()


def test_expensive_values_are_kept(case, check):
    with program("expensive", 4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        x = i
        for k in range(60):
            x = x * 3 + k
        heavy = p.let(x, name="heavy")
        p.write("first", u32, like=a)[i] = heavy
        p.grid_barrier()
        p.write("out", u32, like=a)[i] = heavy ^ a[i]
    assert added(check(case(p.build(), DATA), "full")) == {"heavy0_kept"}


def test_results_of_atomics_and_collectives_survive(case, check):
    with program("results", 8, subgroup_size=4) as p:
        a = p.read_write("a", u32)
        i = p.global_id(0)
        old = a.atomic_add(i, 5)
        total = p.subgroup("reduce_add", i)
        p.grid_barrier()
        p.write("out", u32, like=a)[i] = old + total
    assert added(check(case(p.build(), DATA), "full")) == {"old0_kept", "sub0_kept"}


def test_traps_of_all_kernels_are_told_apart(case, check):
    with program("trapping", 4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        with p.if_(i == 9):
            p.trap(1, "early")
        p.grid_barrier()
        with p.if_(i == 3):
            p.trap(2, "late")
        p.write("out", u32, like=a)[i] = 1
    launch = case(p.build(), DATA)
    assert launch.run_lowered(check(launch, "full")) == ("late", 2, 3)


def test_a_target_with_grid_barriers_keeps_them(case, check):
    with program("native", 4) as p:
        a = p.read_write("a", u32)
        i = p.global_id(0)
        x = p.let(a[(i + 1) % a.length])
        p.grid_barrier()
        a[i] = x
    lowered = check(case(p.build(), DATA), "rich")
    assert len(lowered.kernels) == 1
    assert lowered.schedule == (KernelLaunch(0),)


def test_an_empty_grid_runs_nothing(case, check):
    with program("empty", 4) as p:
        a = p.read_write("a", f32)
        v = p.var(a[0])
        v.set(v)
        p.grid_barrier()
        a[p.global_id(0)] = v.get()
    check(case(p.build(), {"a": [1.0]}, grid=(0, 1, 1)), "full")


def test_homes_are_scratch_of_the_dispatch(dialects, case):
    with program("homes", 4) as p:
        a = p.read("a", i32)
        v = p.var(a[p.global_id(0)], name="v")
        v.set(v)
        p.grid_barrier()
        p.write("out", i32, like=a)[p.global_id(0)] = v.get()
    lowered = case(p.build(), {"a": [1, 2, 3]}).lower(dialects["full"].target())
    home = lowered.buffers["v0_kept"]
    assert (home.memory, home.dtype, home.binding) == (Memory.SCRATCH, i32, 2)


def test_a_bound_that_changes_is_no_bound_of_the_host():
    """What a mutable local holds depends on the place, so a loop with a grid barrier cannot count to it."""
    with program("unknown", 4) as p:
        a = p.read_write("a", u32)
        n = p.var(3, u32)
        n.set(n)
        with p.range(0, n):
            p.grid_barrier()
        a[0] = n.get()
    with pytest.raises(InvalidProgram) as raised:
        p.build()
    assert [f.code for f in raised.value.findings] == ["V053"]
