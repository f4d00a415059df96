"""Dispatches over device arrays. Results stay on the device, and only NumPy arrays are uploaded."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeGuard

import numpy as np

from vyre_driver.arrays.array import DeviceArray, allocate, require_same_backend
from vyre_driver.arrays.memory import CONSTANT_BYTES, ArrayMemory, constant_memory
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.typed import array_bytes, input_model, require_names
from vyre_driver.errors import InvalidInput, UnsupportedFeature
from vyre_driver.plan.binding import host_buffers
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.ir.buffer import Buffer, PerLaunch
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Trap


def backend_of(arrays: Iterable[object]) -> VyreBackend | None:
    """Return the backend of the first device array, or None."""
    for array in arrays:
        if type(array) is not np.ndarray and isinstance(array, DeviceArray):
            return array.backend
    return None


def dispatch_device_arrays(
    backend: VyreBackend,
    program: Program,
    arrays: Mapping[str, object],
    config: DispatchConfig = DEFAULT_CONFIG,
    made: Collection[str] = (),
    into: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, DeviceArray]:
    """Run a program over arrays by buffer name, some of them in the memory of a backend.

    Args:
        backend: The backend that runs the program.
        program: A valid program.
        arrays: One for each input, as for `dispatch_arrays`, or a `DeviceArray` of `backend`. Arrays of the host are
            uploaded. An array that the program changes is copied on the device, and the copy is the output.
        config: The options of the dispatch.
        made: The names of arrays that were made for this dispatch and need not be copied.
        into: Arrays for outputs, of the type and length of these. An output is the array itself if that is a
            `DeviceArray` whose memory nothing else uses, and the program cannot trap; otherwise it is a new one.

    Returns:
        The outputs by name, in the memory of `backend`.

    Raises:
        InvalidInput: A buffer, which the error names, is missing, unknown, or has a wrong type or backend.
        DeviceOutOfMemory: The outputs do not fit; the error names the largest arrays on the device.
    """
    inputs = program.inputs
    if type(arrays) is not dict or len(arrays) != len(inputs):
        require_names(program, arrays)
    held: dict[str, DeviceArray | ArrayMemory] = {}
    sizes = []
    for buffer in inputs:
        given = arrays.get(buffer.name)
        if given is None:  # most likely another name
            require_names(program, arrays)
        held[buffer.name], size = _on_device(backend, buffer, given)
        sizes.append(size)
    signature = _signature(backend, program, tuple(sizes), config)
    outputs: dict[str, DeviceArray] = {}
    for buffer, model, length in signature.outputs:
        name = buffer.name
        array = held.get(name)
        if array is not None:
            assert isinstance(array, DeviceArray)
            output = array.copy() if array is arrays[name] and name not in made else array
        elif into and _is_free(target := into.get(name), backend, program, held.values()):
            output = target
        else:
            shape = tuple(getattr(arrays.get(model), "shape", ()))
            fits = len(shape) > 1 and math.prod(shape) == length
            output = allocate(backend, buffer.dtype, shape if fits else (length,), is_zero=False)
        held[name] = outputs[name] = output
    resources = [held[name].resource for name in signature.visible]
    backend.dispatch_resident(program, [found for found in resources if found is not None], config)
    return outputs


def _is_free(
    target: object, backend: VyreBackend, program: Program, used: Iterable[DeviceArray | ArrayMemory]
) -> TypeGuard[DeviceArray]:
    """Whether a dispatch may write an output to `target` at once. One that traps leaves the target as it was."""
    if not isinstance(target, DeviceArray) or target.backend is not backend or program.of(Trap):
        return False
    resource = target.own_resource
    return resource is not None and all(other.resource is not resource for other in used)


def _on_device(backend: VyreBackend, buffer: Buffer, given: object) -> tuple[DeviceArray | ArrayMemory, int]:
    """An input in memory of its own or, if it is there, in the caller's; and its size in bytes."""
    if type(given) is not DeviceArray:
        return _uploaded(backend, buffer, given)
    if given.backend is not backend:
        require_same_backend(buffer.name, given, backend)
    if given.dtype is not buffer.dtype:
        needed, fix = f"an array of {buffer.dtype}", "convert it with .astype(…), or declare the buffer with its type"
        raise InvalidInput(buffer.name, needed=needed, got=f"one of {given.dtype}", fix=fix)
    resource = given.resource
    return (given, resource.byte_len) if resource is not None else (given.copy(), given.nbytes)


def _uploaded(backend: VyreBackend, buffer: Buffer, given: object) -> tuple[DeviceArray | ArrayMemory, int]:
    """An array of the host in memory of the backend: where its contents are already, if they are small and stay."""
    contents = array_bytes(buffer, given)
    if 0 < contents.size <= CONSTANT_BYTES and not buffer.is_output:
        return constant_memory(backend, contents), contents.size
    shape = tuple(getattr(given, "shape", ())) or (contents.size // buffer.dtype.size,)
    made = allocate(backend, buffer.dtype, shape, is_zero=False)
    if contents.size:
        assert made.resource is not None
        backend.upload_resident(made.resource, contents)
    return made, made.nbytes


@dataclass(frozen=True, slots=True)
class ArraySignature:
    """The outputs of a dispatch over arrays of given sizes.

    `outputs` has each output with the input whose shape it has, and its length. `visible` names the buffers for which
    resources are passed. The program is kept alive, so its identity is not reused.
    """

    program: Program
    outputs: tuple[tuple[Buffer, str, int], ...]
    visible: tuple[str, ...]


_signatures: dict[tuple[object, ...], ArraySignature] = {}
MAX_SIGNATURES = 1024


def _signature(
    backend: VyreBackend, program: Program, byte_lengths: tuple[int, ...], config: DispatchConfig
) -> ArraySignature:
    key = id(program), byte_lengths, config.launch_shape
    found = _signatures.get(key)
    if found is None:
        if len(_signatures) >= MAX_SIGNATURES:
            _signatures.clear()
        lengths = _output_lengths(backend.id(), program, byte_lengths, config)
        outputs = tuple([(b, input_model(program, b), lengths[b.name]) for b in program.outputs])
        visible = tuple([b.name for b in host_buffers(program)])
        found = _signatures[key] = ArraySignature(program, outputs, visible)
    return found


def _output_lengths(
    backend: str, program: Program, byte_lengths: tuple[int, ...], config: DispatchConfig
) -> dict[str, int]:
    """The number of elements of each buffer of a launch."""
    indirect = find_indirect_dispatch(program) is not None
    if indirect and any(isinstance(buffer.count, PerLaunch) for buffer in program.outputs):
        raise UnsupportedFeature(
            "an output whose length depends on a grid in a buffer, over arrays of a device", backend=backend
        )
    plan = plan_launch(program, byte_lengths, config, indirect_grid=(1, 1, 1) if indirect else None)
    return dict(plan.lengths)
