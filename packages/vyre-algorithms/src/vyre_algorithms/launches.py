"""Running programs and graphs over arrays, where they are: on the host, or in the memory of a backend.

Over ranges of a graph that is being recorded, they become nodes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from vyre_algorithms.arguments import Array, Backend, HostArray, contiguous, converted, type_of
from vyre_algorithms.replay import ReplayedGraphs, ResidentGraph
from vyre_driver import CompiledGraph, DeviceArray, DispatchConfig, VyreBackend, backend_for, compile_graph
from vyre_driver.arrays.array import allocate
from vyre_driver.arrays.dispatch import backend_of, dispatch_device_arrays
from vyre_driver.arrays.make import array as array_on, host_zeros
from vyre_driver.arrays.memory import is_live
from vyre_driver.backend.config import DEFAULT_CONFIG
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput, StaleHandle
from vyre_driver.graph.nodes import Graph
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.recorded import RecordedRange
from vyre_foundation import DType, Program, Value, program
from vyre_foundation.dtype import bool_

PLANS = 32
"""Compiled graphs that are cached. Each has memory on its device."""
GROUP = 64
HOST_ROUNDED = 4096
"""Elements at most that NumPy rounds to 16 bits: a launch takes longer."""

Elementwise = Callable[..., Value]
"""The element of a result, from those of the arrays."""


def launch(
    program: Program, arrays: Mapping[str, object], workgroups: int | Extent, backend: Backend
) -> dict[str, Array]:
    """The outputs of a program by name; `workgroups` run on x, or on (x, y, z).

    If an array is one of a device, or a range of a graph, so are the outputs.
    """
    config = with_grid(workgroups)
    for array in arrays.values():
        if type(array) is not np.ndarray:
            return _launch_elsewhere(program, arrays, config, backend)
    return backend_for(backend).dispatch_arrays(program, arrays, config)


def _launch_elsewhere(
    program: Program, arrays: Mapping[str, object], config: DispatchConfig, backend: Backend
) -> dict[str, Array]:
    """The same where not all arrays are plain ones of NumPy."""
    kinds = set(map(type, arrays.values()))
    if RecordedRange in kinds:
        return record(_recorder(arrays, backend), program, arrays, config)
    if DeviceArray in kinds:
        return dispatch_device_arrays(_where(arrays.values(), backend), program, arrays, config)
    return backend_for(backend).dispatch_arrays(program, arrays, config)


@lru_cache(maxsize=1024)
def with_grid(workgroups: int | Extent) -> DispatchConfig:
    """The options of a dispatch of so many workgroups."""
    return DispatchConfig(grid_override=(workgroups, 1, 1) if isinstance(workgroups, int) else workgroups)


def run_graph(
    make: Callable[..., None],
    parameters: tuple[Hashable, ...],
    arrays: Mapping[str, object],
    backend: Backend,
    *,
    is_short: bool = False,
) -> dict[str, Array]:
    """The outputs of the graph that ``make(graph, *parameters)`` records, which is compiled once for a backend.

    Over device arrays its dispatches run one after another as they are recorded, or by one call if it comes again and
    again (`ReplayedGraphs`), and the outputs stay there. A graph that `is_short`, a few dispatches, runs one after
    another too over NumPy arrays, on a device that shares its memory: a compiled graph has memory of its own, to which
    it copies its inputs, and its launch takes longer than theirs.

    Over ranges of a graph that is being recorded the nodes become nodes of that graph.
    """
    kinds = set(map(type, arrays.values()))
    if RecordedRange in kinds:
        inlined = InlinedGraph(_recorder(arrays, backend), arrays)
        make(inlined, *parameters)
        return inlined.outputs
    is_on_device, where = DeviceArray in kinds, _where(arrays.values(), backend)
    if is_on_device:
        outputs = _replayed.run(make, parameters, arrays, where, _profile(where))
        if outputs is not None:
            return outputs
    if is_on_device or (is_short and _profile(where).shares_host_memory):
        immediate = ImmediateGraph(where, arrays, is_on_device=is_on_device)
        make(immediate, *parameters)
        return immediate.outputs
    return _run_compiled(make, parameters, where, arrays)


_replayed = ReplayedGraphs()


def run_loop(
    make: Callable[..., None], parameters: tuple[Hashable, ...], arrays: Mapping[str, object], backend: Backend
) -> dict[str, Array]:
    """The outputs of a graph with loops, as NumPy arrays; device arrays are copied to the host first.

    Over ranges of a graph that is being recorded it becomes a call in that graph.
    """
    if any(isinstance(array, RecordedRange) for array in arrays.values()):
        recorder = _recorder(arrays, backend)
        ranges = {
            name: array if isinstance(array, RecordedRange) else _in_graph(recorder, array)
            for name, array in arrays.items()
        }
        return dict(recorder.call(_recorded(make, parameters), ranges))
    given = {name: np.asarray(array) for name, array in arrays.items()}
    return _run_compiled(make, parameters, _where(arrays.values(), backend), given)


_ON_HOST = {np.ndarray}


def profile_of(arrays: Sequence[object], backend: Backend) -> DeviceProfile | None:
    """What is known of the device where programs over arrays run; None for ranges of a graph, which run anywhere."""
    kinds = set(map(type, arrays))
    if kinds == _ON_HOST:
        return _profile(backend_for(backend))
    if RecordedRange in kinds:
        return None
    return _profile(_where(arrays, backend) if DeviceArray in kinds else backend_for(backend))


def runs_loops(arrays: Sequence[object], backend: Backend) -> bool:
    """Whether a worker runs the invocations of a workgroup one after the other, where programs over arrays run.

    False for ranges of a graph.
    """
    profile = profile_of(arrays, backend)
    return profile is not None and profile.workgroups_are_loops


def has_lanes(arrays: Sequence[object], backend: Backend) -> bool:
    """Whether the invocations of a workgroup run side by side, where programs over arrays run.

    False for ranges of a graph, as in `runs_loops`: what loops are made of runs everywhere.
    """
    return not runs_loops(arrays, backend) and RecordedRange not in map(type, arrays)


@lru_cache(maxsize=16)
def _profile(backend: VyreBackend) -> DeviceProfile:
    """Asked once: a profile is made under the lock of the device."""
    return backend.device_profile()


def _run_compiled(
    make: Callable[..., None], parameters: tuple[Hashable, ...], backend: VyreBackend, arrays: Mapping[str, object]
) -> dict[str, Array]:
    """The outputs over NumPy arrays. After the device was opened again the graph is compiled again."""
    try:
        return _compiled(make, parameters, backend).run(arrays)
    except StaleHandle:
        _compiled.cache_clear()
        return _compiled(make, parameters, backend).run(arrays)


@lru_cache(maxsize=PLANS)
def _compiled(make: Callable[..., None], parameters: tuple[Hashable, ...], backend: VyreBackend) -> CompiledGraph:
    return compile_graph(_recorded(make, parameters), backend)


@lru_cache(maxsize=PLANS)
def _recorded(make: Callable[..., None], parameters: tuple[Hashable, ...]) -> Graph:
    graph = GraphRecorder(make.__name__)
    make(graph, *parameters)
    return graph.build()


def _where(arrays: Iterable[object], backend: Backend) -> VyreBackend:
    held = backend_of(arrays) if backend is None else None
    return backend_for(backend) if held is None else held


def _recorder(arrays: Mapping[str, object], backend: Backend) -> GraphRecorder:
    """The graph of the first range."""
    if backend is not None:
        fix = "pass the backend to the graph's compile"
        raise InvalidInput("backend", needed="none for ranges of a graph", got=f"{backend!r}", fix=fix)
    return next(array.recorder for array in arrays.values() if isinstance(array, RecordedRange))


def record(
    graph: GraphRecorder, program: Program, arrays: Mapping[str, object], config: DispatchConfig
) -> dict[str, Array]:
    """Record a dispatch. As everywhere in algorithms, arrays are not changed: what a program changes is copied."""
    changed = {b.name: arrays[b.name] for b in program.inputs if b.is_output}
    copies = {name: _in_graph(graph, array) for name, array in changed.items()}
    return dict(graph.dispatch(program, {**arrays, **copies}, config=config))


def _in_graph(graph: GraphRecorder, array: Array) -> RecordedRange:
    """A temporary with the elements of a range or of a NumPy array."""
    if isinstance(array, RecordedRange):
        return array.copy()
    made = graph.temporary(type_of(array), array.shape)
    graph.upload(made, array)
    return made


class _GivenArrays:
    """Inputs that are the arrays or ranges of the caller, and outputs by name."""

    def __init__(self, arrays: Mapping[str, object]) -> None:
        self._arrays = arrays
        self.outputs: dict[str, Array] = {}

    def input(self, name: str, dtype: DType, count: int) -> Array:
        """The array or range that the caller passes by this name."""
        return self._arrays[name]

    def output(self, name: str, source: Array) -> None:
        """Make an array or a range an output."""
        self.outputs[name] = source


class InlinedGraph(_GivenArrays):
    """Records into a graph of the caller what algorithms record."""

    def __init__(self, recorder: GraphRecorder, arrays: Mapping[str, object]) -> None:
        super().__init__(arrays)
        self.recorder = recorder

    def dispatch(
        self, program: Program, arrays: Mapping[str, object], /, *, config: DispatchConfig = DEFAULT_CONFIG
    ) -> dict[str, Array]:
        """The outputs of a program by name."""
        return record(self.recorder, program, arrays, config)


class ImmediateGraph(_GivenArrays):
    """Runs what algorithms record, at once: a range is an array, in the memory of `backend` if `is_on_device`."""

    def __init__(self, backend: VyreBackend, arrays: Mapping[str, object], *, is_on_device: bool) -> None:
        super().__init__(arrays)
        self.backend, self.is_on_device = backend, is_on_device

    def dispatch(
        self, program: Program, arrays: Mapping[str, object], /, *, config: DispatchConfig = DEFAULT_CONFIG
    ) -> dict[str, Array]:
        """The outputs of a program by name."""
        if self.is_on_device:
            return dispatch_device_arrays(self.backend, program, arrays, config)
        return self.backend.dispatch_arrays(program, arrays, config)


Recorder: TypeAlias = GraphRecorder | ImmediateGraph | InlinedGraph | ResidentGraph
Range: TypeAlias = Any
"""A range of a recorded graph, or an array where a graph runs at once or is inlined."""


def constants(graph: Recorder, make: Callable[..., HostArray], *parameters: Hashable) -> Array:
    """The array of the host that a function makes, as a part of a graph; uploaded once where a graph runs at once."""
    if isinstance(graph, ImmediateGraph) and graph.is_on_device:
        array = _uploaded(graph.backend, make, parameters)
        if array.resource is None or not is_live(graph.backend, array.resource):  # the device was opened again
            _uploaded.cache_clear()
            array = _uploaded(graph.backend, make, parameters)
        return array
    return make(*parameters)


@lru_cache(maxsize=16)
def _uploaded(backend: VyreBackend, make: Callable[..., HostArray], parameters: tuple[Hashable, ...]) -> DeviceArray:
    return array_on(backend, make(*parameters))


def counted_up(number: int) -> HostArray:
    """The numbers from 0 on, of u32."""
    try:
        return np.arange(number, dtype=np.uint32)
    except MemoryError as error:
        raise DeviceOutOfMemory(4 * number) from error


@lru_cache(maxsize=1024)
def words(*numbers: int) -> HostArray:
    """Numbers for a uniform of u32: launches take arrays of the declared type without a conversion."""
    return np.array(numbers, np.uint32)


# ── arrays of either kind ────────────────────────────────────────────────────────────────────────────────────────────


def beside(model: Array, host: Array) -> Array:
    """An array of the host in the memory where `model` is."""
    if isinstance(model, RecordedRange):
        return _in_graph(model.recorder, host)
    return array_on(model.backend, host) if type(model) is DeviceArray else host


def zeros_beside(model: Array, shape: Sequence[int], dtype: DType) -> Array:
    """Zeros in the memory where `model` is."""
    if isinstance(model, RecordedRange):
        made = model.recorder.temporary(dtype, tuple(shape))
        model.recorder.fill(made)
        return made
    if type(model) is DeviceArray:
        return allocate(model.backend, dtype, tuple(shape))
    return host_zeros(shape, dtype.numpy)


def slots_beside(model: Array, number: int) -> Array:
    """An array of `number` bools in the memory where `model` is, from whose length a program takes that of an output.

    No program reads the elements. In the memory of a device they are unspecified.
    """
    if type(model) is DeviceArray:
        return allocate(model.backend, bool_, (number,), is_zero=False)
    return zeros_beside(model, (number,), bool_)


def broadcast(array: Array, shape: Sequence[int]) -> Array:
    """The elements in a shape that they are repeated to fill, contiguous."""
    if array.shape == tuple(shape):
        return contiguous(array)
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(np.broadcast_to(array, tuple(shape)))
    return contiguous(array.broadcast_to(shape))


def flipped(array: Array) -> Array:
    """The elements in reverse order on every axis."""
    if isinstance(array, RecordedRange):
        return array.flip()
    return array[(slice(None, None, -1),) * array.ndim]


def joined(parts: Sequence[Array]) -> Array:
    """Vectors of one type, one behind another."""
    held = next((part for part in parts if not isinstance(part, np.ndarray)), None)
    if held is None:
        return np.concatenate(parts)
    shape, dtype = (sum(part.size for part in parts),), type_of(parts[0])
    whole = (
        held.recorder.temporary(dtype, shape)
        if isinstance(held, RecordedRange)
        else allocate(held.backend, dtype, shape, is_zero=False)
    )
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


def rounded(array: Array, dtype: DType, backend: Backend) -> Array:
    """As `converted`; by a launch if many elements of the host become narrow: NumPy is slow for each that overflows."""
    if isinstance(array, np.ndarray) and array.size > HOST_ROUNDED and type_of(array).bits > dtype.bits == 16:
        return mapped(_cast(dtype), dtype, [array], backend)
    return converted(array, dtype)


@lru_cache(maxsize=4)
def _cast(dtype: DType) -> Elementwise:
    return lambda element: element.cast(dtype)


@lru_cache(maxsize=256)
def _elementwise(function: Elementwise, dtype: DType, kinds: tuple[tuple[DType, bool], ...]) -> Program:
    with program("elementwise", GROUP) as p:
        arrays = [p.read(f"x{n}", kind) for n, (kind, _) in enumerate(kinds)]
        out = p.write("out", dtype, like=arrays[0])
        i = p.global_id(0)
        out[i] = function(*(array[0 if is_one else i] for array, (_, is_one) in zip(arrays, kinds, strict=True)))
    return p.build()
