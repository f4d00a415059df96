"""One call: its program, its inputs as bytes or as memory of the device, and what its launch depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Inputs
from vyre_driver.device.profile import Extent
from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.inputs import bind_inputs
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_foundation.ir.program import Program


class Shape(NamedTuple):
    """What a prepared launch depends on. A program is known by its identity, which is cheaper than its contents.

    `resources` are the ids of resident memory, in which the launch works; none for one from host memory to host memory.
    `queue` is the queue that it must take, None if it may choose.
    """

    program: int
    byte_lengths: tuple[int, ...]
    config: tuple[object, ...]
    indirect_grid: Extent | None
    resources: tuple[int, ...] = ()
    queue: int | None = None


class Request(NamedTuple):
    """One call that is not known to be like the one before. `places` are the resident buffers by name, if they are."""

    program: Program
    inputs: Sequence[memoryview]
    shape: Shape
    config: DispatchConfig
    deadline: Deadline | None
    places: Mapping[str, Allocation] | None = None

    @classmethod
    def of(cls, program: Program, inputs: Inputs, config: DispatchConfig, backend: str) -> Request:
        """From host memory, checked by number, name and layout; lengths are the plan's to judge."""
        views = bind_inputs(program, inputs)
        grid = None if config.grid_override is not None else read_indirect_grid(program, views)
        shape = Shape(id(program), tuple([view.nbytes for view in views]), config.launch_shape, grid)
        return cls(program, views, shape, config, deadline_of(config, backend))


def deadline_of(config: DispatchConfig, backend: str) -> Deadline | None:
    """The timeout of a dispatch that begins now."""
    return None if config.timeout is None else Deadline(config.timeout, backend, config.label)
