"""Control flow: branches, loops at the ends of their types, and lanes that leave early."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_foundation import build
from vyre_foundation.build import program
from vyre_foundation.dtype import i8, i32, i64, u8, u32, u64

# fmt: off
COUNTERS = [
    (u8, 250, 255, 1, [250, 251, 252, 253, 254]),
    (u8, 250, 255, 4, [250, 254]),
    (u8, 0, 255, 200, [0, 200]),
    (u8, 5, 5, 1, []),
    (u8, 6, 5, 1, []),
    (i8, -128, -125, 1, [-128, -127, -126]),
    (i8, 120, 127, 3, [120, 123, 126]),
    (i8, -128, 127, 100, [-128, -28, 72]),
    (i8, 0, 127, 2**70, [0]),
    (i64, 2**63 - 3, 2**63 - 1, 1, [2**63 - 3, 2**63 - 2]),
    (i64, -2**63, 2**63 - 1, 2**63, [-2**63, 0]),
    (i64, -2**63, 2**63 - 1, 2**64 - 1, [-2**63]),
    (u64, 2**64 - 4, 2**64 - 1, 2, [2**64 - 4, 2**64 - 2]),
    (u64, 0, 2**64 - 1, 2**63, [0, 2**63]),
    (u32, 2**32 - 2, 2**32 - 1, 7, [2**32 - 2]),
]
# fmt: on


@pytest.mark.parametrize("uniform", [True, False], ids=["literal bounds", "bounds of each lane"])
@pytest.mark.parametrize(("dtype", "start", "stop", "step", "expected"), COUNTERS, ids=str)
def test_counters_at_the_ends_of_their_type(force, typed, dtype, start, stop, step, expected, uniform):
    """The second invocation's loop is empty where the bounds are its own."""
    with program("count", 2) as p:
        low, high = p.read("low", dtype), p.read("high", dtype)
        seen = p.write("seen", dtype, 16)
        count = p.write("count", u32, 2)
        i = p.global_id(0)
        place = p.var(i * 8)
        rounds = p.var(0, u32)
        first, last = (build.constant(dtype, start), build.constant(dtype, stop)) if uniform else (low[i], high[i])
        with p.range(first, last, step) as counter:
            seen[place] = counter
            place.set(place + 1)
            rounds.set(rounds + 1)
        count[i] = rounds
    inputs = {"low": typed(dtype, [start, 1]).tobytes(), "high": typed(dtype, [stop, 1]).tobytes()}
    got = force(p.build_unchecked(), inputs)
    other = len(expected) if uniform else 0
    assert np.frombuffer(got["seen"], dtype.numpy)[: len(expected)].tolist() == expected
    assert np.frombuffer(got["count"], np.uint32).tolist() == [len(expected), other]


def test_bounds_are_read_once(run):
    with program("once", 1) as p:
        out = p.write("out", u32, 1)
        limit = p.var(3, u32)
        total = p.var(0, u32)
        with p.range(0, limit):
            limit.set(limit + 10)
            total.set(total + 1)
        out[0] = total * 100 + limit
    assert run(p.build(), {})["out"].tolist() == [333]


def test_break_and_continue_of_some_lanes(run):
    """Lane n skips the odd rounds and leaves in round n; nested, only the inner loop is left."""
    with program("leave", 8) as p:
        out = p.write("out", u32, 8)
        i = p.global_id(0)
        total = p.var(0, u32)
        with p.range(0, 3) as outer:
            with p.range(0, 10) as k:
                with p.if_(k == i):
                    p.break_()
                with p.if_(k % 2 == 1):
                    p.continue_()
                total.set(total + k)
            total.set(total + 1000 * (outer + 1))
        out[i] = total
    inner = [sum(k for k in range(lane) if k % 2 == 0) for lane in range(8)]
    assert run(p.build(), {})["out"].tolist() == [3 * s + 6000 for s in inner]


def test_return_of_some_lanes(run):
    with program("return", 8) as p:
        out = p.write("out", u32, 8)
        i = p.global_id(0)
        out[i] = 1
        with p.range(0, 4) as k:
            with p.if_(i == k * 2):
                p.return_()
            out[i] = k + 2
        with p.if_(i < 6), p.region("leave"):
            p.return_()
        out[i] = 99
    assert run(p.build(), {})["out"].tolist() == [1, 5, 2, 5, 3, 5, 4, 99]


def test_a_mutable_local_through_divergence(run):
    """Changed in both arms, in loops of different lengths, and read before and after."""
    with program("diverge", 8) as p:
        out = p.write("out", i32, 8)
        i = p.global_id(0).cast(i32)
        v = p.var(i)
        copy = p.let(v.get())
        with p.if_(i & 1 == 0):
            v.set(v * 10)
            with p.if_(i & 3 == 0):
                v.set(v + 1)
            v.set(v + 100)
        with p.else_(), p.range(build.constant(i32, 0), i) as k:
            v.set(v + k)
        out[p.global_id(0)] = v * 1000 + copy
    expected = []
    for lane in range(8):
        value = lane * 10 + (lane % 4 == 0) + 100 if lane % 2 == 0 else lane + sum(range(lane))
        expected.append(value * 1000 + lane)
    assert run(p.build(), {})["out"].tolist() == expected


def test_a_copy_does_not_follow_its_source(run):
    """The copy is taken when some lanes have changed the source already, and more lanes change it afterwards."""
    with program("copy", 8) as p:
        out = p.write("out", u32, 8)
        i = p.global_id(0)
        v = p.var(i)
        with p.if_(i & 1 != 0):
            v.set(v + 10)
        copy = p.let(v.get())
        with p.if_(i & 2 != 0):
            v.set(v + 100)
        again = p.let(v.get())
        with p.if_(i & 4 != 0):
            v.set(0)
        out[i] = copy * 1_000_000 + again * 1000 + v
    rows = [(i + 10 * (i & 1), i + 10 * (i & 1) + 100 * (i >> 1 & 1)) for i in range(8)]
    expected = [copy * 1_000_000 + again * 1000 + (0 if i & 4 else again) for i, (copy, again) in enumerate(rows)]
    assert run(p.build(), {})["out"].tolist() == expected


def test_a_uniform_local_that_some_lanes_change(run):
    with program("uniform", 4) as p:
        out, more = p.write("out", u32, 4), p.write("more", u32, 4)
        i = p.global_id(0)
        v = p.var(7, u32)
        with p.if_(i > 1):
            inner = p.var(1, u32)
            with p.if_(i > 2):
                v.set(8)
                inner.set(i + 1)
            more[i] = inner
        out[i] = v
    got = run(p.build(), {})
    assert got["out"].tolist() == [7, 7, 7, 8]
    assert got["more"].tolist() == [0, 0, 1, 4]


def test_a_loop_declares_its_locals_anew(run):
    with program("anew", 4) as p:
        out = p.write("out", u32, 4)
        i = p.global_id(0)
        total = p.var(0, u32)
        with p.range(0, i) as k:
            inner = p.var(5, u32)
            with p.if_(k % 2 == 0):
                inner.set(inner + k)
            total.set(total + inner)
        out[i] = total
    assert run(p.build(), {})["out"].tolist() == [0, 5, 10, 17]


def test_lanes_beyond_one_chunk(run):
    """More lanes than are evaluated at a time, not a multiple of the workgroup."""
    with program("many", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(i < a.length):
            out[i] = a[i] ^ p.workgroup_id(0)
    a = np.arange(1000, dtype=np.uint32)
    assert np.array_equal(run(p.build(), {"a": a})["out"], a ^ a // 64)
