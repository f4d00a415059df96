"""Executors of graphs: in order over resident memory, or by one dispatch after another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentReadRange, Resource
from vyre_driver.errors import BackendError, StaleHandle
from vyre_driver.graph.evaluate import evaluate, failed_at
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.fuse import fuse
from vyre_driver.graph.nodes import BufferKind, DispatchNode, Graph, walk
from vyre_driver.policy.loop import MOST_ITERATIONS, LoopVerdict
from vyre_driver.schedule.memory import plan_memory, require_memory
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
    """The calls of a graph over its memory, and its outputs: name, count and type of each.

    `reads` are the ranges of those with elements, whose names are `read_names`.
    """

    calls: tuple[ExecutableCall, ...]
    outputs: tuple[tuple[str, int, np.dtype[Any]], ...]
    read_names: tuple[str, ...]
    reads: tuple[ResidentReadRange, ...]


class QueueExecutor:
    """All nodes in recorded order over resident memory, as sequences that are enqueued and waited for once."""

    name = "queue"

    def __init__(self, graph: Graph, backend: VyreBackend, *, fusion: bool) -> None:
        flat = flatten(graph)
        flat = whole_buffers(fuse(flat) if fusion else flat)
        self._graph, self._backend = flat.graph, backend
        self._downloads, self._constants = flat.downloads, flat.constants
        movable = Graph(
            graph.name, tuple(b for b in flat.graph.buffers if b.name not in flat.constants), flat.graph.nodes
        )
        self.memory = plan_memory(movable, [part for _, part in flat.downloads])
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
            self._backend.upload_resident_many([(self._resources[name], data) for name, data in arrays.items()])
        outputs = {name: np.empty(count, dtype) for name, count, dtype in bound.outputs}
        targets = [outputs[name].view(np.uint8) for name in bound.read_names]
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
        reads: dict[str, ResidentReadRange] = {}
        outputs = []
        for name, part in self._downloads:
            buffer, size = self._graph.buffer(part.buffer), self._graph.byte_len(part)
            outputs.append((name, part.count, buffer.dtype.numpy))
            if size:
                at = part.start * buffer.dtype.size
                reads[name] = ResidentReadRange(resource=resources[part.buffer], byte_offset=at, byte_len=size)
        return BoundGraph(calls, tuple(outputs), tuple(reads), tuple(reads.values()))


def _dispatches(graph: Graph) -> tuple[str, ...]:
    return tuple([node.name for node in walk(graph.nodes) if isinstance(node, DispatchNode)])
