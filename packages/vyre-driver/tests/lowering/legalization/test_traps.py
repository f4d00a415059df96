"""Traps: the lowest invocation wins, then the first statement, then the lowest code."""

from __future__ import annotations

import pytest

from vyre_driver.errors import UnsupportedFeature
from vyre_driver.legalization.schedule import TRAPS
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Memory


def trapping(workgroup=4):
    with program("trapping", workgroup) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(a[i] > 90):
            p.trap(a[i], "large")
        with p.if_(a[i] > 95):
            p.trap(7, "huge")
        out[i] = a[i]
    return p.build()


@pytest.mark.parametrize("dialect", ["full", "loops"])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([1, 2, 3, 4, 5, 6], {"out": bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0])}),
        ([1, 2, 93, 4, 97, 6], ("large", 93, 2)),
        ([1, 99, 93, 4, 97, 6], ("large", 99, 1)),
    ],
)
def test_the_first_trap_is_found(data, expected, dialect, dialects, case, check):
    launch = case(trapping(), {"a": data})
    lowered = check(launch, dialect)
    assert launch.run_lowered(lowered) == expected
    assert lowered.traps == ("large", "huge")


def test_invocations_are_numbered_over_all_axes(case, check):
    with program("grid", (2, 2, 1)) as p:
        x, y, z = (p.global_id(axis) for axis in range(3))
        with p.if_((x == 3) & (y == 1) & (z == 1)):
            p.trap(5, "here")
        p.write("out", u32, 1)[0] = 1
    launch = case(p.build(), {}, grid=(3, 2, 2))
    assert launch.run_lowered(check(launch, "full")) == ("here", 5, (1 * 4 + 1) * 6 + 3)


def test_the_sidecar_has_an_element_for_each_trap(dialects, case):
    lowered = case(trapping(), {"a": [1]}).lower(dialects["full"].target())
    sidecar = lowered.buffers[TRAPS]
    assert (sidecar.memory, sidecar.count, sidecar.binding) == (Memory.SCRATCH, 2, 2)


def test_a_target_without_wide_atomics_cannot_trap(dialects, case):
    with pytest.raises(
        UnsupportedFeature,
        match=r"^poor does not support traps: they need atomic min or compare-exchange on u64\. Fix: ",
    ):
        case(trapping(), {"a": [1]}).lower(dialects["poor"].target())
