"""Loops are cut where they leave a buffer, and every round means what it meant."""

from __future__ import annotations

import pytest

from vyre_foundation.build import program
from vyre_foundation.dtype import f32, i32, u8, u32
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.stmt import For, If, Store
from vyre_foundation.ir.walk import program_expressions, statements


def loops(lowered) -> list[tuple[int, int]]:
    """The ends of all loops that write to `out`."""
    (kernel,) = lowered.kernels
    found = [s for s in statements(kernel.program.body) if isinstance(s, For)]
    writing = [s for s in found if any(isinstance(t, Store) and t.buffer.name == "out" for t in s.body)]
    return [(int(s.start.value), int(s.stop.value)) for s in writing]


def is_checked(lowered) -> bool:
    (kernel,) = lowered.kernels
    return any(isinstance(n, Load) and n.checked for n in program_expressions(kernel.program))


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (1, [(0, 1), (1, 16)]),
        (15, [(0, 15), (15, 16)]),
        (16, [(0, 16)]),
        (-3, [(0, 13), (13, 16)]),
        (2**31, [(0, 16)]),
        (2**32 - 4, [(0, 12), (12, 16)]),
    ],
)
def test_neighbours_in_the_memory_of_the_workgroup(distance, expected, case, check):
    with program("neighbours", 16) as p:
        w, out = p.workgroup("w", f32, 16), p.write("out", f32, 16)
        l = p.local_id(0)
        w[l] = l.cast(f32) + 1.0
        p.barrier()
        out[l] = w[l - distance if distance > 0 else l + -distance]
    lowered = check(case(p.build(), {}), "loops")
    assert loops(lowered) == expected
    assert is_checked(lowered) == (len(expected) == 1)


def test_both_ends_and_what_the_rounds_declare(case, check):
    """Three parts; values and variables of each round have names of their own in each."""
    with program("ends", 1) as p:
        a, out = p.read("a", u32, 12), p.write("out", u32, 32)
        with p.range(0, 20) as k:
            x = p.let(a[k - 5] * 3)
            y = p.var(x)
            with p.if_(k > 9):
                y.set(y + a[k - 5])
            out[k] = y
    lowered = check(case(p.build(), {"a": range(1, 13)}), "loops")
    assert loops(lowered) == [(0, 5), (5, 17), (17, 20)]
    assert not is_checked(lowered)


@pytest.mark.parametrize(("dtype", "start", "stop"), [(u8, 100, 200), (i32, -9, 9)])
def test_counters_that_may_wrap_are_left_alone(dtype, start, stop, case, check):
    with program("wrapping", 1) as p:
        a, out = p.read("a", u32, 64), p.write("out", u32, 256)
        with p.range(start, stop, dtype=dtype) as k:
            out[k.cast(u32) + 16] = a[k + 90]
    lowered = check(case(p.build(), {"a": range(1, 65)}), "loops")
    assert is_checked(lowered)


def test_a_loop_that_may_end_early_is_not_cut(case, check):
    with program("early", 1) as p:
        a, out = p.read("a", u32, 12), p.write("out", u32, 32)
        with p.range(0, 20) as k:
            out[k] = a[k - 5]
            with p.if_(out.length == k + 20):
                p.break_()
    lowered = check(case(p.build(), {"a": range(1, 13)}), "loops")
    assert is_checked(lowered)


@pytest.mark.parametrize(
    ("at", "expected", "asks"),
    [
        (15, [(0, 1), (1, 15), (15, 16)], False),
        (0, [(0, 1), (1, 16)], False),
        (1, [(0, 1), (1, 2), (2, 16)], False),
        (99, [(0, 1), (1, 16)], False),
        (7, [(0, 1), (1, 16)], True),  # it would be four loops
    ],
)
def test_what_one_round_does_stands_alone(at, expected, asks, case, check):
    with program("once", 16) as p:
        w, out, total = p.workgroup("w", u32, 16), p.write("out", u32, 16), p.write("total", u32, 2)
        l = p.local_id(0)
        w[l] = l * 7 + 1
        p.barrier()
        before = p.let(w[l - 1])
        with p.if_(l == at):
            total[0] = before + w[l]
        with p.else_():
            total.atomic_max(1, before)
        out[l] = before
    lowered = check(case(p.build(), {}), "loops")
    assert loops(lowered) == expected
    (kernel,) = lowered.kernels
    assert any(isinstance(s, If) for s in statements(kernel.program.body)) == asks
