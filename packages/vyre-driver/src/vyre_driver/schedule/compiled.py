"""Graphs that are ready to run on one backend."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentReadRange, Resource
from vyre_driver.backend.typed import array_bytes
from vyre_driver.errors import BackendError, DeviceOutOfMemory, InvalidInput, StaleHandle, UnsupportedFeature
from vyre_driver.graph.evaluate import evaluate, failed_at
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.fuse import fuse
from vyre_driver.graph.nodes import BufferKind, DispatchNode, Graph, GraphBuffer, walk
from vyre_driver.graph.ranges import declaration, plan_dispatch, written_buffers
from vyre_driver.plan.admission import admit, validate_program_for_backend
from vyre_driver.policy.loop import MOST_ITERATIONS, LoopVerdict
from vyre_driver.schedule.memory import MemoryPlan, plan_memory
from vyre_driver.schedule.pending import LaunchThread, PendingGraph
from vyre_driver.schedule.steps import BatchedLoop, DispatchCall, ExecutableCall, HostLoop, SequenceCall, StepBuilder
from vyre_driver.schedule.whole import whole_buffers

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.backend.typed import Array

    Bytes = npt.NDArray[np.uint8]

MAX_BOUND = 8
"""Sets of resident handles whose calls are kept."""


class GraphExecutor(Protocol):
    """Runs one graph on one backend."""

    name: str
    """What `CompiledGraph.executor` says."""
    reason: str
    """Why this one was chosen."""
    dispatches: tuple[str, ...]
    """What `CompiledGraph.dispatches` says."""
    loops: Mapping[str, LoopVerdict]
    """What `CompiledGraph.loops` says."""

    def run(self, arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
        """Run the graph once: the outputs by name."""

    def close(self) -> None:
        """Give back device memory."""


class CompiledGraph:
    """A graph that is admitted by one backend and has its memory. Made by `compile_graph`.

    Launches run one after another. They share the memory of inputs and temporaries, so a launch allocates nothing.
    """

    def __init__(self, graph: Graph, backend: VyreBackend, executor: GraphExecutor) -> None:
        self.graph, self.backend, self._executor = graph, backend, executor
        self._lock = threading.Lock()
        self._thread = LaunchThread(f"vyre graph {graph.name}")
        self._pending: weakref.WeakSet[PendingGraph] = weakref.WeakSet()
        self._ended = weakref.finalize(self, self._thread.end)
        self._ended.atexit = False
        self._written = written_buffers(graph)

    def __repr__(self) -> str:
        return f"<CompiledGraph {self.graph.name!r} on {self.backend.id()!r} by {self.executor!r}>"

    @property
    def executor(self) -> str:
        """Which executor runs it: "queue" or "host"."""
        return self._executor.name

    @property
    def reason(self) -> str:
        """Why that executor was chosen."""
        return self._executor.reason

    @property
    def dispatches(self) -> tuple[str, ...]:
        """The dispatches that a launch runs, by the names of their nodes, with "+" between those that are fused."""
        return self._executor.dispatches

    @property
    def loops(self) -> Mapping[str, LoopVerdict]:
        """For each loop with a flag, whether it is enqueued in batches and why; known after the first launch."""
        return self._executor.loops

    def launch(self, inputs: Mapping[str, object] | None = None, /, **arrays: object) -> PendingGraph:
        """Begin a launch; the call does not wait for the device.

        Args:
            inputs: The inputs by name, for names that keywords cannot have.
            **arrays: An array for each input of the graph, and a handle of this backend for each resident buffer.
                Arrays may not change before the launch has ended.

        Returns:
            A handle; its `result` is the outputs by name.

        Raises:
            InvalidInput: An input, which the error names, is missing, unknown, or of another type or length.
            StaleHandle: A handle is not one of this backend.
        """
        given, handles = self._checked({**({} if inputs is None else inputs), **arrays})
        pending = PendingGraph(self.backend.id())
        executor, lock = self._executor, self._lock

        def run() -> dict[str, Array]:
            with lock:
                return executor.run(given, handles)

        self._pending.add(pending)
        self._thread.submit(pending, run)
        return pending

    def run(self, inputs: Mapping[str, object] | None = None, /, **arrays: object) -> dict[str, Array]:
        """Launch and wait, as `launch(…).result()` does, on this thread.

        Args:
            inputs: As for `launch`.
            **arrays: As for `launch`.

        Returns:
            The outputs by name.
        """
        if any(not pending.is_ready() for pending in tuple(self._pending)):
            return self.launch(inputs, **arrays).result()
        given, handles = self._checked({**({} if inputs is None else inputs), **arrays})
        with self._lock:
            return self._executor.run(given, handles)

    def close(self) -> None:
        """Wait for launches that have begun, and give back the device memory. Calling it again does nothing."""
        for pending in tuple(self._pending):
            pending.wait()
        with self._lock:
            self._executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ── what a launch is given ───────────────────────────────────────────────────────────────────────────────────────

    def _checked(self, given: Mapping[str, object]) -> tuple[dict[str, Bytes], dict[str, Resource]]:
        inputs, residents = self.graph.of(BufferKind.INPUT), self.graph.of(BufferKind.RESIDENT)
        declared = {buffer.name: buffer for buffer in (*inputs, *residents)}
        for name in given:
            if name not in declared:
                needed = f"one of {', '.join(declared) or 'no names: the graph has no inputs'}"
                raise InvalidInput(name, needed=needed, got="a name that the graph has no input of")
        for name, buffer in declared.items():
            if name not in given:
                needed = (
                    f"{'an array' if buffer.kind is BufferKind.INPUT else 'a handle'} of {buffer.count} {buffer.dtype}"
                )
                raise InvalidInput(
                    name, needed=needed, got="nothing", fix="pass something for every input of the graph"
                )
        arrays = {buffer.name: _bytes(buffer, given[buffer.name]) for buffer in inputs}
        handles = {buffer.name: self._handle(buffer, given[buffer.name]) for buffer in residents}
        self._require_apart(handles)
        return arrays, handles

    def _handle(self, buffer: GraphBuffer, given: object) -> Resource:
        if not isinstance(given, Resource):
            fix = "pass what allocate_resident of this backend returned"
            raise InvalidInput(buffer.name, needed="a handle of resident memory", got=type(given).__name__, fix=fix)
        if given.backend != self.backend.id():
            reason = f"it belongs to backend {given.backend!r}, the graph runs on {self.backend.id()!r}"
            fix = "allocate it with the backend of the graph, or download it and pass an input"
            raise StaleHandle(f"the handle for buffer {buffer.name!r}", reason, fix=fix)
        if given.byte_len != buffer.byte_len:
            needed = f"{buffer.byte_len} bytes ({buffer.count} elements of {buffer.dtype})"
            fix = "allocate memory of that size, or declare the buffer with its length"
            raise InvalidInput(buffer.name, needed=needed, got=f"{given.byte_len} bytes", fix=fix)
        return given

    def _require_apart(self, handles: Mapping[str, Resource]) -> None:
        names: dict[Resource, str] = {}
        for name, handle in handles.items():
            other = names.setdefault(handle, name)
            if other != name and {name, other} & self._written:
                needed = f"memory apart from {other!r}: the graph writes to one of the two"
                raise InvalidInput(name, needed=needed, got=f"the handle of {other!r}", fix="allocate another resource")


def compile_graph(graph: Graph, backend: VyreBackend, *, fusion: bool = True) -> CompiledGraph:
    """Prepare a graph for one backend: everything that can be refused is refused here, before anything runs.

    Args:
        graph: The graph.
        backend: Where it runs. One without resident memory runs it through host memory.
        fusion: Whether dispatches may be fused where that is proven to give the same bytes.

    Returns:
        The graph with its memory allocated and its constants uploaded.

    Raises:
        InvalidGraph: With all findings.
        UnsupportedFeature: The backend cannot run a node, which the error names with the line that recorded it.
        DeviceOutOfMemory: The buffers do not fit; the message has both numbers.
    """
    graph.validate()
    try:
        backend.allocate_resident(1).end()
    except UnsupportedFeature as error:  # of the two required methods, or little more: a dispatch checks its program
        if graph.of(BufferKind.RESIDENT):
            raise
        return CompiledGraph(graph, backend, HostExecutor(graph, backend, error.message))
    _admit(graph, backend)
    return CompiledGraph(graph, backend, QueueExecutor(graph, backend, fusion=fusion))


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
        self._bound: OrderedDict[tuple[Resource, ...], tuple[ExecutableCall, ...]] = OrderedDict()
        _require_memory(graph, self.memory, sum(map(len, flat.constants.values())), backend)
        self._resources = self._allocated()

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
        calls = self._calls(handles)
        self._backend.upload_resident_many([(self._resources[name], data) for name, data in arrays.items()])
        resources = {**self._resources, **handles}
        ranges, targets = [], {}
        for name, part in self._downloads:
            buffer, size = self._graph.buffer(part.buffer), self._graph.byte_len(part)
            targets[name] = np.empty(part.count, buffer.dtype.numpy)
            if size:
                at = part.start * buffer.dtype.size
                ranges.append((ResidentReadRange(resource=resources[part.buffer], byte_offset=at, byte_len=size), name))
        read, into = [part for part, _ in ranges], [targets[name].view(np.uint8) for _, name in ranges]
        if calls and isinstance(calls[-1], SequenceCall):
            self._run(calls[:-1])
            self._sequence(calls[-1], read, into)
        else:
            self._run(calls)
            self._backend.download_resident_ranges_into(read, into)
        return targets

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

    def _calls(self, handles: Mapping[str, Resource]) -> tuple[ExecutableCall, ...]:
        """The calls over these handles, made at the first launch with them."""
        key = tuple(handles.values())
        calls = self._bound.get(key)
        if calls is None:
            builder = StepBuilder(self._graph, {**self._resources, **handles}, self._words_of, self._loop_word)
            calls = self._bound[key] = builder.calls(self._graph.nodes)
            self.loops = builder.verdicts
        self._bound.move_to_end(key)
        while len(self._bound) > MAX_BOUND:
            self._bound.popitem(last=False)
        return calls


def _dispatches(graph: Graph) -> tuple[str, ...]:
    return tuple([node.name for node in walk(graph.nodes) if isinstance(node, DispatchNode)])


def _admit(graph: Graph, backend: VyreBackend) -> None:
    """Refuse what the backend cannot run, with the name of the node and the line that recorded it."""
    profile = backend.device_profile()
    for node in walk(flatten(graph).graph.nodes):
        if isinstance(node, DispatchNode):
            try:
                validate_program_for_backend(backend, node.program, node.config)
                admit(plan_dispatch(node.program, dict(node.ranges), node.config), node.config, profile)
            except BackendError as error:
                raise failed_at(error, node.name, node) from None


def _require_memory(graph: Graph, memory: MemoryPlan, constants: int, backend: VyreBackend) -> None:
    """Refuse a graph whose memory is more than that of the device, or one of whose buffers is too large for it."""
    profile = backend.device_profile()
    inputs = sum(buffer.byte_len for buffer in graph.of(BufferKind.INPUT))
    needed, place = inputs + memory.peak + constants, f"graph {graph.name!r}"
    if profile.global_memory_bytes is not None and needed > profile.global_memory_bytes:
        parts = f"{inputs} of inputs, {memory.peak} of temporaries, {constants} of constants"
        fix = f"use smaller buffers, or split the graph ({parts})"
        raise DeviceOutOfMemory(needed, profile.global_memory_bytes, fix=fix, where=place)
    most = profile.max_storage_buffer_binding_size
    for buffer in graph.buffers:
        if most is not None and buffer.byte_len > most:
            line = "" if buffer.origin is None else f" ({buffer.origin})"
            where = f"{place}, buffer {buffer.name!r}{line}"
            what = f"a buffer of {buffer.byte_len} bytes (at most {most})"
            raise UnsupportedFeature(what, backend=profile.backend, fix="use smaller buffers", where=where)


def _bytes(buffer: GraphBuffer, given: object) -> Bytes:
    contents = array_bytes(declaration(buffer), given)
    if contents.nbytes != buffer.byte_len:
        needed = f"{buffer.count} elements of {buffer.dtype}"
        got = f"{contents.nbytes // buffer.dtype.size} elements"
        raise InvalidInput(
            buffer.name, needed=needed, got=got, fix="pass that many, or record the graph for this length"
        )
    return contents
