"""Prepared launches as they are cached: a plan that several share, and one launch of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vyre_driver import tune
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.code import CompiledCode
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import PreparedLaunch, Runnable
from vyre_driver.engine.launch_request import LaunchRequest
from vyre_driver.engine.port import Allocation
from vyre_driver.errors import BackendError
from vyre_driver.plan.admission import admit
from vyre_driver.plan.axes import passed_axes
from vyre_driver.plan.cost import Cost
from vyre_driver.plan.folding import folded
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_driver.plan.resize import resized
from vyre_driver.tune.choice import LaunchChoice
from vyre_driver.tune.queue import QueueChoice
from vyre_foundation.ir.program import Program


@dataclass(slots=True, eq=False)
class PlannedLaunch:
    """What launches share that differ only in their memory and their queue: the plan, and what follows from it.

    `config` is the options as chosen, by `choice` where there is one. `codes` are by queue. `covered` are the outputs
    that are written everywhere, None before the first launch is bound. It keeps the program alive, and so its identity
    its own.
    """

    device: Device
    program: Program
    plan: LaunchPlan
    config: DispatchConfig
    choice: LaunchChoice | None
    cost: Cost | None
    codes: dict[int, CompiledCode] = field(default_factory=dict)
    covered: frozenset[str] | None = None


@dataclass(slots=True, eq=False)
class CachedLaunch:
    """A prepared launch and what is known about it. It keeps the program alive, and so its identity its own.

    `launch` serves dispatches that end before the next begins; `idle` are more of the same, each with memory of its
    own, for those that are pending together, or run in threads side by side. `used` grows with each dispatch. `is_new`:
    its code has not run yet. `is_settled`: it is neither new nor to be timed. `is_brief`: it takes less than
    `BRIEF_NS`. `contention`: the number of other threads in a dispatch from which on one runs without the lock.
    `outlives_call`: a dispatch is not waited for, without a deadline. No launch takes more than `longest` seconds,
    whatever its data. `holds` counts its present users: it is not dropped meanwhile. `bytes_each` is about what one
    dispatch holds in flight.
    """

    device: Device
    request: LaunchRequest
    planned: PlannedLaunch
    launch: Runnable
    longest: float = math.inf
    queue: int = 0
    choice: QueueChoice | None = None
    is_brief: bool = False
    used: int = 0
    is_new: bool = True
    is_settled: bool = False
    contention: float = math.inf
    outlives_call: bool = False
    holds: int = 0
    idle: list[PreparedLaunch] = field(default_factory=list)
    bytes_each: int = field(init=False)

    def __post_init__(self) -> None:
        bound = [buffer.name for buffer in self.plan.program.buffers if buffer.memory.is_bound]
        self.bytes_each = sum(map(self.plan.byte_length, bound))

    @property
    def plan(self) -> LaunchPlan:
        """The plan of the launch."""
        return self.planned.plan

    @property
    def prepared(self) -> PreparedLaunch:
        """The launch, of a grid that is known not to be empty."""
        assert isinstance(self.launch, PreparedLaunch)
        return self.launch

    @property
    def bytes_held(self) -> int:
        """The size of its device memory."""
        return sum(allocation.size for allocation in self.owned)

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """All device memory that it holds."""
        return (*self.launch.owned, *(allocation for launch in self.idle for allocation in launch.owned))


def planned_launch(device: Device, request: LaunchRequest, choice: LaunchChoice | None) -> PlannedLaunch:
    """A new plan for launches like this one."""
    grid, axes = request.key.indirect_grid, passed_axes(request.program, request.key.axes)
    plan = plan_launch(request.program, request.byte_lengths, request.config, indirect_grid=grid, axes=axes)
    device.counters.plans += 1
    program = request.program
    if choice is not None:
        plan, request = _as_chosen(device, plan, request, choice)
    admit(plan, request.config, device.profile)
    plan = folded(plan, device.profile)
    return PlannedLaunch(device, program, plan, request.config, choice, device.cost(plan))


def _as_chosen(
    device: Device, plan: LaunchPlan, request: LaunchRequest, choice: LaunchChoice
) -> tuple[LaunchPlan, LaunchRequest]:
    """The plan and the request with the chosen variant and workgroup size, as far as they are proven and possible."""
    program = request.program
    if choice.variant:
        program = tune.variants.variants_of(program).get(choice.variant, program)
    size = choice.workgroup_size
    config = None if size is None else resized(plan, request.config, size, is_declared=choice.is_declared)
    if config is None and program is request.program:
        return plan, request
    try:
        config = config or request.config
        grid = request.key.indirect_grid
        chosen = plan_launch(program, request.byte_lengths, config, indirect_grid=grid, axes=plan.axes)
        admit(chosen, config, device.profile)
    except BackendError:  # the bucket has sizes for which the device has too few workgroups
        return plan, request
    if program is not request.program:
        device.final.add(chosen.program.fingerprint())
    return chosen, request._replace(config=config)
