"""What is kept of a launch, so that the next one like it decides nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.device import Device
from vyre_driver.engine.prepared import Again, Prepared, Runnable
from vyre_driver.engine.queueing import QueueChoice
from vyre_driver.engine.request import Request
from vyre_driver.plan.launch import LaunchPlan


@dataclass(slots=True, eq=False)
class Kept:
    """What is kept of one shape. It keeps the program alive, and so its identity its own.

    `launch` serves dispatches that end before the next begins; `spare` are more of the same, each with memory of its
    own, for those that are in flight together. `used` grows with each dispatch. `is_new`: this code has not run yet.
    `again` runs it once it is settled: neither new nor to be timed. It is None until then, and for good once the memory
    was freed, which ends `is_live` too.
    No launch takes more than `longest` seconds, whatever its data. `holds` counts those who are about to use it: it is
    not given up meanwhile. `known_as` are its keys among `Launches.resident`. `bytes_each` is about what one dispatch
    holds in flight.
    """

    device: Device
    request: Request
    plan: LaunchPlan
    launch: Runnable
    longest: float = math.inf
    queue: int = 0
    choice: QueueChoice | None = None
    used: int = 0
    is_new: bool = True
    again: Again | None = None
    is_live: bool = True
    holds: int = 0
    spare: list[Prepared] = field(default_factory=list)
    known_as: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)
    bytes_each: int = field(init=False)

    def __post_init__(self) -> None:
        bound = [buffer.name for buffer in self.plan.program.buffers if buffer.memory.is_bound]
        self.bytes_each = sum(map(self.plan.byte_length, bound))

    @property
    def prepared(self) -> Prepared:
        """The launch of a shape that is known not to be empty."""
        assert isinstance(self.launch, Prepared)
        return self.launch

    @property
    def bytes_held(self) -> int:
        """How much that is."""
        return sum(allocation.size for allocation in self.owned)

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """All device memory that it holds."""
        return (*self.launch.owned, *(allocation for launch in self.spare for allocation in launch.owned))
