"""Sessions: launches one after another, in every way in which the contract lets a caller make them.

A caller writes the inputs of all launches to the same memory, and holds results while later launches run: some until
the end, some for a while. What a launch lacks of its inputs is what those before it have left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import Any

import numpy as np

from vyre_conform.case import Launch
from vyre_conform.worker.claiming import NotExercised
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, Resource
from vyre_driver.pipeline.compile import compile
from vyre_driver.plan.binding import host_buffers
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program

FILLER = 0xFF
"""What output buffers are full of, and resident memory that a launch is going to write."""

Results = Sequence[Any]
"""The outputs of one launch, as the backend gives them."""
Call = Callable[[CompiledPipeline, Launch, Sequence[Any]], Results]


def calls(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """From bytes to bytes."""
    return _one_by_one(backend, launch, lambda pipeline, one, given: pipeline.dispatch(given, one.config))


def calls_by_name(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """From arrays to arrays."""

    def call(pipeline: CompiledPipeline, one: Launch, given: Sequence[Any]) -> Results:
        pairs = zip(one.program.inputs, given, strict=True)
        arrays = {b.name: np.frombuffer(data, b.dtype.numpy) for b, data in pairs}
        results = pipeline.dispatch_arrays(arrays, one.config)
        return [results[buffer.name] for buffer in one.program.outputs]

    return _one_by_one(backend, launch, call)


def calls_into(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """Into slots of the sizes that the same program had last, so that some fit."""
    sizes: dict[Program, list[int]] = {}

    def call(pipeline: CompiledPipeline, one: Launch, given: Sequence[Any]) -> Results:
        slots: list[Any] = [np.full(size, FILLER, np.uint8) for size in sizes.get(one.program, ())]
        pipeline.dispatch_into(given, one.config, slots)
        sizes[one.program] = [memoryview(slot).nbytes for slot in slots]
        return slots

    return _one_by_one(backend, launch, call)


def calls_into_inputs(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """Into the memory in which inputs of that size are, as far as there are such."""

    def call(pipeline: CompiledPipeline, one: Launch, given: Sequence[Any]) -> Results:
        plan = plan_launch(one.program, [len(data) for data in given], one.config, indirect_grid=(1, 1, 1))
        free, slots = list(given), list[Any]()
        for size in (layout.size for layout in plan.outputs):
            found = next((data for data in free if len(data) == size), None)
            slots.append(bytearray(size) if found is None else found)
            free = [data for data in free if data is not found]
        pipeline.dispatch_into(given, one.config, slots)
        return [bytes(slot) for slot in slots]

    return _one_by_one(backend, launch, call)


def calls_in_flight(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """All of them at once, awaited from the last to the first."""
    _require_given(launch)
    with _Pipelines(backend) as pipelines:
        memory = [[bytearray(data) for data in one.arguments] for one in launch.launches]
        pairs = zip(launch.launches, memory, strict=True)
        pending = [pipelines.of(one).dispatch_async(given, one.config) for one, given in pairs]
        results = [handle.await_result() for handle in reversed(pending)]
        return [bytes(data) for outputs in reversed(results) for data in outputs]


def calls_in_batches(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """Launches of one program and configuration that follow each other are a batch."""
    _require_given(launch)
    results: list[Results] = []
    with _Pipelines(backend) as pipelines:
        for _, alike in groupby(launch.launches, lambda one: (one.program, one.config)):
            batch = list(alike)
            results += pipelines.of(batch[0]).dispatch_batched([one.arguments for one in batch], batch[0].config)
        return [bytes(data) for outputs in results for data in outputs]


def calls_over_residents(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """Over memory of the device: buffers of one name and size are one resource."""
    outputs: list[bytes] = []
    with _Pipelines(backend) as pipelines, _Memory(backend, launch) as memory:
        for one in launch.launches:
            memory.upload(one.inputs)
            pipelines.of(one).dispatch_resident(memory.of(one.program), one.config)
            outputs += [bytes(memory.download(buffer)) for buffer in one.program.outputs]
    return outputs


def sequence_of_calls(backend: VyreBackend, launch: Launch, inputs: Sequence[bytearray]) -> list[bytes]:
    """As a sequence of steps, which runs twice: first over other inputs. Every output is that of one launch."""
    names = [buffer.name for one in launch.launches for buffer in one.program.outputs]
    if len(names) != len(set(names)):
        raise NotExercised("a later launch writes over what an earlier one left", fix="give outputs their own names")
    with _Memory(backend, launch) as memory:
        steps = [ResidentDispatchStep(program=one.program, resources=memory.of(one.program), grid_override=one.grid)
                 for one in launch.launches]  # fmt: skip
        ranges = [ResidentReadRange(resource=memory[name], byte_offset=0, byte_len=memory[name].byte_len)
                  for name in names]  # fmt: skip
        slots: list[bytearray] = []
        for others in (True, False):
            for one in launch.launches:
                memory.upload({n: bytes(len(data)) if others else data for n, data in one.inputs.items()})
            slots = [bytearray(part.byte_len) for part in ranges]
            backend.dispatch_resident_sequence_read_ranges_into(steps, ranges, slots)
        return [bytes(slot) for slot in slots]


SESSIONS = {
    way.__name__: way
    for way in (
        calls,
        calls_by_name,
        calls_into,
        calls_into_inputs,
        calls_in_flight,
        calls_in_batches,
        calls_over_residents,
        sequence_of_calls,
    )
}
"""Ways in by name."""


class _Pipelines(ExitStack):
    """One pipeline for each program of a session."""

    def __init__(self, backend: VyreBackend) -> None:
        super().__init__()
        self._backend = backend
        self._known: dict[Program, CompiledPipeline] = {}

    def of(self, launch: Launch) -> CompiledPipeline:
        if launch.program not in self._known:
            pipeline = compile(self._backend, launch.program, launch.config)
            self._known[launch.program] = self.enter_context(pipeline)
        return self._known[launch.program]


def _one_by_one(backend: VyreBackend, launch: Launch, call: Call) -> list[bytes]:
    """Every other result is held until the end, the others until the launch after the next."""
    found: list[list[bytes]] = []
    held: dict[int, Results] = {}
    left: dict[str, bytes] = {}
    memory: dict[str, bytearray] = {}
    with _Pipelines(backend) as pipelines:
        for number, one in enumerate(launch.launches):
            names = [buffer.name for buffer in one.program.inputs]
            given = _written(memory, {name: one.inputs.get(name, left.get(name, b"")) for name in names})
            left |= dict(zip(names, map(bytes, given), strict=True))
            held[number] = outputs = call(pipelines.of(one), one, given)
            left |= {b.name: _bytes(data) for b, data in zip(one.program.outputs, outputs, strict=True)}
            found.append([])
            if number >= 2 and number % 2 == 0:
                found[number - 2] = [_bytes(data) for data in held.pop(number - 2)]
        for number, outputs in held.items():
            found[number] = [_bytes(data) for data in outputs]
    return [data for results in found for data in results]


def _written(memory: dict[str, bytearray], inputs: Mapping[str, bytes]) -> list[bytearray]:
    """Inputs in the memory in which those of the launch before were, where the size is the same."""
    for name, data in inputs.items():
        if len(memory.get(name, b"")) == len(data) and name in memory:
            memory[name][:] = data
        else:
            memory[name] = bytearray(data)
    return [memory[name] for name in inputs]


def _bytes(data: Any) -> bytes:
    return data.tobytes() if isinstance(data, np.ndarray) else bytes(data)


def _require_given(launch: Launch) -> None:
    if any(buffer.name not in one.inputs for one in launch.launches for buffer in one.program.inputs):
        raise NotExercised("a launch waits for the results of another", fix="give all inputs")


class _Memory:
    """Resident memory by name: as large as the buffers are, or the inputs that are bound to them."""

    def __init__(self, backend: VyreBackend, launch: Launch) -> None:
        self._backend = backend
        self._resources: dict[str, Resource] = {}
        self._sizes = _sizes(launch)

    def __enter__(self) -> _Memory:
        return self

    def __exit__(self, *_: object) -> None:
        for resource in self._resources.values():
            self._backend.free_resident(resource)

    def __getitem__(self, name: str) -> Resource:
        if name not in self._resources:
            size = self._sizes[name]
            self._resources[name] = resource = self._backend.allocate_resident(size)
            if size:
                self._backend.upload_resident(resource, bytes([FILLER]) * size)
        return self._resources[name]

    def of(self, program: Program) -> tuple[Resource, ...]:
        """One for each buffer that the host sees, in binding order."""
        return tuple(self[buffer.name] for buffer in host_buffers(program))

    def upload(self, inputs: Mapping[str, bytes]) -> None:
        for name, data in inputs.items():
            if data:
                self._backend.upload_resident(self[name], data)

    def download(self, buffer: Buffer) -> memoryview:
        return self._backend.download_resident(self[buffer.name])


def _sizes(launch: Launch) -> dict[str, int]:
    """The bytes of every buffer that the host sees, which are the same in all launches."""
    sizes: dict[str, int] = {}
    for one in launch.launches:
        sizes |= {name: len(data) for name, data in one.inputs.items()}
        lengths = [sizes[buffer.name] for buffer in one.program.inputs]
        plan = plan_launch(one.program, lengths, one.config, indirect_grid=(1, 1, 1))
        sizes |= {buffer.name: plan.byte_length(buffer.name) for buffer in one.program.outputs}
    return sizes
