"""Loops whose counter could leave its type count their steps instead."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_foundation.build import constant, program
from vyre_foundation.dtype import INTEGERS, i32, i64, u8, u32, u64
from vyre_foundation.ops.scalar import clamp


@pytest.mark.parametrize("dialect", ["single", "rich", "loops"])
@pytest.mark.parametrize("step", [1, 2, 3, 7, 100, 127])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_loops_end_at_the_edges_of_their_type(dtype, step, dialect, case, check):
    """Bounds come from memory, so that nothing is known about them."""
    highest, lowest = dtype.highest, dtype.lowest
    pairs = [
        (highest - 250, highest),
        (highest - 1, highest),
        (highest, highest),
        (highest, lowest),
        (lowest, lowest + 3),
    ]
    pairs += [(lowest, clamp(dtype, lowest + 255)), (3, 3), (5, 2), (0, 100)]
    bounds = [clamp(dtype, x) for pair in pairs for x in pair]
    with program("loop", 3) as p:
        b = p.read("b", dtype)
        count, last = p.write("count", u32, len(pairs)), p.write("last", dtype, len(pairs))
        i = p.global_id(0)
        with p.if_(i < len(pairs)):
            rounds, seen = p.var(0, u32), p.var(constant(dtype, 0))
            with p.range(b[i * 2], b[i * 2 + 1], step=step) as counter:
                rounds.set(rounds + 1)
                seen.set(counter)
            count[i] = rounds.get()
            last[i] = seen.get()
    check(case(p.build(), {"b": np.array(bounds, dtype.numpy)}, grid=(3, 1, 1)), dialect)


@pytest.mark.parametrize("dialect", ["single", "rich", "loops"])
@pytest.mark.parametrize(("dtype", "step"), [(u64, 1), (u64, 2**64 - 1), (i64, 1), (i64, 3), (i64, 2**63 - 1)], ids=str)
def test_literal_bounds_with_more_iterations_than_a_machine_word_counts(dtype, step, dialect, case, check):
    with program("far", 4) as p:
        out, table = p.write("out", u64, 4), p.private("table", u32, 8)
        total, count = p.var(0, u64), p.var(0, u32)
        with p.range(constant(dtype, dtype.lowest), constant(dtype, dtype.highest), step=step) as k:
            with p.if_(count == 5):
                p.break_()
            count.set(count + 1)
            table[k] = count
            total.set(total * 10 + table[k].cast(u64) + k.bitcast(u64) % 7)
        out[p.global_id(0)] = total
    check(case(p.build(), {}), dialect)


def test_the_safe_form_is_written_only_where_it_is_needed(dialects, case):
    with program("plain", 4) as p:
        a, out = p.read("a", u32), p.write("out", u32, 4)
        with p.range(0, 100, step=3, name="k") as k:
            out[k] = 1
        with p.range(0, a[0] & 1023, step=3, name="m") as m:
            out[m] = 1
        with p.range(0, a[0], step=3, name="n") as n:
            out[n] = 1
    text = str(case(p.build(), {"a": [1]}).lower(dialects["full"].target()).kernels[0].program)
    assert "for k0 in 0..100 step 3" in text
    assert "for m0 in" in text
    assert "for n0_step in" in text
    assert "let n0 = n0_first + n0_step * 3" in text


def test_narrow_counters_have_room_in_their_register(dialects, case):
    with program("narrow", 4) as p:
        a, out = p.read("a", u8), p.write("out", u32, 4)
        with p.range(0, a[0], step=3, name="k") as k:
            out[k.cast(i32)] = 1
    text = str(case(p.build(), {"a": [1]}).lower(dialects["full"].target()).kernels[0].program)
    assert "for k0 in" in text
