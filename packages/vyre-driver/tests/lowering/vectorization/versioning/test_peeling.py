"""Rows with a border: the rounds inside of it have no select, wherever it lies, and all others keep theirs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from vyre_driver.legalization.lowered import Lowered
from vyre_foundation.build import program, select
from vyre_foundation.dtype import i32, u32
from vyre_foundation.ir.expr import Select
from vyre_foundation.ir.stmt import For
from vyre_foundation.ir.walk import expressions, postorder, statements

PLACES = st.integers(0, 330)


def selects(lowered: Lowered) -> list[int]:
    """Of each innermost loop."""
    loops = [s for kernel in lowered.kernels for s in statements(kernel.program.body) if isinstance(s, For)]
    inner = [loop for loop in loops if not any(isinstance(s, For) for s in statements(loop.body))]
    return [sum(isinstance(n, Select) for n in postorder(e for s in i.body for e in expressions(s))) for i in inner]


def test_a_row_between_two_borders_has_a_part_without_selects(case, check):
    """All of the grid is one row."""
    with program("row", 64) as p:
        a, i = p.read("a", u32, 192), p.global_id(0)
        p.write("out", u32, 192)[i] = select((i > 0) & (i < 191), a[i - 1] + a[i + 1], a[i])
    found = selects(check(case(p.build(), {"a": range(1, 193)}, grid=(3, 1, 1)), "loops"))
    assert 0 in found
    assert any(found)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(low=PLACES, high=PLACES, groups=st.integers(1, 5), shift=st.integers(0, 70), is_signed=st.booleans())
def test_borders_anywhere(case, check, low, high, groups, shift, is_signed):
    """Before, within and behind the grid, in either order, at places that only the launch knows and ones that it need
    not be told."""
    dtype = i32 if is_signed else u32
    with program("borders", 64) as p:
        a, ends = p.read("a", u32, 400), p.uniform("ends", dtype, 2)
        i = p.let(p.global_id(0) + shift)
        x = i.cast(dtype)
        inside = (x >= ends[0]) & (x < ends[1]) & (x != 77) & (x > low // 2)
        p.write("out", u32, 400)[i] = select(inside, a[i] * 3, a[i] + 7) + select(x < high, i, 5)
    check(case(p.build(), {"a": range(1, 401), "ends": [low, high]}, grid=(groups, 1, 1)), "loops")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(border=st.integers(0, 63), elements=st.integers(1, 80), stride=st.integers(1, 4))
@example(border=0, elements=5, stride=3)
def test_accesses_that_leave_a_buffer_stay_guarded(case, check, border, elements, stride):
    """Of a buffer that is shorter than the loop, so that no version of all of the loop goes without guards."""
    with program("short", 64) as p:
        a, few, i = p.read("a", u32, elements), p.read_write("few", u32, elements), p.local_id(0)
        few[i * stride] = select(p.global_id(0) > border, i, 4)
        p.write("out", u32, 64)[p.global_id(0)] = select(p.global_id(0) > border, a[i * stride], 5)
    check(case(p.build(), {"a": range(1, elements + 1), "few": range(elements)}, grid=(1, 1, 1)), "loops")


@pytest.mark.parametrize("rounds", [64, 100])
def test_rounds_of_one_invocation_stay_in_order(rounds, case, check):
    with program("ordered", 1) as p:
        a, ends, total = p.read("a", u32), p.uniform("ends", u32, 3), p.var(1, u32)
        with p.range(0, rounds) as k:
            x = k + ends[2]
            total.set(total * 31 + select((x > ends[0]) & (x < ends[1]), a[k], 9))
        p.write("out", u32, 1)[0] = total
    for ends in ([3, rounds + 2, 3], [13, 23, 3], [23, 13, 3], [73, 93, 3], [200, 300, 3]):
        lowered = check(case(p.build(), {"a": range(5, 133), "ends": ends}), "loops")
        assert selects(lowered) == [1, 0, 1]
