"""Dispatches over arrays of a device: results stay there, and only arrays of the host are uploaded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache

from vyre_driver.arrays.array import DeviceArray, allocate, require_same_backend
from vyre_driver.arrays.memory import CONSTANT_BYTES, ArrayMemory, constant_memory
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.typed import array_bytes, input_model, require_names
from vyre_driver.errors import InvalidInput, UnsupportedFeature
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.ir.buffer import Buffer, PerLaunch
from vyre_foundation.ir.program import Program


def backend_of(arrays: Iterable[object]) -> VyreBackend | None:
    """The backend of the first array of a device; None if there is none."""
    return next((array.backend for array in arrays if isinstance(array, DeviceArray)), None)


def dispatch_device_arrays(
    backend: VyreBackend, program: Program, arrays: Mapping[str, object], config: DispatchConfig = DEFAULT_CONFIG
) -> dict[str, DeviceArray]:
    """Run `program` over arrays by buffer name, some of them in the memory of `backend`.

    Args:
        backend: Where the program runs.
        program: A valid program.
        arrays: One for each input, as for `dispatch_arrays`, or a `DeviceArray` of `backend`. Arrays of the host are
            uploaded. An array that the program changes is copied on the device, and the copy is the output.
        config: The options of the dispatch.

    Returns:
        The outputs by name, in the memory of `backend`.

    Raises:
        InvalidInput: A buffer, which the error names, is missing, unknown, of another type or of another backend.
        DeviceOutOfMemory: The outputs do not fit; the error names the largest arrays on the device.
    """
    require_names(program, arrays)
    held: dict[str, DeviceArray | ArrayMemory] = {}
    sizes = []
    for buffer in program.inputs:
        held[buffer.name], size = _on_device(backend, buffer, arrays[buffer.name])
        sizes.append(size)
    lengths = _output_lengths(backend.id(), program, tuple(sizes), config)
    outputs: dict[str, DeviceArray] = {}
    for buffer in program.outputs:
        array = held.get(buffer.name)
        if isinstance(array, DeviceArray):
            made = array.copy() if array is arrays[buffer.name] else array
        else:
            model = arrays.get(input_model(program, buffer))
            shape = tuple(getattr(model, "shape", ()))
            length = lengths[buffer.name]
            fits = len(shape) > 1 and math.prod(shape) == length
            made = allocate(backend, buffer.dtype, shape if fits else (length,), is_zero=False)
        held[buffer.name] = outputs[buffer.name] = made
    resources = [held[buffer.name].resource for buffer in program.buffers if buffer.memory.is_host_visible]
    backend.dispatch_resident(program, [found for found in resources if found is not None], config)
    return outputs


def _on_device(backend: VyreBackend, buffer: Buffer, given: object) -> tuple[DeviceArray | ArrayMemory, int]:
    """An input in memory of its own or, if it is there, in the caller's; and its size in bytes."""
    if not isinstance(given, DeviceArray):
        contents = array_bytes(buffer, given)
        if 0 < contents.size <= CONSTANT_BYTES and not buffer.is_output:
            return constant_memory(backend, contents), contents.size
        shape = tuple(getattr(given, "shape", ())) or (contents.size // buffer.dtype.size,)
        made = allocate(backend, buffer.dtype, shape, is_zero=False)
        if contents.size:
            assert made.resource is not None
            backend.upload_resident(made.resource, contents)
        return made, made.nbytes
    require_same_backend(buffer.name, given, backend)
    if given.dtype is not buffer.dtype:
        needed, fix = f"an array of {buffer.dtype}", "convert it with a kernel, or declare the buffer with its type"
        raise InvalidInput(buffer.name, needed=needed, got=f"one of {given.dtype}", fix=fix)
    return (given if given.resource is not None else given.copy()), given.nbytes


@lru_cache(maxsize=256)
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
