"""Branches, loops and barriers: every path of control, and what has to hold across a barrier."""

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import apply, constant, program, select
from vyre_foundation.dtype import DType, f32, i8, i32, i64, u8, u32, u64


def test_breaks_continues_and_returns(agree) -> None:
    with program("paths", workgroup_size=16) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i, total = p.global_id(0), p.var(0, u32)
        with p.if_(a[i] == 13):
            p.return_()
        with p.range(0, a[i]) as j:
            with p.if_(j % 3 == 1):
                p.continue_()
            with p.if_(j == 10):
                p.break_()
            with p.range(0, j) as k:
                with p.if_(k > 4):
                    p.break_()
                total.set(total + k * j)
            total.set(total + 100)
        with p.if_(total > 500):
            out[i] = total
        with p.else_(), p.if_(total == 0):
            out[i] = 7
    agree(p.build(), [np.arange(40, dtype=np.uint32)])


@pytest.mark.parametrize("t", [u8, i8, i32, u64, i64], ids=str)
def test_loops_end_at_the_end_of_their_type(agree, t: DType) -> None:
    with program("last", workgroup_size=1) as p:
        start, stop = p.read("start", t), p.read("stop", t)
        for step in (1, 7, 100):
            count, last = p.write(f"count{step}", u32, like=start), p.write(f"last{step}", t, like=start)
            with p.range(0, start.length) as i:
                rounds, seen = p.var(0, u32), p.var(0, t)
                with p.range(start[i], stop[i], step) as j:
                    rounds.set(rounds + 1)
                    seen.set(j)
                count[i] = rounds
                last[i] = seen
    starts = [t.highest - 3, t.highest - 1, t.highest, t.lowest, t.highest, 3]
    stops = [t.highest, t.highest, t.highest, t.lowest + 250 % (t.highest + 1), t.lowest, 3]
    given = [np.array(values, t.numpy) for values in (starts, stops)]
    agree(p.build(), given, DispatchConfig(grid_override=(1, 1, 1)))


def test_barriers_in_loops(agree) -> None:
    """A tree reduction, then a scan by doubling: each round reads what others wrote in the round before."""
    with program("rounds", workgroup_size=64) as p:
        a = p.read("a", u32)
        sums, scans = p.write("sums", u32, 4), p.write("scans", u32, like=a)
        tree, line = p.workgroup("tree", u32, 64), p.workgroup("line", u32, 128)
        i, lid = p.global_id(0), p.local_id(0)
        tree[lid] = a[i]
        line[lid] = a[i]
        p.barrier()
        with p.range(0, 6) as k:
            half = constant(u32, 32) >> k
            with p.if_(lid < half):
                tree[lid] = tree[lid] + tree[lid + half]
            p.barrier()
        with p.range(0, 6) as k:
            distance, here = constant(u32, 1) << k, (k % 2) * 64
            value = p.var(line[here + lid], u32)
            with p.if_(lid >= distance):
                value.set(value + line[here + lid - distance])
            line[64 - here + lid] = value
            p.barrier()
        scans[i] = line[lid]
        with p.if_(lid == 0):
            sums[p.workgroup_id(0)] = tree[0]
    values = np.random.default_rng(5).integers(0, 2**32, 256, np.uint32)
    sums, scans = agree(p.build(), [values])
    groups = values.reshape(4, 64)
    assert sums == groups.sum(axis=1, dtype=np.uint32).tobytes()
    assert scans == groups.cumsum(axis=1, dtype=np.uint32).tobytes()


def test_uniform_branches_around_barriers(agree) -> None:
    with program("uniform", workgroup_size=32) as p:
        a, out = p.uniform("a", u32, 3), p.write("out", u32, 96)
        shared, lid = p.workgroup("shared", u32, 32), p.local_id(0)
        group = p.workgroup_id(0)
        shared[lid] = lid
        with p.if_(a[group] > 1):
            p.barrier()
            with p.range(0, a[group]):
                neighbour = p.let(shared[(lid + 1) % 32])
                p.barrier()
                shared[lid] = neighbour
                p.barrier()
        out[p.global_id(0)] = shared[lid]
    (got,) = agree(p.build(), [np.array([0, 2, 5], np.uint32)])
    lanes = np.arange(32, dtype=np.uint32)
    assert got == np.concatenate([lanes, (lanes + 2) % 32, (lanes + 5) % 32]).tobytes()


def test_values_live_across_barriers(agree) -> None:
    with program("alive", workgroup_size=(4, 4)) as p:
        out, shared = p.write("out", f32, 16), p.workgroup("shared", f32, 16)
        index = p.local_id(1) * 4 + p.local_id(0)
        before, kept = p.let(index.cast(f32) * 1.5), p.var(index.cast(f32))
        shared[15 - index] = before
        p.barrier()
        kept.set(kept + shared[index])
        p.barrier()
        shared[index] = kept
        p.barrier()
        out[index] = shared[(index + 5) % 16] + before
    agree(p.build(), [], DispatchConfig(grid_override=(1, 1, 1)))


def test_fixpoint_iterations_run_the_whole_program_again(backend: VyreBackend) -> None:
    with program("again", workgroup_size=4) as p:
        a = p.read_write("a", u32)
        out, scratch, i = p.write("out", u32, like=a), p.scratch("scratch", u32, 4), p.global_id(0)
        scratch[i] = scratch[i] + 1
        a[i] = a[i] * 2
        out[i] = scratch[i]
    a, out = backend.dispatch(p.build(), [np.array([1, 2, 3, 4], np.uint32)], DispatchConfig(fixpoint_iterations=3))
    assert np.frombuffer(a, np.uint32).tolist() == [8, 16, 24, 32]
    assert np.frombuffer(out, np.uint32).tolist() == [3, 3, 3, 3]


def test_a_guard_guards_what_it_must(agree) -> None:
    """A division, a conversion and an access that only their guard makes harmless."""
    with program("guarded", workgroup_size=8) as p:
        a, b = p.read("a", i32), p.read("b", i32)
        out = p.write("out", i32, like=a)
        i = p.global_id(0)
        safe = select(b[i] != 0, apply("div", a[i], b[i]), 0)
        with p.if_(b[i] < 100):
            out[i] = safe + a[b[i]] + apply("rem", a[i], b[i])
    limits = [0, 1, -1, 99, 100, -(2**31), 2**31 - 1, 3]
    agree(p.build(), [np.array([-(2**31)] * 8, np.int32), np.array(limits, np.int32)])


def test_a_long_chain_of_operators(agree) -> None:
    with program("chain", workgroup_size=4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        value = a[p.global_id(0)]
        for k in range(2000):
            value = value * 3 + k if k % 3 else value ^ (value >> 5)
        out[p.global_id(0)] = value
    agree(p.build(), [np.arange(4, dtype=np.uint32)])


def test_programs_may_be_called_and_name_things_as_they_like(agree) -> None:
    """Words of the target, of C and of its library are names like others."""
    for name in ("kernel", "main", "exp", "get_global_id", "while", "out", "1st", "double quoted"):
        with program(name, workgroup_size=4) as p:
            a = p.read("global", u32)
            out = p.write("float", u32, like=a)
            table = p.constant("sin", u32, [4, 3, 2, 1])
            shared = p.workgroup("barrier", u32, 4)
            lane = p.let(p.global_id(0), name="uint")
            shared[lane] = a[lane] + table[lane]
            p.barrier()
            out[lane] = shared[3 - lane]
        agree(p.build(), [np.arange(4, dtype=np.uint32)])
