"""Entry points: the ways in which the contract lets a caller run a program. All give the same bytes.

What a backend does not offer it refuses with `UnsupportedFeature`; that is a cell of its own, neither pass nor fail.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vyre_conform.case import Launch
from vyre_conform.worker.claims import CLAIMS
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import DeviceBuffer, ResidentDispatchStep, Resource
from vyre_driver.pipeline.compile import compile
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Buffer

PAD = 256
"""Bytes on either side of a buffer that nobody may write to."""
CANARY = 0xA5
THREADS, ROUNDS = 4, 3

Outputs = Sequence[Any]
"""One buffer of bytes for each output."""
Enter = Callable[[VyreBackend, Launch, Sequence[bytearray]], Outputs]


class CanaryDied(VyreError):
    """Something outside of a buffer was written to."""

    code = "E1206"


class NotTheSame(VyreError):
    """Dispatches that run at the same time do not all give the same bytes."""

    code = "E1207"


def _dispatch(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    return backend.dispatch(launch.program, inputs, launch.config)


def _borrowed(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """The caller changes the inputs as soon as the call has returned."""
    mine = [bytearray(data) for data in inputs]
    outputs = backend.dispatch_borrowed(launch.program, mine, launch.config)
    for data in mine:
        data[:] = bytes([CANARY]) * len(data)
    return outputs


def _timed(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    return backend.dispatch_borrowed_timed(launch.program, inputs, launch.config).outputs


def _into(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """Into slots of the right sizes, which are kept."""
    slots: list[Any] = [
        bytearray(b"\xff" * len(out)) for out in backend.dispatch(launch.program, inputs, launch.config)
    ]
    backend.dispatch_borrowed_into(launch.program, inputs, launch.config, slots)
    return slots


def _canaries(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """Inputs and outputs are windows of larger buffers whose rest must stay what it is."""
    windows = [_Window(bytes(data)) for data in inputs]
    sizes = [len(out) for out in backend.dispatch(launch.program, inputs, launch.config)]
    slots = [_Window(b"\xff" * size) for size in sizes]
    views: list[Any] = [slot.inside for slot in slots]
    backend.dispatch_borrowed_into(launch.program, [w.inside for w in windows], launch.config, views)
    for name, window in (*zip(_names(launch.program.inputs), windows, strict=True),
                         *zip(_names(launch.program.outputs), slots, strict=True)):  # fmt: skip
        window.check(name)
    for window, data in zip(windows, inputs, strict=True):
        data[:] = window.inside
    return views


class _Window:
    """Bytes with canaries on both sides."""

    def __init__(self, data: bytes) -> None:
        self.all = bytearray([CANARY]) * PAD + data + bytearray([CANARY]) * PAD
        self.inside = memoryview(self.all)[PAD : PAD + len(data)]

    def check(self, name: str) -> None:
        size = len(self.inside)
        for side, pad in (("before", self.all[:PAD]), ("after", self.all[PAD + size :])):
            if pad != bytes([CANARY]) * PAD:
                raise CanaryDied(f"bytes {side} {name!r} were written to", fix="find the access that is not checked")


def _names(buffers: Sequence[Buffer]) -> list[str]:
    return [buffer.name for buffer in buffers]


def _asynchronous(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """Several in flight, awaited from the last to the first, each twice."""
    pending = [backend.dispatch_async(launch.program, inputs, launch.config) for _ in range(ROUNDS)]
    results = [handle.await_result() for handle in reversed(pending)]
    return _same([*results, pending[0].await_result()])


def _awaited(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """In an event loop; the caller changes the inputs at once."""

    async def both() -> list[Outputs]:
        found: list[Outputs] = []
        for _ in range(2):
            mine = [bytearray(data) for data in inputs]
            pending = backend.dispatch_borrowed_async(launch.program, mine, launch.config)
            for data in mine:
                data[:] = bytes([CANARY]) * len(data)
            found.append(await pending)
        return found

    return _same(asyncio.run(both()))


def _compiled(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """A pipeline; memory that persists would be another program, so each dispatch has a pipeline of its own."""
    with compile(backend, launch.program, launch.config) as pipeline:
        return pipeline.dispatch(inputs, launch.config)


def _batched(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    with compile(backend, launch.program, launch.config) as pipeline:
        return _same(pipeline.dispatch_batched([list(inputs)] * ROUNDS, launch.config))


def _threads(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """From several threads at once."""
    results: list[Outputs] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            results.extend(backend.dispatch(launch.program, inputs, launch.config) for _ in range(ROUNDS))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return _same(results)


def _split(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """Two dispatches, each with a part of the grid on x. The input `first` says where it begins; each element of the
    outputs is written by one of them, and zero in the other."""
    assert launch.grid is not None
    groups, y, z = launch.grid
    place = _names(launch.program.inputs).index("first")
    total: list[int] = []
    for first, count in ((0, groups // 2), (groups // 2, groups - groups // 2)):
        given = list(inputs)
        given[place] = bytearray(first.to_bytes(4, "little"))
        config = replace(launch.config, grid_override=(count, y, z))
        outputs = backend.dispatch(launch.program, given, config)
        words = [int.from_bytes(bytes(data), "little") for data in outputs]
        total = [a | b for a, b in zip(total, words, strict=True)] if total else words
        sizes = [len(data) for data in outputs]
    return [word.to_bytes(size, "little") for word, size in zip(total, sizes, strict=True)]


def _same(results: Sequence[Outputs]) -> Outputs:
    first = [bytes(data) for data in results[0]]
    for number, other in enumerate(results[1:], 1):
        if [bytes(data) for data in other] != first:
            raise NotTheSame(f"dispatch {number} of {len(results)} differs from the first", fix="look for shared state")
    return first


# ── over memory on the device ────────────────────────────────────────────────────────────────────────────────────────


def _resident(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    def run(resources: Sequence[Resource]) -> None:
        backend.dispatch_resident_timed(launch.program, resources, launch.config)

    return _over_resources(backend, launch, inputs, run)


def _sequence(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    """As a step, once as the prefix and twice repeated: only for programs that may run again over their outputs."""

    def run(resources: Sequence[Resource]) -> None:
        step = ResidentDispatchStep(
            program=launch.program, resources=tuple(resources), grid_override=launch.config.grid_override
        )
        backend.dispatch_resident_repeated_sequence_read_ranges_into([step], [step], 2, [], [])

    return _over_resources(backend, launch, inputs, run)


def _over_resources(
    backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray], run: Callable[[Sequence[Resource]], None]
) -> Outputs:
    """Upload, run, download; neighbours of every resource hold canaries."""
    sizes = _sizes(backend, launch, inputs)
    data = dict(zip(_names(launch.program.inputs), inputs, strict=True))
    resources: dict[str, Resource] = {}
    canaries: list[Resource] = []
    try:
        for name, size in sizes.items():
            canaries.append(backend.allocate_resident(PAD))
            backend.upload_resident(canaries[-1], bytes([CANARY]) * PAD)
            resources[name] = backend.allocate_resident(size)
            if name in data and size:
                backend.upload_resident(resources[name], data[name])
        run(list(resources.values()))
        outputs = [bytes(backend.download_resident(resources[name])) for name in _names(launch.program.outputs)]
        for canary in canaries:
            if bytes(backend.download_resident(canary)) != bytes([CANARY]) * PAD:
                raise CanaryDied("a neighbour of the resources was written to", fix="find the access")
    finally:
        for resource in (*resources.values(), *canaries):
            backend.free_resident(resource)
    return outputs


def _buffers(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
    sizes = _sizes(backend, launch, inputs)
    held: dict[str, DeviceBuffer] = {}
    try:
        for name, size in sizes.items():
            held[name] = backend.allocate_device_buffer(size)
        for name, data in zip(_names(launch.program.inputs), inputs, strict=True):
            backend.upload_device_buffer(held[name], data)
        sources = [held[name] for name in _names(launch.program.inputs)]
        targets = [held[name] for name in _names(launch.program.outputs)]
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


def _claim(check: Callable[[VyreBackend], None]) -> Enter:
    def enter(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> Outputs:
        check(backend)
        return backend.dispatch(launch.program, inputs, launch.config)

    return enter


ENTRIES: Mapping[str, Enter] = {
    "dispatch": _dispatch,
    "borrowed": _borrowed,
    "timed": _timed,
    "into": _into,
    "canaries": _canaries,
    "asynchronous": _asynchronous,
    "awaited": _awaited,
    "compiled": _compiled,
    "batched": _batched,
    "threads": _threads,
    "split": _split,
    "resident": _resident,
    "sequence": _sequence,
    "device_buffers": _buffers,
    **{f"claim_{name}": _claim(check) for name, check in CLAIMS.items()},
}
"""Ways in by name, and checks of what a backend says of itself, which end in a dispatch as well."""
