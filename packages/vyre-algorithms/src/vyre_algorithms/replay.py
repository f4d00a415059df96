"""Algorithms over device arrays as compiled graphs: one call of the backend instead of one for each dispatch.

A compiled graph has memory of its own. A call copies its arguments there, and the results to new arrays. So a graph is
compiled only if it has many dispatches and small arguments, at the third call with the same parameters.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias

from vyre_algorithms.arguments import Array
from vyre_driver import CompiledGraph, VyreBackend, compile_graph
from vyre_driver.arrays.array import allocate
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import DeviceOutOfMemory, StaleHandle
from vyre_driver.graph.nodes import DispatchNode, Graph, walk
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.recorded import RecordedRange
from vyre_foundation import DType, Program
from vyre_foundation.locks import ForkGuard, acquire_into

Make: TypeAlias = Callable[..., None]
"""Records a graph: it is called with what records, and with parameters that its nodes depend on."""
Key: TypeAlias = "tuple[Make, tuple[Hashable, ...], VyreBackend]"

LEAST_DISPATCHES = 8
"""Of a graph that is worth the copies and a wait."""
LEAST_CALLS = 3
MOST_HOST_BYTES, MOST_DEVICE_BYTES = 2**20, 2**26
"""Bytes of the arrays of a call, where the device works in host memory, and where it has memory of its own."""
SHARE = 16
"""Compiled graphs have this part of the memory of a device at most, together."""
MOST_KNOWN = 1024


class ReplayedGraph:
    """A compiled graph with an array for each input and each result."""

    def __init__(self, graph: Graph, recording: ResidentGraph, backend: VyreBackend) -> None:
        self._compiled: CompiledGraph = compile_graph(graph, backend, fusion=False, overlap=False)
        self._inputs, self._outputs = (
            {name: allocate(backend, part.dtype, part.shape) for name, part in ranges.items()}
            for ranges in (recording.inputs, recording.outputs)
        )
        self._named = {**self._inputs, **{_output(name): array for name, array in self._outputs.items()}}
        self._lock = threading.Lock()

    def run(self, arrays: Mapping[str, Array]) -> dict[str, Array] | None:
        """The outputs over these inputs; None while another thread runs it."""
        taken: list[bool] = []
        try:
            acquire_into(taken, self._lock, 0)
            if not taken[0]:
                return None
            for name, array in arrays.items():
                self._inputs[name].assign(array)
            self._compiled.run(self._named)
            return {name: array.copy() for name, array in self._outputs.items()}
        finally:
            if taken and taken[0]:
                self._lock.release()


class ResidentGraph:
    """Records what algorithms record over memory that launches are passed."""

    def __init__(self, recorder: GraphRecorder) -> None:
        self._recorder = recorder
        self.inputs: dict[str, RecordedRange] = {}
        self.outputs: dict[str, RecordedRange] = {}

    def input(self, name: str, dtype: DType, count: int) -> RecordedRange:
        """Memory that launches are passed by this name."""
        made = self.inputs[name] = self._recorder.resident(name, dtype, count)
        return made

    def dispatch(
        self, program: Program, arrays: Mapping[str, object], /, *, config: DispatchConfig = DEFAULT_CONFIG
    ) -> dict[str, Any]:
        """The outputs of a program by name."""
        return dict(self._recorder.dispatch(program, arrays, config=config))

    def output(self, name: str, source: RecordedRange) -> None:
        """Copy a range to memory that launches are passed."""
        made = self.outputs[name] = self._recorder.resident(_output(name), source.dtype, source.shape)
        self._recorder.copy(source, made)


def _output(name: str) -> str:
    """What the memory of an output is called, which an input may have the name of."""
    return f"output {name}"


class ReplayedGraphs:
    """Compiled graphs by what they were made of, and their bytes; None for one that is not worth it."""

    def __init__(self) -> None:
        self._known: OrderedDict[Key, tuple[ReplayedGraph | None, int]] = OrderedDict()
        self._calls: dict[Key, int] = {}
        self._guard = ForkGuard()

    def run(
        self,
        make: Make,
        parameters: tuple[Hashable, ...],
        arrays: Mapping[str, Array],
        backend: VyreBackend,
        profile: DeviceProfile,
    ) -> dict[str, Array] | None:
        """The outputs of the graph, which is compiled at the third call; None if it is not, and nothing has run."""
        most = MOST_HOST_BYTES if profile.shares_host_memory else MOST_DEVICE_BYTES
        if sum(array.nbytes for array in arrays.values()) > most:
            return None
        try:
            graph = self._found((make, parameters, backend), (profile.global_memory_bytes or 0) // SHARE)
            return None if graph is None else graph.run(arrays)
        except StaleHandle:  # the device was opened again, or an array was closed
            with self._guard.lock:
                self._known.clear()
            return None

    def _found(self, key: Key, capacity: int) -> ReplayedGraph | None:
        with self._guard.lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][0]
            if len(self._calls) >= MOST_KNOWN:
                self._calls.clear()
            calls = self._calls[key] = self._calls.get(key, 0) + 1
            if calls < LEAST_CALLS:
                return None
            del self._calls[key]
            self._known[key] = made = _compiled(*key, capacity)
            self._trim(key[2], capacity)
            return made[0]

    def _trim(self, backend: VyreBackend, capacity: int) -> None:
        """Keep those that were used last on each device."""
        for key in [key for key in reversed(self._known) if key[2] is backend]:
            capacity -= self._known[key][1]
            if capacity < 0:
                del self._known[key]
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


def _compiled(
    make: Make, parameters: tuple[Hashable, ...], backend: VyreBackend, capacity: int
) -> tuple[ReplayedGraph | None, int]:
    """The graph and its bytes, if it has enough dispatches, and the device has the memory for it."""
    recorder = GraphRecorder(make.__name__)
    recording = ResidentGraph(recorder)
    make(recording, *parameters)
    graph = recorder.build()
    size = sum(buffer.byte_len for buffer in graph.buffers)
    if sum(isinstance(node, DispatchNode) for node in walk(graph.nodes)) < LEAST_DISPATCHES or size > capacity:
        return None, 0
    try:
        return ReplayedGraph(graph, recording, backend), size
    except DeviceOutOfMemory:
        return None, 0
