"""Executors of graphs: in order over resident memory, or by one dispatch after another."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentReadRange, ResidentWave, Resource
from vyre_driver.errors import BackendError, LaunchCancelled, StaleHandle
from vyre_driver.graph.batch import batch
from vyre_driver.graph.evaluate import evaluate, failed_at
from vyre_driver.graph.flatten import FlatGraph, flatten
from vyre_driver.graph.fuse import fuse
from vyre_driver.graph.nodes import BufferKind, BufferRange, DispatchNode, Graph, walk
from vyre_driver.graph.split import parts_of, split
from vyre_driver.policy.loop import LoopVerdict, batches
from vyre_driver.schedule.choice import FormVerdict, GraphForm
from vyre_driver.schedule.memory import MemoryPlan, plan_memory, require_memory
from vyre_driver.schedule.steps import (
    BatchedLoop,
    DispatchCall,
    ExecutableCall,
    HostLoop,
    NodeStep,
    SequenceCall,
    StepBuilder,
    programs_of,
)
from vyre_driver.schedule.waves import Wave, in_waves
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

    stopped: Callable[[], bool]
    """Whether a launch is to end before its next call of the backend, by `LaunchCancelled`."""

    @property
    def verdict(self) -> FormVerdict | None:
        """What `CompiledGraph.verdict` says."""

    @property
    def loops(self) -> Mapping[str, LoopVerdict]:
        """What `CompiledGraph.loops` says."""

    def run(self, arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
        """Run the graph once: the outputs by name."""

    def close(self) -> None:
        """Give back device memory."""


def require_going(graph: Graph, stopped: Callable[[], bool]) -> None:
    """End a launch that is cancelled."""
    if stopped():
        raise LaunchCancelled(graph.name)


class HostExecutor:
    """One dispatch after another over host memory: for backends that keep nothing on a device."""

    name = "host"
    verdict: FormVerdict | None = None

    def __init__(self, graph: Graph, backend: VyreBackend, reason: str) -> None:
        self._graph, self._backend, self.reason = graph, backend, reason
        self.stopped: Callable[[], bool] = lambda: False
        self.dispatches = _dispatches(flatten(graph).graph)
        self.loops: Mapping[str, LoopVerdict] = {}

    def run(self, arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
        """See `GraphExecutor.run`; there are no handles."""
        require_going(self._graph, self.stopped)
        outputs = evaluate(self._graph, self._backend, arrays)
        types = {node.output: self._graph.buffer(node.source.buffer).dtype.numpy for node in self._graph.outputs}
        return {name: contents.view(types[name]) for name, contents in outputs.items()}

    def close(self) -> None:
        """Nothing: there is no device memory."""


@dataclass(frozen=True, slots=True)
class BoundOutput:
    """An output: its pieces, each the bytes from `start` on that are those of a read range from `at` on."""

    name: str
    count: int
    dtype: np.dtype[Any]
    pieces: tuple[OutputPiece, ...]


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """`byte_len` bytes of an output from `start` on: those of the read range of the number `read` from `at` on."""

    read: int
    at: int
    start: int
    byte_len: int


@dataclass(frozen=True, slots=True)
class BoundWave:
    """A wave over memory: the buffers to upload, steps, and the numbers of the ranges that are read after them."""

    uploads: tuple[str, ...]
    steps: tuple[NodeStep, ...]
    reads: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BoundGraph:
    """The calls of a graph over its memory, or its waves; the ranges that are read, and the outputs."""

    calls: tuple[ExecutableCall, ...]
    outputs: tuple[BoundOutput, ...]
    reads: tuple[ResidentReadRange, ...]
    waves: tuple[BoundWave, ...] = ()


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
    """Sequences over resident memory, enqueued and waited for once: all nodes in recorded order, or in waves."""

    def __init__(self, graph: Graph, backend: VyreBackend, verdict: FormVerdict) -> None:
        planned = plan_graph(graph, verdict)
        flat, self.memory = planned.flat, planned.memory
        self._graph, self._backend, self._flat, self._waves = flat.graph, backend, flat, planned.waves
        self._constants = flat.constants
        self._lasting = _lasting(flat)
        self._inputs, self._packed = _uploads(graph, flat)
        self.name, self.reason, self.verdict = "waves" if planned.waves else "queue", planned.reason, verdict
        self.dispatches = _dispatches(flat.graph)
        self._words: dict[bytes, Resource] = {}
        self._go: Resource | None = None
        self._iterations: dict[str, deque[int]] = {}  # of the last runs of each loop
        self.stopped: Callable[[], bool] = lambda: False
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
        require_going(self._graph, self.stopped)
        bound = self._bind(handles)
        outputs, targets = _targets(bound)
        for packed in self._packed:
            packed.fill(arrays)
        uploads = {buffer: arrays[name][part] for buffer, name, part in self._inputs}
        uploads.update((packed.buffer, packed.contents) for packed in self._packed)
        if bound.waves:
            self._in_waves(bound, uploads, targets)
            return outputs
        if uploads:
            self._backend.upload_resident_many([(self._resources[name], data) for name, data in uploads.items()])
        last = bound.calls[-1] if bound.calls else None
        if isinstance(last, SequenceCall):
            self._run(bound.calls[:-1])
            self._sequence(last, bound.reads, targets)
        else:
            self._run(bound.calls)
            if targets:
                self._backend.download_resident_ranges_into(bound.reads, targets)
        return outputs

    def _in_waves(self, bound: BoundGraph, uploads: Mapping[str, Bytes], targets: Sequence[Bytes]) -> None:
        waves = [
            ResidentWave(
                uploads=[(self._resources[name], uploads[name]) for name in wave.uploads],
                steps=[step.step for step in wave.steps],
                ranges=[bound.reads[number] for number in wave.reads],
                targets=[targets[number] for number in wave.reads],
            )
            for wave in bound.waves
        ]
        try:
            self._backend.dispatch_resident_waves(waves)
        except BackendError as error:
            self._fail(SequenceCall(tuple([step for wave in bound.waves for step in wave.steps])), error)

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
        """Batches of iterations, until one leaves 0 in the word of the loop."""
        part, words = ResidentReadRange(resource=loop.go, byte_offset=0, byte_len=8), np.empty(2, np.uint32)
        earlier, once = self._iterations.setdefault(loop.node.name, deque(maxlen=2)), loop.once
        for times in batches(loop.node.limit, earlier):
            self._sequence(SequenceCall(once, loop.iteration, times), [part], [words.view(np.uint8)])
            once = ()
            if not words[0]:
                break
        earlier.append(int(words[1]))

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
        require_going(self._graph, self.stopped)
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
        """The words that loops in batches share: none of them is within another."""
        if self._go is None:
            self._go = self._backend.allocate_resident(8)
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
        builder = StepBuilder(self._graph, resources, self._words_of, self._loop_word, self._lasting)
        outputs, reads, buffers = self._reads(resources)
        calls = [builder.calls(wave.nodes) for wave in self._waves] or [builder.calls(self._graph.nodes)]
        self.loops = builder.verdicts
        self._backend.precompile(programs_of([call for some in calls for call in some]))
        if not self._waves:
            return BoundGraph(calls[0], outputs, reads)
        waves = []
        for wave, some in zip(self._waves, calls, strict=True):
            steps = [step for call in some if isinstance(call, SequenceCall) for step in call.once]
            read = [number for number, name in enumerate(buffers) if name in wave.outputs]
            waves.append(BoundWave(tuple(wave.inputs), tuple(steps), tuple(read)))
        return BoundGraph((), outputs, reads, tuple(waves))

    def _reads(
        self, resources: Mapping[str, Resource]
    ) -> tuple[tuple[BoundOutput, ...], tuple[ResidentReadRange, ...], list[str]]:
        """The outputs, the ranges that are read, and their buffers.

        Outputs that follow each other in memory are one range. Those whose parts are in several buffers have ranges of
        their own.
        """
        parts = {name: list(parts_of(self._flat, part)) for name, part in self._flat.downloads}
        alone = [(found[0][0], name) for name, found in parts.items() if len(found) == 1]
        pieces: dict[str, list[OutputPiece]] = {name: [] for name in parts}
        reads: list[ResidentReadRange] = []
        buffers: list[str] = []
        for part, name in sorted(alone):
            size = self._graph.buffer(part.buffer).dtype.size
            start, byte_len = part.start * size, part.count * size
            last, resource = reads[-1] if reads else None, resources[part.buffer]
            if not byte_len:
                continue
            if last is not None and last.resource is resource and last.byte_offset + last.byte_len == start:
                pieces[name].append(OutputPiece(len(reads) - 1, last.byte_len, 0, byte_len))
                reads[-1] = replace(last, byte_len=last.byte_len + byte_len)
            else:
                pieces[name].append(OutputPiece(len(reads), 0, 0, byte_len))
                reads.append(ResidentReadRange(resource=resource, byte_offset=start, byte_len=byte_len))
                buffers.append(part.buffer)
        for name, found in parts.items():
            for part, at in found if len(found) > 1 else ():
                size = self._graph.buffer(part.buffer).dtype.size
                start, byte_len = part.start * size, part.count * size
                pieces[name].append(OutputPiece(len(reads), 0, at * size, byte_len))
                reads.append(ResidentReadRange(resource=resources[part.buffer], byte_offset=start, byte_len=byte_len))
                buffers.append(part.buffer)
        outputs = []
        for name, part in self._flat.downloads:
            dtype = self._dtype(part)
            outputs.append(BoundOutput(name, part.count, dtype, tuple(pieces[name])))
        return tuple(outputs), tuple(reads), buffers

    def _dtype(self, part: BufferRange) -> np.dtype[Any]:
        split = self._flat.splits.get(part.buffer)
        return self._graph.buffer(part.buffer if split is None else str(split[0])).dtype.numpy


def _targets(bound: BoundGraph) -> tuple[dict[str, Array], list[Bytes]]:
    """New arrays for the outputs, and the bytes that each range is read into."""
    targets: list[Bytes] = [_NOTHING] * len(bound.reads)
    outputs: dict[str, Array] = {}
    for output in bound.outputs:
        if len(output.pieces) == 1:
            (piece,) = output.pieces
            if targets[piece.read] is _NOTHING:
                targets[piece.read] = np.empty(bound.reads[piece.read].byte_len, np.uint8)
            outputs[output.name] = targets[piece.read][piece.at : piece.at + piece.byte_len].view(output.dtype)
            continue
        array = outputs[output.name] = np.empty(output.count, output.dtype)
        for piece in output.pieces:
            targets[piece.read] = array.view(np.uint8)[piece.start : piece.start + piece.byte_len]
    return outputs, targets


_NOTHING = np.empty(0, np.uint8)


MOST_EXTRA_BYTES = 2**26
"""Device memory that launching dispatches together may take beside what the graph takes otherwise."""


@dataclass(frozen=True, slots=True)
class PlannedGraph:
    """The graph that runs, the memory of its temporaries, its waves, and why it has or has not some."""

    flat: FlatGraph
    memory: MemoryPlan
    waves: tuple[Wave, ...]
    reason: str

    def is_like(self, other: PlannedGraph) -> bool:
        """Whether both run the same."""
        return (self.flat.graph, self.flat.downloads) == (other.flat.graph, other.flat.downloads) and [
            (wave.inputs, wave.nodes) for wave in self.waves
        ] == [(wave.inputs, wave.nodes) for wave in other.waves]


def plan_graph(graph: Graph, verdict: FormVerdict) -> PlannedGraph:
    """Rewrite a valid graph into what a backend runs."""
    form = verdict.form
    flat, memory = _planned(graph, form)
    if not form.overlap:
        return PlannedGraph(flat, memory, (), f"all of it is enqueued at once: {verdict.reason}")
    ordered, waves, reason = in_waves(flat)
    if not waves:
        return PlannedGraph(flat, memory, (), f"all of it is enqueued at once: {reason}")
    return PlannedGraph(ordered, _memory_of(ordered), waves, f"{reason}: {verdict.reason}")


def _planned(graph: Graph, form: GraphForm) -> tuple[FlatGraph, MemoryPlan]:
    """The graph that runs in recorded order, and the memory of its temporaries."""
    flat = flatten(graph)
    fused = fuse(flat) if form.fusion else flat
    whole = whole_buffers(split(fused))
    memory = _memory_of(whole)
    if not form.batching or (batched := batch(fused)) is fused:
        return whole, memory
    batched = whole_buffers(split(batched))
    needed = _memory_of(batched)
    return (batched, needed) if needed.peak <= memory.peak + MOST_EXTRA_BYTES else (whole, memory)


def _memory_of(flat: FlatGraph) -> MemoryPlan:
    graph = flat.graph
    movable = replace(graph, buffers=tuple([b for b in graph.buffers if b.name not in flat.constants]))
    return plan_memory(movable, _lasting(flat))


def _lasting(flat: FlatGraph) -> list[str]:
    """The buffers that are read after the last node."""
    return [own.buffer for _, part in flat.downloads for own, _ in parts_of(flat, part)]


def _uploads(graph: Graph, flat: FlatGraph) -> tuple[list[tuple[str, str, slice]], list[PackedUpload]]:
    """The buffers that are an input or the bytes of a part of one, and those that are several inputs."""
    alone: list[tuple[str, str, slice]] = []
    packed: dict[str, PackedUpload] = {}
    for buffer in graph.of(BufferKind.INPUT):
        part, size = flat.parts.get(buffer.name), buffer.dtype.size
        if part is None:
            for own, at in parts_of(flat, BufferRange(buffer.name, 0, buffer.count)):
                alone.append((own.buffer, buffer.name, slice(at * size, (at + own.count) * size)))
            continue
        if part.buffer not in packed:
            contents = np.zeros(flat.graph.buffer(part.buffer).byte_len, np.uint8)
            packed[part.buffer] = PackedUpload(part.buffer, contents, [])
        packed[part.buffer].inputs.append((buffer.name, part.start * size))
    return alone, list(packed.values())


def _dispatches(graph: Graph) -> tuple[str, ...]:
    return tuple([node.name for node in walk(graph.nodes) if isinstance(node, DispatchNode)])
