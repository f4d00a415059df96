"""Executors of graphs: in order over resident memory, or by one dispatch after another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentReadRange, Resource
from vyre_driver.errors import BackendError, StaleHandle
from vyre_driver.graph.batch import batch
from vyre_driver.graph.evaluate import evaluate, failed_at
from vyre_driver.graph.flatten import FlatGraph, flatten
from vyre_driver.graph.fuse import fuse
from vyre_driver.graph.nodes import BufferKind, DispatchNode, Graph, walk
from vyre_driver.policy.loop import MOST_ITERATIONS, LoopVerdict
from vyre_driver.schedule.memory import MemoryPlan, plan_memory, require_memory
from vyre_driver.schedule.steps import (
    BatchedLoop,
    DispatchCall,
    ExecutableCall,
    HostLoop,
    SequenceCall,
    StepBuilder,
    programs_of,
)
from vyre_driver.schedule.whole import whole_buffers

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.backend.typed import Array

    Bytes = npt.NDArray[np.uint8]

MAX_BOUND = 2
"""Sets of resident handles whose calls are cached; they keep the handles alive."""


class GraphExecutor(Protocol):
    """Runs one graph on one backend."""

    name: str
    """What `CompiledGraph.executor` says."""
    reason: str
    """Why this one was chosen."""
    dispatches: tuple[str, ...]
    """What `CompiledGraph.dispatches` says."""

    @property
    def loops(self) -> Mapping[str, LoopVerdict]:
        """What `CompiledGraph.loops` says."""

    def run(self, arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
        """Run the graph once: the outputs by name."""

    def close(self) -> None:
        """Give back device memory."""


class HostExecutor:
    """One dispatch after another over host memory: for backends that keep nothing on a device."""

    name = "host"

    def __init__(self, graph: Graph, backend: VyreBackend, reason: str) -> None:
        self._graph, self._backend, self.reason = graph, backend, reason
        self.dispatches = _dispatches(flatten(graph).graph)
        self.loops: Mapping[str, LoopVerdict] = {}

    def run(self, arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
        """See `GraphExecutor.run`; there are no handles."""
        outputs = evaluate(self._graph, self._backend, arrays)
        types = {node.output: self._graph.buffer(node.source.buffer).dtype.numpy for node in self._graph.outputs}
        return {name: contents.view(types[name]) for name, contents in outputs.items()}

    def close(self) -> None:
        """Nothing: there is no device memory."""


@dataclass(frozen=True, slots=True)
class BoundGraph:
    """The calls of a graph over its memory, the ranges that are read, and the outputs.

    Of each output: its name, count and type, and the position of its range with the byte where it begins there. One
    without elements has no range.
    """

    calls: tuple[ExecutableCall, ...]
    outputs: tuple[tuple[str, int, np.dtype[Any], int | None, int], ...]
    reads: tuple[ResidentReadRange, ...]


@dataclass(frozen=True, slots=True, eq=False)
class PackedUpload:
    """Inputs that are parts of one buffer: `contents` has them all, each at its byte, and is uploaded at once."""

    buffer: str
    contents: Bytes
    inputs: list[tuple[str, int]]

    def fill(self, arrays: Mapping[str, Bytes]) -> None:
        """Copy the arrays of a launch to their places."""
        for name, at in self.inputs:
            array = arrays[name]
            self.contents[at : at + array.nbytes] = array


class QueueExecutor:
    """All nodes in recorded order over resident memory, as sequences that are enqueued and waited for once."""

    name = "queue"

    def __init__(self, graph: Graph, backend: VyreBackend, *, fusion: bool) -> None:
        flat, self.memory = _planned(graph, fusion=fusion)
        self._graph, self._backend = flat.graph, backend
        self._downloads, self._constants = flat.downloads, flat.constants
        self._inputs, self._packed = _uploads(graph, flat)
        self.reason = "the backend keeps memory on its device"
        self.dispatches = _dispatches(flat.graph)
        self._words: dict[bytes, Resource] = {}
        self._go: Resource | None = None
        self._is_closed, self._handle = False, f"the compiled graph {graph.name!r}"
        self.loops: Mapping[str, LoopVerdict] = {}
        self._bound: OrderedDict[tuple[Resource, ...], BoundGraph] = OrderedDict()
        require_memory(graph, self.memory, sum(map(len, flat.constants.values())), backend)
        self._resources = self._allocated()
        if not graph.of(BufferKind.RESIDENT):
            self._bind({})

    def run(self, arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
        """See `GraphExecutor.run`."""
        if self._is_closed:
            raise StaleHandle(self._handle, "it was closed", fix="compile the graph again")
        try:
            return self._ran(arrays, handles)
        except StaleHandle as error:
            if handles:  # which may be the stale ones
                raise
            raise StaleHandle(self._handle, str(error.fields["reason"]), fix="compile the graph again") from error

    def _ran(self, arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
        bound = self._bind(handles)
        if arrays:
            for packed in self._packed:
                packed.fill(arrays)
            uploads = [(self._resources[name], arrays[name]) for name in self._inputs]
            uploads += [(self._resources[packed.buffer], packed.contents) for packed in self._packed]
            self._backend.upload_resident_many(uploads)
        targets = [np.empty(part.byte_len, np.uint8) for part in bound.reads]
        outputs = {
            name: np.empty(count, dtype)
            if read is None
            else targets[read][at : at + count * dtype.itemsize].view(dtype)
            for name, count, dtype, read, at in bound.outputs
        }
        last = bound.calls[-1] if bound.calls else None
        if isinstance(last, SequenceCall):
            self._run(bound.calls[:-1])
            self._sequence(last, bound.reads, targets)
        else:
            self._run(bound.calls)
            if targets:
                self._backend.download_resident_ranges_into(bound.reads, targets)
        return outputs

    def close(self) -> None:
        """See `GraphExecutor.close`."""
        self._is_closed = True
        self._bound.clear()
        go = () if self._go is None else (self._go,)
        for resource in (*go, *self._words.values(), *self._resources.values()):
            resource.end()

    # ── how it runs ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _run(self, calls: Sequence[ExecutableCall]) -> None:
        for call in calls:
            match call:
                case SequenceCall():
                    self._sequence(call, [], [])
                case DispatchCall(node, resources):
                    try:
                        self._backend.dispatch_resident_timed(node.program, resources, node.config)
                    except BackendError as error:
                        raise failed_at(error, node.name, node) from None
                case BatchedLoop():
                    self._batches(call)
                case HostLoop(node, flag, body):
                    for _ in range(node.limit):
                        if self._iterate(body, flag):
                            break

    def _batches(self, loop: BatchedLoop) -> None:
        """Batches of 1, 2, 4 … iterations, until one leaves 0 in the word of the loop."""
        part, word = ResidentReadRange(resource=loop.go, byte_offset=0, byte_len=4), np.empty(4, np.uint8)
        once, done, size = loop.once, 0, 1
        while done < loop.node.limit:
            times = min(size, loop.node.limit - done)
            self._sequence(SequenceCall(once, loop.iteration, times), [part], [word])
            once, done, size = (), done + times, min(2 * size, MOST_ITERATIONS)
            if not word.any():
                break

    def _iterate(self, body: Sequence[ExecutableCall], flag: tuple[Resource, int, int] | None) -> bool:
        """One iteration of a loop, and whether its flag is 0 then."""
        if flag is None:
            self._run(body)
            return False
        resource, at, size = flag
        part, value = ResidentReadRange(resource=resource, byte_offset=at, byte_len=size), np.empty(size, np.uint8)
        if body and isinstance(body[-1], SequenceCall):
            self._run(body[:-1])
            self._sequence(body[-1], [part], [value])
        else:
            self._run(body)
            self._backend.download_resident_ranges_into([part], [value])
        return not value.any()

    def _sequence(self, call: SequenceCall, ranges: Sequence[ResidentReadRange], targets: Sequence[Any]) -> None:
        once, repeated = [s.step for s in call.once], [s.step for s in call.repeated]
        try:
            self._backend.dispatch_resident_repeated_sequence_read_ranges_into(
                once, repeated, call.times, ranges, targets
            )
        except BackendError as error:
            self._fail(call, error)

    def _fail(self, call: SequenceCall, error: BackendError) -> NoReturn:
        if error.step is None:
            raise error
        node = call.failed(error.step)
        raise failed_at(error, node.name, node) from None

    # ── what it runs over ────────────────────────────────────────────────────────────────────────────────────────────

    def _allocated(self) -> dict[str, Resource]:
        allocate = self._backend.allocate_resident
        found = {buffer.name: allocate(buffer.byte_len) for buffer in self._graph.of(BufferKind.INPUT)}
        pieces = [allocate(size) for size in self.memory.pieces]
        found.update({name: pieces[number] for name, number in self.memory.piece_of.items()})
        made = {name: allocate(len(data)) for name, data in self._constants.items()}
        self._backend.upload_resident_many([(made[name], data) for name, data in self._constants.items()])
        return found | made

    def _words_of(self, contents: bytes) -> Resource:
        """Memory with these contents, which no node changes."""
        found = self._words.get(contents)
        if found is None:
            found = self._words[contents] = self._backend.allocate_resident(len(contents))
            self._backend.upload_resident(found, contents)
        return found

    def _loop_word(self) -> Resource:
        """The word that loops in batches share: none of them is within another."""
        if self._go is None:
            self._go = self._backend.allocate_resident(4)
        return self._go

    def _bind(self, handles: Mapping[str, Resource]) -> BoundGraph:
        """The graph over these handles, made at the first launch with them."""
        key = tuple(handles.values())
        bound = self._bound.get(key)
        if bound is None:
            bound = self._bound[key] = self._over(handles)
        elif len(self._bound) > 1:
            self._bound.move_to_end(key)
        while len(self._bound) > MAX_BOUND:
            self._bound.popitem(last=False)
        return bound

    def _over(self, handles: Mapping[str, Resource]) -> BoundGraph:
        resources = {**self._resources, **handles}
        builder = StepBuilder(self._graph, resources, self._words_of, self._loop_word)
        calls = builder.calls(self._graph.nodes)
        self.loops = builder.verdicts
        self._backend.precompile(programs_of(calls))
        outputs, reads = self._reads(resources)
        return BoundGraph(calls, outputs, reads)

    def _reads(
        self, resources: Mapping[str, Resource]
    ) -> tuple[tuple[tuple[str, int, np.dtype[Any], int | None, int], ...], tuple[ResidentReadRange, ...]]:
        """The outputs, and the ranges that are read: outputs that follow each other in memory are one range."""
        wanted = []
        for name, part in self._downloads:
            buffer = self._graph.buffer(part.buffer)
            wanted.append((part.buffer, part.start * buffer.dtype.size, self._graph.byte_len(part), name))
        reads: list[ResidentReadRange] = []
        place: dict[str, tuple[int, int]] = {}
        for buffer_name, start, size, name in sorted(wanted):
            resource, last = resources[buffer_name], reads[-1] if reads else None
            if not size:
                continue
            if last is not None and last.resource is resource and last.byte_offset + last.byte_len == start:
                place[name] = len(reads) - 1, last.byte_len
                reads[-1] = replace(last, byte_len=last.byte_len + size)
            else:
                place[name] = len(reads), 0
                reads.append(ResidentReadRange(resource=resource, byte_offset=start, byte_len=size))
        outputs = [
            (name, part.count, self._graph.buffer(part.buffer).dtype.numpy, *place.get(name, (None, 0)))
            for name, part in self._downloads
        ]
        return tuple(outputs), tuple(reads)


MOST_EXTRA_BYTES = 2**26
"""Device memory that launching dispatches together may take beside what the graph takes otherwise."""


def _planned(graph: Graph, *, fusion: bool) -> tuple[FlatGraph, MemoryPlan]:
    """The graph that runs, and the memory of its temporaries."""
    flat = flatten(graph)
    fused = fuse(flat) if fusion else flat
    whole = whole_buffers(fused)
    memory = _memory_of(whole)
    if not fusion or (batched := batch(fused)) is fused:
        return whole, memory
    batched = whole_buffers(batched)
    needed = _memory_of(batched)
    return (batched, needed) if needed.peak <= memory.peak + MOST_EXTRA_BYTES else (whole, memory)


def _memory_of(flat: FlatGraph) -> MemoryPlan:
    graph = flat.graph
    movable = replace(graph, buffers=tuple([b for b in graph.buffers if b.name not in flat.constants]))
    return plan_memory(movable, [part for _, part in flat.downloads])


def _uploads(graph: Graph, flat: FlatGraph) -> tuple[list[str], list[PackedUpload]]:
    """The inputs that have a buffer of their own, and those that are parts of others."""
    alone: list[str] = []
    packed: dict[str, PackedUpload] = {}
    for buffer in graph.of(BufferKind.INPUT):
        part = flat.parts.get(buffer.name)
        if part is None:
            alone.append(buffer.name)
            continue
        if part.buffer not in packed:
            contents = np.zeros(flat.graph.buffer(part.buffer).byte_len, np.uint8)
            packed[part.buffer] = PackedUpload(part.buffer, contents, [])
        packed[part.buffer].inputs.append((buffer.name, part.start * buffer.dtype.size))
    return alone, list(packed.values())


def _dispatches(graph: Graph) -> tuple[str, ...]:
    return tuple([node.name for node in walk(graph.nodes) if isinstance(node, DispatchNode)])
