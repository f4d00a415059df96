"""A dispatch over resident memory: which resource stands for which buffer, and whether it may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.resources import Resource
from vyre_driver.device.profile import Extent
from vyre_driver.engine.request import Request, Shape
from vyre_driver.errors import InvalidInput
from vyre_driver.plan.indirect import find_indirect_dispatch, read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program

if TYPE_CHECKING:
    from vyre_driver.engine.allocation import Allocation
    from vyre_driver.engine.deadline import Deadline
    from vyre_driver.engine.device import Device


def resident_request(
    device: Device,
    program: Program,
    resources: Sequence[Resource],
    config: DispatchConfig,
    deadline: Deadline | None,
    queue: int | None = None,
) -> Request:
    """The request for one resource per buffer that the host sees, in binding order.

    A resource may be larger than a buffer of a fixed size: the buffer is its beginning. An indirect grid is read from
    the device, hence after everything that was enqueued before.
    """
    allocations = [device.residents.find(resource) for resource in resources]
    buffers = bound_buffers(program, resources)
    places = {b.name: allocation for b, allocation in zip(buffers, allocations, strict=True)}
    given = used_bytes(buffers, resources)
    sizes = tuple([given[buffer.name] for buffer in program.inputs])
    grid = None if config.grid_override is not None else _grid(device, program, places, given)
    ids = tuple([resource.id for resource in resources])
    shape = Shape(id(program), sizes, config.launch_shape, grid, ids, queue)
    return Request(program, (), shape, config, deadline, places)


def host_buffers(program: Program) -> tuple[Buffer, ...]:
    """The inputs and outputs of a program in binding order; what is both comes once."""
    return tuple([buffer for buffer in program.buffers if buffer.memory.is_host_visible])


def bound_buffers(program: Program, resources: Sequence[Resource]) -> tuple[Buffer, ...]:
    """The same, as many as there are resources, of which none is two buffers unless both are read alone."""
    buffers = host_buffers(program)
    if len(resources) != len(buffers):
        raise _wrong_number(buffers, len(resources))
    _require_apart(buffers, resources)
    return buffers


def used_bytes(buffers: Sequence[Buffer], resources: Sequence[Resource]) -> dict[str, int]:
    """How much of its resource each buffer is, if its length is not that of another."""
    return {
        b.name: min(r.byte_len, b.count * b.dtype.size) if isinstance(b.count, int) else r.byte_len
        for b, r in zip(buffers, resources, strict=True)
    }


def require_places(plan: LaunchPlan, places: Mapping[str, Allocation]) -> None:
    """Refuse resources that are too small for what the plan puts there."""
    for name, allocation in places.items():
        require_room_for(name, plan.byte_length(name), allocation)


def require_room_for(name: str, needed: int, allocation: Allocation) -> None:
    """The same for one buffer of this many bytes."""
    if needed > allocation.size:
        fix = "allocate a larger resource, or dispatch less"
        raise InvalidInput(
            name, needed=f"a resource of at least {needed} bytes", got=f"{allocation.size} bytes", fix=fix
        )


def _require_apart(buffers: Sequence[Buffer], resources: Sequence[Resource]) -> None:
    """Refuse one resource for two buffers of which one is written: a program's buffers are apart."""
    first: dict[int, Buffer] = {}
    for buffer, resource in zip(buffers, resources, strict=True):
        other = first.setdefault(resource.id, buffer)
        if other is not buffer and (buffer.is_output or other.is_output):
            needed = f"a resource of its own: {other.name!r} and {buffer.name!r} are not both read alone"
            fix = "allocate another resource, or declare one buffer that is read and written"
            raise InvalidInput(buffer.name, needed=needed, got=f"the resource of {other.name!r}", fix=fix)


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


def _wrong_number(buffers: Sequence[Buffer], got: int) -> InvalidInput:
    names = ", ".join(buffer.name for buffer in buffers) or "none"
    first = buffers[got].name if got < len(buffers) else f"number {len(buffers)}"
    needed = f"{len(buffers)} resources in binding order ({names})"
    fix = "pass one resource for each input and output of the program, in binding order"
    return InvalidInput(first, needed=needed, got=f"{got} resources", fix=fix)
