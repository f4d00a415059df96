"""Grids that are launched on x alone: the same results, and refused where a program could tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import vyre_reference
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.plan.admission import admit
from vyre_driver.plan.folding import folded
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation import Program, program, u32
from vyre_foundation.ir.expr import IdKind

PROFILE = DeviceProfile(
    backend="small",
    max_workgroup_size=(32, 32, 32),
    max_invocations_per_workgroup=64,
    max_workgroups=(1000, 3, 2),
    folds_grids=True,
)
IDS = (IdKind.GLOBAL_ID, IdKind.LOCAL_ID, IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS)


def places(size: Extent, count: int) -> Program:
    """Each of `count` invocations writes all that it knows of its place."""
    x, y, z = size
    with program("places", size) as p:
        out = p.write("out", u32, 3 * len(IDS) * count)
        groups = (p.workgroup_id(2) * p.num_workgroups(1) + p.workgroup_id(1)) * p.num_workgroups(0) + p.workgroup_id(0)
        own = (p.local_id(2) * y + p.local_id(1)) * x + p.local_id(0)
        first = p.let((groups * (x * y * z) + own) * (3 * len(IDS)))
        for n, kind in enumerate(IDS):
            for axis in range(3):
                out[first + 3 * n + axis] = getattr(p, kind.value)(axis)
    return p.build()


def plan_of(made: Program, grid: Extent) -> LaunchPlan:
    return plan_launch(made, [], DispatchConfig(grid_override=grid))


extents = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=40)
@given(size=extents, grid=st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6)))
def test_a_folded_grid_gives_the_same_bytes(size: Extent, grid: Extent) -> None:
    backend = vyre_reference.ReferenceBackend()
    made = places(size, int(np.prod(size) * np.prod(grid)))
    plan = folded(plan_of(made, grid), PROFILE)
    fits = grid[1] <= 3 and grid[2] <= 2
    assert plan.grid == (grid if fits else (int(np.prod(grid)), 1, 1))
    assert (plan.program is made) == fits
    expected = backend.dispatch(made, [], DispatchConfig(grid_override=grid))
    assert backend.dispatch(plan.program, [], DispatchConfig(grid_override=plan.grid)) == expected


@pytest.mark.parametrize(
    ("grid", "profile", "said"),
    [
        ((1001, 1, 1), PROFILE, "1001 workgroups on x (at most 1000)"),
        ((200, 6, 1), PROFILE, "6 workgroups on y (at most 3)"),
        ((1, 1, 3), replace(PROFILE, folds_grids=False), "3 workgroups on z (at most 2)"),
    ],
)
def test_what_does_not_fit_on_x_is_refused(grid: Extent, profile: DeviceProfile, said: str) -> None:
    plan = plan_of(places((1, 1, 1), 1), grid)
    assert folded(plan, profile) is plan
    with pytest.raises(UnsupportedFeature) as caught:
        admit(plan, DispatchConfig(grid_override=grid), profile)
    assert said in str(caught.value)


def test_a_program_with_traps_is_not_folded() -> None:
    """A trap records the number of its invocation."""
    with program("trapping", 1) as p:
        with p.if_(p.global_id(1) == 2):
            p.trap(1, "two")
        p.write("out", u32, 8)[p.global_id(1)] = 1
    plan = plan_of(p.build(), (1, 8, 1))
    assert folded(plan, PROFILE) is plan


def test_a_device_without_limits_gets_the_grid_as_it_is() -> None:
    plan = plan_of(places((1, 1, 1), 1), (1, 100_000, 1))
    assert folded(plan, replace(PROFILE, max_workgroups=None)) is plan


def test_lines_are_those_of_the_program() -> None:
    made = places((1, 1, 1), 16)
    plan = folded(plan_of(made, (2, 4, 2)), PROFILE)
    assert plan.program is not made
    assert plan.program.origins is made.origins is not None
