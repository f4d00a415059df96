"""Rounding up to powers of two, against the definition."""

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.compat import try_coerce_to_pow2_with_tail_mask
from vyre_driver.errors import InvalidLaunch
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.tail import TailMaskPolicy, coerce_to_pow2_with_tail_mask
from vyre_foundation.text import parse


def test_the_least_power_of_two_that_is_enough() -> None:
    for count in (*range(1, 1030), 2**31, 2**31 + 1, 2**32 - 1):
        found = coerce_to_pow2_with_tail_mask(count)
        assert found.rounded_count.bit_count() == 1, count
        assert found.rounded_count // 2 < count <= found.rounded_count
        assert found.tail_lanes == found.rounded_count - count, count


def test_nothing_is_nothing() -> None:
    assert coerce_to_pow2_with_tail_mask(0) == TailMaskPolicy(0, 0)


@pytest.mark.parametrize("count", [-1, 2**32])
def test_what_is_no_count_is_refused_under_both_names(count: int) -> None:
    for coerce in (coerce_to_pow2_with_tail_mask, try_coerce_to_pow2_with_tail_mask):
        with pytest.raises(InvalidLaunch, match="count"):
            coerce(count)


@pytest.mark.parametrize(("count", "tail"), [(0, 0), (1, 63), (64, 0), (1000, 24)])
def test_a_plan_knows_its_tail(count: int, tail: int) -> None:
    text = "program p workgroup(64) { read a: u32[] @0; write out: u32[len(a)] @1; out[global_id.x] = a[global_id.x]; }"
    plan = plan_launch(parse(text), [4 * count])
    assert plan.tail == TailMaskPolicy(count, count + tail)


def test_a_launch_may_be_smaller_than_what_it_is_for() -> None:
    text = "program p workgroup(64) { write out: u32[1000] @0; out[0] = 1; }"
    assert plan_launch(parse(text), [], DispatchConfig(grid_override=(2, 1, 1))).tail == TailMaskPolicy(128, 128)
