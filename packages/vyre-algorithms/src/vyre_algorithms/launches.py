"""Running programs and graphs over arrays, where they are: on the host, or in the memory of a backend."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from vyre_algorithms.arguments import Array, Backend, HostArray, type_of
from vyre_driver import CompiledGraph, DeviceArray, DispatchConfig, VyreBackend, backend_for, compile_graph
from vyre_driver.arrays.array import allocate
from vyre_driver.arrays.dispatch import backend_of, dispatch_device_arrays
from vyre_driver.arrays.make import array as array_on
from vyre_driver.backend.config import DEFAULT_CONFIG
from vyre_driver.device.profile import Extent
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.plan.launch import grid_of_invocations
from vyre_foundation import DType, Program, Value, program

PLANS = 32
"""Compiled graphs that are cached. Each has memory on its device."""
LARGE = 1 << 18
"""Bytes of inputs from which copying them takes longer than a few launches one by one."""
GROUP = 64

Elementwise = Callable[..., Value]
"""The element of a result, from those of the arrays."""


def launch(
    program: Program, arrays: Mapping[str, object], workgroups: int | Extent, backend: Backend
) -> dict[str, Array]:
    """The outputs of a program by name; `workgroups` run on x, or on (x, y, z).

    If an array is one of a device, so are the outputs.
    """
    if DeviceArray in map(type, arrays.values()):
        return dict(dispatch_device_arrays(_where(arrays, backend), program, arrays, with_grid(workgroups)))
    return backend_for(backend).dispatch_arrays(program, arrays, with_grid(workgroups))


@lru_cache(maxsize=1024)
def with_grid(workgroups: int | Extent) -> DispatchConfig:
    """The options of a dispatch of so many workgroups."""
    return DispatchConfig(grid_override=(workgroups, 1, 1) if isinstance(workgroups, int) else workgroups)


def run_graph(
    record: Callable[..., None],
    parameters: tuple[Hashable, ...],
    arrays: Mapping[str, object],
    backend: Backend,
    *,
    is_short: bool = False,
) -> dict[str, Array]:
    """The outputs of the graph that ``record(graph, *parameters)`` records, which is compiled once for a backend.

    Over arrays of a device its dispatches run one after another as they are recorded, and the outputs stay there. A
    graph that `is_short`, a few dispatches, runs so too over large arrays of the host, on a device that shares its
    memory: a compiled graph has memory of its own, to which it copies its inputs.
    """
    is_on_device = DeviceArray in map(type, arrays.values())
    where = _where(arrays, backend)
    if is_on_device or (is_short and _size(arrays) >= LARGE and where.device_profile().shares_host_memory):
        immediate = ImmediateGraph(where, arrays, is_on_device=is_on_device)
        record(immediate, *parameters)
        return immediate.outputs
    return _compiled(record, parameters, where).run(arrays)


def _size(arrays: Mapping[str, object]) -> int:
    return sum(getattr(array, "nbytes", 0) for array in arrays.values())


@lru_cache(maxsize=PLANS)
def _compiled(record: Callable[..., None], parameters: tuple[Hashable, ...], backend: VyreBackend) -> CompiledGraph:
    with GraphRecorder(record.__name__) as graph:
        record(graph, *parameters)
    return compile_graph(graph.build(), backend)


def _where(arrays: Mapping[str, object], backend: Backend) -> VyreBackend:
    held = backend_of(arrays.values()) if backend is None else None
    return backend_for(backend) if held is None else held


class ImmediateGraph:
    """Runs what algorithms record, at once: a range is an array, in the memory of `backend` if `is_on_device`."""

    def __init__(self, backend: VyreBackend, arrays: Mapping[str, object], *, is_on_device: bool) -> None:
        self.backend, self.is_on_device, self._arrays = backend, is_on_device, arrays
        self.outputs: dict[str, Array] = {}

    def input(self, name: str, dtype: DType, count: int) -> Array:
        """The array that the caller passes by this name."""
        return self._arrays[name]

    def dispatch(
        self,
        program: Program,
        arrays: Mapping[str, object],
        /,
        *,
        config: DispatchConfig = DEFAULT_CONFIG,
        invocations: int | Sequence[int] | None = None,
    ) -> dict[str, Array]:
        """The outputs of a program by name."""
        if invocations is not None:
            config = config.replace(grid_override=grid_of_invocations(program, invocations, config))
        if self.is_on_device:
            return dict(dispatch_device_arrays(self.backend, program, arrays, config))
        return self.backend.dispatch_arrays(program, arrays, config)

    def output(self, name: str, source: Array) -> None:
        """Make an array an output."""
        self.outputs[name] = source


Recorder: TypeAlias = GraphRecorder | ImmediateGraph
Range: TypeAlias = Any
"""A range of a recorded graph, or an array where a graph runs at once."""


def constants(graph: Recorder, make: Callable[..., HostArray], *parameters: Hashable) -> Array:
    """The array of the host that a function makes, as a part of a graph; uploaded once where a graph runs at once."""
    if isinstance(graph, ImmediateGraph) and graph.is_on_device:
        return _uploaded(graph.backend, make, parameters)
    return make(*parameters)


@lru_cache(maxsize=16)
def _uploaded(backend: VyreBackend, make: Callable[..., HostArray], parameters: tuple[Hashable, ...]) -> DeviceArray:
    return array_on(backend, make(*parameters))


@lru_cache(maxsize=1024)
def words(*numbers: int) -> HostArray:
    """Numbers for a uniform of u32: launches take arrays of the declared type without a conversion."""
    return np.array(numbers, np.uint32)


# ── arrays of either kind ────────────────────────────────────────────────────────────────────────────────────────────


def beside(model: Array, host: Array) -> Array:
    """An array of the host in the memory where `model` is."""
    return array_on(model.backend, host) if isinstance(model, DeviceArray) else host


def zeros_beside(model: Array, shape: Sequence[int], dtype: DType) -> Array:
    """Zeros in the memory where `model` is."""
    if isinstance(model, DeviceArray):
        return allocate(model.backend, dtype, tuple(shape))
    return np.zeros(shape, dtype.numpy)


def broadcast(array: Array, shape: Sequence[int]) -> Array:
    """The elements in a shape that they are repeated to fill, contiguous."""
    if isinstance(array, DeviceArray):
        return array if array.shape == tuple(shape) and array.is_contiguous else array.broadcast_to(shape).copy()
    return np.ascontiguousarray(np.broadcast_to(array, tuple(shape)))


def joined(parts: Sequence[Array]) -> Array:
    """Vectors of one type, one behind another."""
    held = next((part for part in parts if isinstance(part, DeviceArray)), None)
    if held is None:
        return np.concatenate(parts)
    whole = allocate(held.backend, type_of(parts[0]), (sum(part.size for part in parts),), is_zero=False)
    at = 0
    for part in parts:
        whole[at : at + part.size].assign(part)
        at += part.size
    return whole


def mapped(function: Elementwise, dtype: DType, arrays: Sequence[Array], backend: Backend) -> Array:
    """`function` of the elements of arrays of one length; an array of one element goes with all of them."""
    first = arrays[0]
    if not first.size:
        return zeros_beside(first, first.shape, dtype)
    kinds = tuple((type_of(array), array.size == 1 < first.size) for array in arrays)
    given = {f"x{n}": array.reshape(-1) for n, array in enumerate(arrays)}
    return launch(_elementwise(function, dtype, kinds), given, -(-first.size // GROUP), backend)["out"].reshape(
        first.shape
    )


@lru_cache(maxsize=256)
def _elementwise(function: Elementwise, dtype: DType, kinds: tuple[tuple[DType, bool], ...]) -> Program:
    with program("elementwise", GROUP) as p:
        arrays = [p.read(f"x{n}", kind) for n, (kind, _) in enumerate(kinds)]
        out = p.write("out", dtype, like=arrays[0])
        i = p.global_id(0)
        out[i] = function(*(array[0 if is_one else i] for array, (_, is_one) in zip(arrays, kinds, strict=True)))
    return p.build()
