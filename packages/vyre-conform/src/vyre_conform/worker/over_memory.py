"""Ways in over memory on the device: resident resources, sequences of them, and device buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vyre_conform.case import Launch
from vyre_conform.worker.canary import CANARIES, PAD, CanaryDied, names_of
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import DeviceBuffer, ResidentDispatchStep, Resource


def resident(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """Run a launch over resident memory."""

    def run(resources: Sequence[Resource]) -> None:
        backend.dispatch_resident_timed(launch.program, resources, launch.config)

    return _over_resources(backend, launch, inputs, run)


def sequence(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """As a step, once as the prefix and twice repeated: only for programs that may run again over their outputs."""

    def run(resources: Sequence[Resource]) -> None:
        step = ResidentDispatchStep(
            program=launch.program, resources=tuple(resources), grid_override=launch.config.grid_override
        )
        backend.dispatch_resident_repeated_sequence_read_ranges_into([step], [step], 2, [], [])

    return _over_resources(backend, launch, inputs, run)


def _over_resources(
    backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray], run: Callable[[Sequence[Resource]], None]
) -> list[bytes]:
    """Upload, run, download; neighbours of every resource hold canaries."""
    sizes = _sizes(backend, launch, inputs)
    data = dict(zip(names_of(launch.program.inputs), inputs, strict=True))
    resources: dict[str, Resource] = {}
    canaries: list[Resource] = []
    try:
        for name, size in sizes.items():
            canaries.append(backend.allocate_resident(PAD))
            backend.upload_resident(canaries[-1], CANARIES)
            resources[name] = backend.allocate_resident(size)
            if name in data and size:
                backend.upload_resident(resources[name], data[name])
        run(list(resources.values()))
        outputs = [bytes(backend.download_resident(resources[name])) for name in names_of(launch.program.outputs)]
        for canary in canaries:
            if bytes(backend.download_resident(canary)) != CANARIES:
                raise CanaryDied("a neighbour of the resources was written to", fix="find the access")
    finally:
        for resource in (*resources.values(), *canaries):
            backend.free_resident(resource)
    return outputs


def device_buffers(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """Run a launch over device buffers."""
    sizes = _sizes(backend, launch, inputs)
    held: dict[str, DeviceBuffer] = {}
    try:
        for name, size in sizes.items():
            held[name] = backend.allocate_device_buffer(size)
        for name, data in zip(names_of(launch.program.inputs), inputs, strict=True):
            backend.upload_device_buffer(held[name], data)
        sources = [held[name] for name in names_of(launch.program.inputs)]
        targets = [held[name] for name in names_of(launch.program.outputs)]
        backend.dispatch_with_device_buffers(launch.program, sources, targets, launch.config)
        return [bytes(backend.download_device_buffer(target)) for target in targets]
    finally:
        for buffer in held.values():
            backend.free_device_buffer(buffer)


def _sizes(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Mapping[str, int]:
    """The bytes of every buffer that the host sees, in binding order."""
    outputs = backend.dispatch(launch.program, inputs, launch.config)
    sizes = {b.name: len(data) for b, data in zip(launch.program.inputs, inputs, strict=True)}
    sizes |= {b.name: len(data) for b, data in zip(launch.program.outputs, outputs, strict=True)}
    return {b.name: sizes[b.name] for b in launch.program.buffers if b.name in sizes}
