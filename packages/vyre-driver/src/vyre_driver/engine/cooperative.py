"""Where grid barriers are: inside of one launch, whose workgroups then all run at the same time, or between launches.

The second is always right. The first spares launches, and the way through memory of what lives across a barrier.
"""

from __future__ import annotations

from math import prod

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.code import Code
from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.device import Device
from vyre_driver.engine.schedule import straight
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.validate.facts import Facts, Feature


def code_for(
    device: Device, plan: LaunchPlan, config: DispatchConfig, queue: int, deadline: Deadline | None = None
) -> Code:
    """Code for a planned dispatch: with grid barriers inside where the grid fits on the device, else split at them.

    `UnsupportedFeature` if the configuration demands the first and the grid does not fit.
    """
    if config.cooperative or _may_fit(device, plan):
        code = device.compile(plan.facts, config.replace(cooperative=True), queue, deadline)
        room = device.side_by_side(code) if straight(code.executable.schedule) == (0,) else 0
        if plan.num_workgroups <= room:
            return code
        if config.cooperative:
            what = f"a cooperative launch of {plan.num_workgroups} workgroups (at most {room})"
            fix = "use fewer workgroups, or leave `cooperative` to the backend"
            raise UnsupportedFeature(what, backend=device.profile.backend, fix=fix)
    return device.compile(plan.facts, config, queue, deadline)


def before_its_grid_is_known(device: Device, facts: Facts, config: DispatchConfig) -> DispatchConfig:
    """The configuration to compile a program with when no dispatch has said how large its grid is.

    A dispatch whose grid may fit asks for the first kind of code anyway, so that is the one to have.
    """
    grid = config.grid_override
    may_fit = _has_room(device, facts, prod(grid) if grid is not None else 1)
    return config.replace(cooperative=True) if may_fit else config


def _may_fit(device: Device, plan: LaunchPlan) -> bool:
    return _has_room(device, plan.facts, plan.num_workgroups)


def _has_room(device: Device, facts: Facts, workgroups: int) -> bool:
    """Whether it is worth to compile for it: how much fits of a kernel is known only of its code."""
    if Feature.GRID_BARRIER not in facts.features or not device.target.grid_barrier:
        return False
    most = device.profile.max_resident_invocations
    return most is None or workgroups * facts.program.workgroup_volume <= most
