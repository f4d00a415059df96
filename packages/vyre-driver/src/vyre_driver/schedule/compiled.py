"""Graphs that are compiled for one backend."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, runtime_checkable

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentArray, Resource, first_overlap
from vyre_driver.backend.typed import array_bytes
from vyre_driver.errors import BackendError, InvalidInput, StaleHandle, UnsupportedFeature
from vyre_driver.graph.evaluate import failed_at
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.nodes import BufferKind, DispatchNode, Graph, GraphBuffer, walk
from vyre_driver.graph.ranges import declaration, plan_dispatch, written_buffers
from vyre_driver.plan.admission import admit, validate_program_for_backend
from vyre_driver.plan.axes import shape_of
from vyre_driver.policy.loop import LoopVerdict
from vyre_driver.schedule.choice import FormVerdict, GraphForm, choose_form, rule
from vyre_driver.schedule.executors import GraphExecutor, HostExecutor, QueueExecutor
from vyre_driver.schedule.pending import LaunchThread, PendingGraph
from vyre_driver.schedule.placed import PlacedExecutor, place_graph, require_placement
from vyre_foundation.build.arguments import shown
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.locks import ForkGuard
from vyre_foundation.markup import folded, fragment, table
from vyre_foundation.text.highlight import highlighted

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.backend.typed import Array

    Bytes = npt.NDArray[np.uint8]


@runtime_checkable
class GraphWatcher(Protocol):
    """A backend that observes each launch of a graph."""

    def watch_graph(self, name: str, input_bytes: int, run: Callable[[], Any]) -> Any:
        """Return the result of `run`, which is one launch of the graph with this name."""
        ...


class CompiledGraph:
    """A graph that is compiled for one backend, with its memory. Made by `compile_graph`.

    Launches run one after another. They share the memory of inputs and temporaries, so a launch allocates nothing.
    """

    def __init__(self, graph: Graph, backend: VyreBackend, executor: GraphExecutor) -> None:
        self.graph, self.backend, self._executor = graph, backend, executor
        self._run = self._watched(backend) if isinstance(backend, GraphWatcher) else executor.run
        self._guard = ForkGuard()
        self._thread = LaunchThread(f"vyre graph {graph.name}")
        self._pending: weakref.WeakSet[PendingGraph] = weakref.WeakSet()
        self._ended = weakref.finalize(self, self._thread.end)
        self._ended.atexit = False
        self._written = written_buffers(graph)
        self._inputs = [(buffer, declaration(buffer)) for buffer in graph.of(BufferKind.INPUT)]
        self._residents = graph.of(BufferKind.RESIDENT)
        self._names = {buffer.name for buffer in graph.buffers if buffer.kind is not BufferKind.TEMPORARY}
        self._undefined_after_failure = tuple([b.name for b in self._residents if b.name in self._written])

    def __repr__(self) -> str:
        return f"<CompiledGraph {self.graph.name!r} on {self.backend.id()!r} by {self.executor!r}>"

    def __reduce__(self) -> NoReturn:
        fix = "pickle its `graph`, and call vyre_driver.compile_graph(graph, backend) there"
        raise TypeError(f"{self!r} is compiled for a device that is open in this process. Fix: {fix}")

    def _repr_html_(self) -> str:
        rows: list[tuple[str, str]] = [
            ("backend", self.backend.id()),
            ("executor", f"{self.executor}: {self.reason}"),
            ("dispatches", ", ".join(self.dispatches)),
        ]
        rows += [(f"loop {name}", loop.reason) for name, loop in self.loops.items()]
        text = folded("recorded", highlighted(str(self.graph), hashes=False))
        return fragment(f"compiled graph {self.graph.name}", f"on {self.backend.id()}", table((), rows), text)

    @property
    def executor(self) -> str:
        """The executor: "queue", "waves", "host" or "devices"."""
        return self._executor.name

    @property
    def reason(self) -> str:
        """The reason for the choice of the executor."""
        return self._executor.reason

    @property
    def verdict(self) -> FormVerdict | None:
        """The decision about fusion and overlap, with measurements; None for "host" and "devices"."""
        return self._executor.verdict

    @property
    def dispatches(self) -> tuple[str, ...]:
        """The dispatches of a launch by the names of their nodes, joined by "+" if they are fused."""
        return self._executor.dispatches

    @property
    def loops(self) -> Mapping[str, LoopVerdict]:
        """For each loop with a flag, whether it is enqueued in batches, and the reason.

        For a graph with resident buffers, it is known after the first launch.
        """
        return self._executor.loops

    def launch(self, inputs: Mapping[str, object] | None = None, /, **arrays: object) -> PendingGraph:
        """Submit a launch, without waiting for the device.

        Args:
            inputs: The inputs by name, for names that keywords cannot have.
            **arrays: An array for each input of the graph; for each resident buffer a `DeviceArray` of this backend,
                which is used in place, or a handle. Arrays may not change before the launch has ended.

        Returns:
            A handle; its `result` is the outputs by name.

        Raises:
            InvalidInput: An input, which the error names, is missing, unknown, or of another type or length.
            StaleHandle: A handle is not one of this backend.
        """
        named = _named(inputs, arrays)
        given, handles = self._checked(named)
        pending = PendingGraph(self.backend.id())
        guard, shaped = self._guard, self._shaped
        execute = partial(_execute, self._run, self._executor, self._undefined_after_failure)

        def run() -> dict[str, Array]:
            with guard.lock:
                outputs = shaped(execute(given, handles, pending.is_cancelled))
            named.clear()  # arrays of a device, whose memory is used again when they end, live as long
            return outputs

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
        if self._pending and any(not pending.is_ready() for pending in tuple(self._pending)):
            return self.launch(inputs, **arrays).result()
        given, handles = self._checked(_named(inputs, arrays))
        with self._guard.lock:
            run = _execute(self._run, self._executor, self._undefined_after_failure, given, handles, _never)
            return self._shaped(run)

    def close(self) -> None:
        """Wait for submitted launches, and free the device memory. A second call does nothing."""
        for pending in tuple(self._pending):
            pending.wait()
        with self._guard.lock:
            self._executor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _watched(
        self, watcher: GraphWatcher
    ) -> Callable[[Mapping[str, Bytes], Mapping[str, Resource]], dict[str, Array]]:
        """The executor's `run`, of which the backend is told."""
        name, run = self.graph.name, self._executor.run

        def watched(arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
            size = sum(array.nbytes for array in arrays.values())
            outputs: dict[str, Array] = watcher.watch_graph(name, size, lambda: run(arrays, handles))
            return outputs

        return watched

    def _shaped(self, outputs: dict[str, Array]) -> dict[str, Array]:
        """The outputs in the shapes of the ranges that they were recorded from."""
        for name, shape in self.graph.output_shapes.items():
            outputs[name] = outputs[name].reshape(shape)
        return outputs

    # ── what a launch is given ───────────────────────────────────────────────────────────────────────────────────────

    def _checked(self, given: Mapping[str, object]) -> tuple[dict[str, Bytes], dict[str, Resource]]:
        if given.keys() != self._names:
            self._refuse_names(given)
        for name, shape in self.graph.input_shapes.items():
            if not isinstance(given[name], Resource) and shape_of(name, given[name]) != shape:
                needed, got = f"an array of the shape {shape}", f"one of {shape_of(name, given[name])}"
                is_structures = isinstance(getattr(given[name], "units", None), ResidentArray)
                fix = f"pass its units, as in {name}.units" if is_structures else "pass an array of the declared shape"
                raise InvalidInput(name, needed=needed, got=got, fix=fix)
        arrays = {buffer.name: _bytes(buffer, declared, given[buffer.name]) for buffer, declared in self._inputs}
        handles = {buffer.name: self._handle(buffer, given[buffer.name]) for buffer in self._residents}
        self._require_apart(handles)
        return arrays, handles

    def _refuse_names(self, given: Mapping[str, object]) -> NoReturn:
        declared = [buffer for buffer in self.graph.buffers if buffer.kind is not BufferKind.TEMPORARY]
        names = [buffer.name for buffer in declared]
        for name in given:
            if name not in names:
                needed = f"one of {', '.join(names) or 'no names: the graph has no inputs'}"
                raise InvalidInput(name, needed=needed, got="a name that the graph has no input of")
        missing = next(buffer for buffer in declared if buffer.name not in given)
        kind = "an array" if missing.kind is BufferKind.INPUT else "a handle"
        needed, fix = f"{kind} of {missing.count} {missing.dtype}", "pass something for every input of the graph"
        raise InvalidInput(missing.name, needed=needed, got="nothing", fix=fix)

    def _handle(self, buffer: GraphBuffer, given: object) -> Resource:
        if isinstance(given, ResidentArray):
            given = _resource(buffer, given)
        if not isinstance(given, Resource):
            fix = "pass an array of this backend, or what its allocate_resident returned"
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
        names, resources = list(handles), list(handles.values())
        found = first_overlap(resources, [name in self._written for name in names], self.backend.export_resident)
        if found is not None:
            other, name = (names[n] for n in found)
            needed = f"memory apart from {other!r}: the graph writes to one of the two"
            got = f"the {'handle' if handles[other] == handles[name] else 'memory'} of {other!r}"
            raise InvalidInput(name, needed=needed, got=got, fix="allocate another resource")


def _named(inputs: object, arrays: Mapping[str, object]) -> dict[str, object]:
    """The inputs of a launch by name."""
    if inputs is None:
        return dict(arrays)
    if not isinstance(inputs, Mapping):
        fix = "pass each array by its name, as in run(x=array)"
        raise InvalidInput("inputs", needed="a mapping of names to arrays", got=shown(inputs), fix=fix)
    return {**inputs, **arrays}


def _never() -> bool:
    return False


def _execute(
    run: Callable[[Mapping[str, Bytes], Mapping[str, Resource]], dict[str, Array]],
    executor: GraphExecutor,
    undefined: Sequence[str],
    arrays: Mapping[str, Bytes],
    handles: Mapping[str, Resource],
    stopped: Callable[[], bool],
) -> dict[str, Array]:
    """One launch, which ends before its next call when it is `stopped`. An error says what is `undefined` then."""
    executor.stopped = stopped
    try:
        return run(arrays, handles)
    except BackendError as error:
        if undefined:
            error.add_note(f"The contents of {', '.join(map(repr, undefined))} are undefined now.")
        raise
    finally:
        executor.stopped = _never


def compile_graph(
    graph: Graph,
    backend: VyreBackend,
    *,
    fusion: bool = True,
    overlap: bool | None = None,
    placement: Mapping[str, VyreBackend] = MappingProxyType({}),
) -> CompiledGraph:
    """Compile a graph for one backend. Everything that can be refused is refused here, before anything runs.

    Args:
        graph: The graph.
        backend: The backend. If it has no resident memory, the graph runs through host memory.
        fusion: Whether dispatches may be fused where that is proven to give the same bytes.
        overlap: Whether transfers may run beside launches, if the backend supports that. None uses the measurement of
            this graph on this device (`tune_graph`), or a rule if there is none.
        placement: Other backends, or other devices, by the names of the nodes that run there. The name of a loop or a
            call places everything in it. Copies between devices are derived.

    Returns:
        The graph with its memory allocated and its constants uploaded.

    Raises:
        InvalidGraph: With all findings.
        UnsupportedFeature: The backend cannot run a node, which the error names with the line that recorded it.
        InvalidLaunch: `placement` names a node that does not exist, or one within a loop.
        DeviceOutOfMemory: The buffers do not fit; the message has both numbers.
    """
    graph.validate()
    verdict = _verdict(graph, backend, fusion=fusion, overlap=overlap)
    require_placement(placement)
    if any(other is not backend for other in placement.values()):
        placed = place_graph(graph, backend, placement)
        for segment in (segment for level in placed.levels for segment in level.segments):
            _admit(segment.graph, placed.places[segment.place])
        return CompiledGraph(graph, backend, PlacedExecutor(placed, verdict))
    return compile_form(graph, backend, verdict)


def compile_form(graph: Graph, backend: VyreBackend, verdict: FormVerdict) -> CompiledGraph:
    """Compile a valid graph for one backend in one form; see `compile_graph`."""
    try:
        backend.allocate_resident(1).end()
    except UnsupportedFeature as error:  # of the two required methods, or little more: a dispatch checks its program
        if graph.of(BufferKind.RESIDENT):
            raise
        return CompiledGraph(graph, backend, HostExecutor(graph, backend, error.message))
    _admit(graph, backend)
    return CompiledGraph(graph, backend, QueueExecutor(graph, backend, verdict))


def _verdict(graph: Graph, backend: VyreBackend, *, fusion: bool, overlap: bool | None) -> FormVerdict:
    """What the caller asks for, and for the rest what was measured, or a rule."""
    if fusion and overlap is None:
        return choose_form(graph, backend)
    ruled = rule(backend)
    if overlap is None:
        return FormVerdict(GraphForm(fusion, fusion, ruled.form.overlap), ruled.reason)
    if overlap and not backend.supports_async_compute():
        return FormVerdict(GraphForm(fusion, fusion, overlap=False), ruled.reason)
    return FormVerdict(GraphForm(fusion, fusion, overlap), "the caller has asked for it")


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


def _resource(buffer: GraphBuffer, array: ResidentArray) -> Resource:
    """The memory of an array of the type of a resident buffer."""
    if array.dtype is not buffer.dtype:
        needed, fix = f"an array of {buffer.dtype}", "convert it with .astype(…), or declare the buffer with its type"
        raise InvalidInput(buffer.name, needed=needed, got=f"one of {array.dtype}", fix=fix)
    if array.resource is None:
        fix = "pass a copy, as in array[::2].copy()"
        raise InvalidInput(buffer.name, needed="an array that is all of its memory", got="a view of a part", fix=fix)
    return array.resource


def _bytes(buffer: GraphBuffer, declared: Buffer, given: object) -> Bytes:
    contents = array_bytes(declared, given)
    if contents.nbytes != buffer.byte_len:
        needed = f"{buffer.count} elements of {buffer.dtype}"
        got = f"{contents.nbytes // buffer.dtype.size} elements"
        raise InvalidInput(
            buffer.name, needed=needed, got=got, fix="pass that many, or record the graph for this length"
        )
    return contents
