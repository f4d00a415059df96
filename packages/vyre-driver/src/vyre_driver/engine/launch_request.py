"""What prepared launches are known by: their keys, and requests for launches over host memory or resident memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.resources import Resource
from vyre_driver.device.profile import Extent
from vyre_driver.engine.device import Device
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import Allocation
from vyre_driver.engine.resident import bound_buffers, used_bytes
from vyre_driver.plan.axes import axes_position
from vyre_driver.plan.indirect import find_indirect_dispatch, read_indirect_grid
from vyre_foundation.ir.program import Program

_nbytes = attrgetter("nbytes")


class LaunchKey(NamedTuple):
    """What a prepared launch depends on. A program and handles to resident memory are known by their identities.

    `handles` are empty for a launch from host memory to host memory; with handles `byte_lengths` are empty, because the
    handles tell them. `queue` is the queue that it must take, None if it may choose. `axes` are the bytes of the
    lengths that a launch from host memory passes: they tell which outputs it writes everywhere.
    """

    program: int
    byte_lengths: tuple[int, ...]
    config: tuple[object, ...]
    indirect_grid: Extent | None = None
    handles: tuple[int, ...] = ()
    queue: int | None = None
    axes: bytes = b""

    def with_grid(self, program: Program, inputs: Sequence[Any], config: DispatchConfig) -> LaunchKey:
        """The same, with the grid that an input brings for an indirect dispatch."""
        grid = None if config.grid_override is not None else read_indirect_grid(program, inputs)
        return self if grid is None else self._replace(indirect_grid=grid)


KeyFields: TypeAlias = tuple[
    int, tuple[int, ...], tuple[object, ...], Extent | None, tuple[int, ...], int | None, bytes
]
"""The fields of a `LaunchKey`, which they equal: every dispatch makes them, and a named tuple takes twice as long."""


def host_key(program: Program, inputs: Sequence[Any], config: DispatchConfig) -> KeyFields:
    """The key of a launch from host memory, over contiguous buffers, whose grid does not lie there."""
    shapes, axes = program.shapes, b""
    if shapes is not None and shapes.passed and (position := program.memoised(axes_position)) is not None:
        axes = bytes(inputs[position])
    return id(program), tuple(map(_nbytes, inputs)), config.launch_shape, None, (), None, axes


def resident_key(program: Program, resources: Sequence[Resource], config: DispatchConfig) -> KeyFields:
    """The key of a launch over resident memory whose grid does not lie there."""
    return id(program), (), config.launch_shape, None, tuple(map(id, resources)), None, b""


class LaunchRequest(NamedTuple):
    """A launch to find or prepare. `places` is resident memory by buffer name, `resources` are its ids."""

    program: Program
    key: LaunchKey
    byte_lengths: tuple[int, ...]
    config: DispatchConfig
    deadline: Deadline | None
    places: Mapping[str, Allocation] | None = None
    resources: tuple[int, ...] = ()


def shape_of(request: LaunchRequest, queue: int | None = None) -> LaunchKey:
    """The key of what launches share that differ only in their memory, and in their queue if none is given."""
    return request.key._replace(byte_lengths=request.byte_lengths, handles=(), queue=queue)


def resident_request(
    device: Device,
    program: Program,
    resources: Sequence[Resource],
    config: DispatchConfig,
    deadline: Deadline | None,
    queue: int | None = None,
) -> LaunchRequest:
    """The request for one resource per buffer that the host sees, in binding order.

    A resource may be larger than a buffer of a fixed size: the buffer is its beginning. An indirect grid is read from
    the device, hence after everything that was enqueued before.
    """
    allocations = [device.residents.find(resource) for resource in resources]
    buffers = bound_buffers(device.residents, program, resources)
    places = {b.name: allocation for b, allocation in zip(buffers, allocations, strict=True)}
    given = used_bytes(buffers, resources)
    sizes = tuple([given[buffer.name] for buffer in program.inputs])
    grid = None if config.grid_override is not None else _grid(device, program, places, given)
    handles = tuple([id(device.residents.handle(resource)) for resource in resources])
    key = LaunchKey(id(program), (), config.launch_shape, grid, handles, queue)
    ids = tuple([resource.id for resource in resources])
    return LaunchRequest(program, key, sizes, config, deadline, places, ids)


def _grid(
    device: Device, program: Program, places: Mapping[str, Allocation], sizes: Mapping[str, int]
) -> Extent | None:
    statement = find_indirect_dispatch(program)
    if statement is None:
        return None
    name = statement.buffer.name
    words = memoryview(bytearray(min(sizes[name], 4 * statement.offset + 12)))
    device.counters.waits += 1
    device.copy_out(places[name], words)
    return read_indirect_grid(program, [words if b.name == name else memoryview(b"") for b in program.inputs])
