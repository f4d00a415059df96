"""Device buffers of the engine: resident memory under the other of its two interfaces."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_driver.backend.resources import DeviceBuffer, Resource
from vyre_driver.engine.over_residents import host_buffers
from vyre_driver.errors import InvalidInput, StaleHandle
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program


class EngineBuffer(DeviceBuffer):
    """A buffer of an engine's device; `resource` stands for its memory."""

    def __init__(self, resource: Resource, label: str | None = None) -> None:
        self.resource, self._label = resource, label

    def backend_id(self) -> str:
        return self.resource.backend

    def byte_len(self) -> int:
        return self.resource.byte_len

    def debug_label(self) -> str | None:
        return self._label

    def end(self) -> None:
        self.resource.end()


def owned_buffer(buffer: DeviceBuffer) -> EngineBuffer:
    """`buffer`, whose backend id is this engine's, as one that an engine made."""
    if not isinstance(buffer, EngineBuffer):
        reason = f"a {type(buffer).__name__} is not of this backend, whatever it says"
        raise StaleHandle("the device buffer", reason, fix="allocate it with this backend, or wrap the array")
    return buffer


def resources_of(
    program: Program, inputs: Sequence[DeviceBuffer], outputs: Sequence[DeviceBuffer]
) -> tuple[Resource, ...]:
    """The resources of a dispatch in binding order; a buffer that is read and written is both, and changes in place."""
    given = _by_name("inputs", program.inputs, inputs)
    for name, resource in _by_name("outputs", program.outputs, outputs).items():
        if given.setdefault(name, resource) != resource:
            needed = "one device buffer as its input and its output: it is changed in place"
            raise InvalidInput(name, needed=needed, got="two", fix="pass the same buffer twice")
    return tuple([given[buffer.name] for buffer in host_buffers(program)])


def _by_name(what: str, declared: Sequence[Buffer], buffers: Sequence[DeviceBuffer]) -> dict[str, Resource]:
    if len(buffers) != len(declared):
        names = ", ".join(buffer.name for buffer in declared) or "none"
        fix = "pass one device buffer for each, in binding order"
        raise InvalidInput(what, needed=f"{len(declared)} ({names})", got=f"{len(buffers)}", fix=fix)
    return {d.name: owned_buffer(buffer).resource for d, buffer in zip(declared, buffers, strict=True)}
