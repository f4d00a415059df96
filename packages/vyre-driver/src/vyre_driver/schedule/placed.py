"""A graph over several devices: its nodes in segments, each on one device, and the copies between devices.

Where a node runs is no part of a graph, and changes no byte. Nodes of one device that nothing of another device comes
between are a segment, which is a graph of its own. Segments of one level are independent and run at the same time. A
device has a copy of each buffer that its segments share with others; copies are derived from what was written last
where. They go through host memory, because runtimes of different devices share none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent import futures
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import ResidentReadRange, Resource
from vyre_driver.errors import InvalidLaunch
from vyre_driver.graph.flatten import FlatGraph, flatten
from vyre_driver.graph.nodes import BufferKind, Graph, GraphBuffer, Node, RepeatNode, walk
from vyre_driver.graph.ranges import accesses
from vyre_driver.policy.loop import LoopVerdict
from vyre_driver.schedule.choice import FormVerdict
from vyre_driver.schedule.executors import GraphExecutor, QueueExecutor, require_going

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.backend.typed import Array

    Bytes = npt.NDArray[np.uint8]

HOST = -1
"""The place of the host's memory among those of devices."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes that one device runs in order: its place, and a graph whose resident buffers are shared with others."""

    place: int
    graph: Graph


@dataclass(frozen=True, slots=True)
class Move:
    """A copy of a whole buffer to the memory of a device, from that of another one or of the host."""

    buffer: str
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Level:
    """Copies, and then independent segments."""

    moves: tuple[Move, ...]
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class PlacedGraph:
    """A flat graph in levels. `places` are the devices, the default one first.

    `shared` are the buffers that each place has memory for. `last` brings back resident buffers that another device has
    changed, and `holders` says where the last contents of a buffer are.
    """

    flat: FlatGraph
    places: tuple[VyreBackend, ...]
    levels: tuple[Level, ...]
    shared: tuple[frozenset[str], ...]
    last: tuple[Move, ...]
    holders: Mapping[str, int]


def require_placement(placement: object) -> None:
    """Refuse what does not map names of nodes to backends."""
    if not isinstance(placement, Mapping):
        fix = "pass the backends by the names of nodes, as in {'node': 'cpu'}"
        raise InvalidLaunch("placement", needed="a mapping", got=type(placement).__name__, fix=fix)


def place_graph(graph: Graph, backend: VyreBackend, placement: Mapping[str, VyreBackend]) -> PlacedGraph:
    """Split a valid graph by devices.

    Args:
        graph: The graph.
        backend: Where nodes run that `placement` does not name.
        placement: Devices by the names of nodes. The name of a loop or a call places everything in it.

    Raises:
        InvalidLaunch: There is no such node, or it is one within a loop.
    """
    flat = flatten(graph)
    places = tuple(dict.fromkeys((backend, *placement.values())))
    node_places = _node_places(flat.graph, {name: places.index(one) for name, one in placement.items()})
    return _Planner(flat, places, node_places).plan()


def _node_places(graph: Graph, placement: Mapping[str, int]) -> list[int]:
    """The place of each node of the outermost body."""
    used: set[str] = set()
    found = []
    for node in graph.nodes:
        names = [name for name in placement if node.name == name or node.name.startswith(f"{name}.")]
        used.update(names)
        found.append(placement[max(names, key=len)] if names else 0)
    for name in placement:
        if name not in used:
            inner = next((n for n in graph.nodes if isinstance(n, RepeatNode) and _has(n, name)), None)
            known = ", ".join(dict.fromkeys(n.name for n in graph.nodes)) or "none"
            fix = f"place its loop {inner.name!r}" if inner is not None else f"name one of {known}"
            raise InvalidLaunch("placement", needed="nodes of the graph outside of loops", got=repr(name), fix=fix)
    return found


def _has(loop: RepeatNode, name: str) -> bool:
    return any(f".{node.name}".endswith(f".{name}") for node in walk(loop.body))


class _Planner:
    def __init__(self, flat: FlatGraph, places: tuple[VyreBackend, ...], node_places: list[int]) -> None:
        self._flat, self._graph, self._places, self._node_places = flat, flat.graph, places, node_places
        self._everywhere = frozenset(range(len(places)))
        self._valid = {buffer.name: self._valid_at_first(buffer) for buffer in flat.graph.buffers}

    def plan(self) -> PlacedGraph:
        groups = self._groups()
        users: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
        for key, nodes in groups.items():
            for name in self._used(nodes):
                users[name].add(key)
        lasting = {part.buffer for _, part in self._flat.downloads}
        local = {
            buffer.name
            for buffer in self._graph.of(BufferKind.TEMPORARY)
            if len(users[buffer.name]) == 1 and buffer.name not in lasting and buffer.name not in self._flat.constants
        }
        shared: list[set[str]] = [set() for _ in self._places]
        for (_, place), nodes in groups.items():
            shared[place] |= self._used(nodes) - local
        shared[0] |= {name for name in lasting if not users[name]}
        levels = []
        for number in sorted({level for level, _ in groups}):
            here = {place: nodes for (level, place), nodes in groups.items() if level == number}
            moves = tuple([move for place, nodes in here.items() for move in self._moves(place, nodes, local)])
            segments = tuple([Segment(place, self._segment(nodes, local)) for place, nodes in here.items()])
            levels.append(Level(moves, segments))
            for place, nodes in here.items():
                self._valid.update(dict.fromkeys(self._written(nodes), frozenset({place})))
        residents = [buffer.name for buffer in self._graph.of(BufferKind.RESIDENT)]
        last = tuple([Move(n, min(self._valid[n]), 0) for n in residents if 0 not in self._valid[n]])
        holders = {name: self._holder(name, shared) for name in lasting}
        return PlacedGraph(self._flat, self._places, tuple(levels), tuple(map(frozenset, shared)), last, holders)

    def _groups(self) -> dict[tuple[int, int], list[Node]]:
        """The nodes by level and place: a level is above all that another place has to do before."""
        reads: defaultdict[str, dict[int, int]] = defaultdict(dict)
        writes: defaultdict[str, dict[int, int]] = defaultdict(dict)
        groups: defaultdict[tuple[int, int], list[Node]] = defaultdict(list)
        for node, place in zip(self._graph.nodes, self._node_places, strict=True):
            own = accesses(self._graph, node)
            read, written = {part.buffer for part in own.reads}, {part.buffer for part in own.writes}
            before = [*(writes[name] for name in read | written), *(reads[name] for name in written)]
            level = max((at + (other != place) for found in before for other, at in found.items()), default=0)
            for found, names in ((reads, read), (writes, written)):
                for name in names:
                    found[name][place] = max(level, found[name].get(place, 0))
            groups[level, place].append(node)
        return groups

    def _valid_at_first(self, buffer: GraphBuffer) -> frozenset[int]:
        if buffer.kind is BufferKind.INPUT:
            return frozenset({HOST})
        return frozenset({0}) if buffer.kind is BufferKind.RESIDENT else self._everywhere

    def _moves(self, place: int, nodes: Iterable[Node], local: set[str]) -> Iterable[Move]:
        """What the device needs before it runs these nodes, each buffer once."""
        whole: set[str] = set()
        for node in nodes:
            own = accesses(self._graph, node)
            parts = [*own.reads, *[part for part in own.writes if not self._graph.is_whole(part)]]
            for name in dict.fromkeys(part.buffer for part in parts):
                if name not in whole and name not in local and place not in self._valid[name]:
                    yield Move(name, min(self._valid[name]), place)
                    self._valid[name] |= {place, HOST}
            if not isinstance(node, RepeatNode):
                whole |= {part.buffer for part in own.writes if self._graph.is_whole(part)}

    def _segment(self, nodes: list[Node], local: set[str]) -> Graph:
        used = self._used(nodes)
        kinds = (BufferKind.RESIDENT, BufferKind.TEMPORARY)
        buffers = [replace(b, kind=kinds[b.name in local]) for b in self._graph.buffers if b.name in used]
        return replace(self._graph, buffers=tuple(buffers), nodes=tuple(nodes))

    def _used(self, nodes: Iterable[Node]) -> set[str]:
        found = [accesses(self._graph, node) for node in nodes]
        return {part.buffer for own in found for part in (*own.reads, *own.writes)}

    def _written(self, nodes: Iterable[Node]) -> set[str]:
        return {part.buffer for node in nodes for part in accesses(self._graph, node).writes}

    def _holder(self, name: str, shared: list[set[str]]) -> int:
        """Where an output is read: on the host if its contents are there."""
        valid = self._valid[name]
        return HOST if HOST in valid else min(place for place in valid if name in shared[place])


class PlacedExecutor:
    """Levels one after another, the segments of a level on their devices at the same time."""

    name = "devices"
    verdict: FormVerdict | None = None

    def __init__(self, placed: PlacedGraph, verdict: FormVerdict) -> None:
        self._placed, self._graph = placed, placed.flat.graph
        self.stopped: Callable[[], bool] = lambda: False
        self._segments = [
            [QueueExecutor(segment.graph, placed.places[segment.place], verdict) for segment in level.segments]
            for level in placed.levels
        ]
        every = [executor for level in self._segments for executor in level]
        self.dispatches = tuple([name for executor in every for name in executor.dispatches])
        names = ", ".join(f"{backend.id()!r}" for backend in placed.places)
        moves = sum(move.source != HOST for level in placed.levels for move in level.moves) + len(placed.last)
        self.reason = f"nodes are placed on {names}; segments: {len(every)}, copies between devices: {moves}"
        self._resources = [self._allocated(place) for place in range(len(placed.places))]
        self._staging: dict[str, Bytes] = {}

    @property
    def loops(self) -> Mapping[str, LoopVerdict]:
        """See `GraphExecutor.loops`."""
        return {name: verdict for level in self._segments for one in level for name, verdict in one.loops.items()}

    def run(self, arrays: Mapping[str, Bytes], handles: Mapping[str, Resource]) -> dict[str, Array]:
        """See `GraphExecutor.run`."""
        host = dict(arrays)
        memory = [{**own, **(handles if place == 0 else {})} for place, own in enumerate(self._resources)]
        for level, executors in zip(self._placed.levels, self._segments, strict=True):
            require_going(self._graph, self.stopped)
            self._move(level.moves, host, memory)
            runs = [
                _run_of(executor, segment.graph, memory[segment.place])
                for segment, executor in zip(level.segments, executors, strict=True)
            ]
            if len(runs) == 1:
                runs[0]()
            else:
                with futures.ThreadPoolExecutor(len(runs)) as pool:
                    for pending in [pool.submit(one) for one in runs]:
                        pending.result()
        self._move(self._placed.last, host, memory)
        return self._outputs(host, memory)

    def close(self) -> None:
        """See `GraphExecutor.close`."""
        for level in self._segments:
            for executor in level:
                executor.close()
        for resources in self._resources:
            for resource in resources.values():
                resource.end()

    def _allocated(self, place: int) -> dict[str, Resource]:
        """Memory for the shared buffers of a device but those of the caller, and its constants."""
        backend, shared = self._placed.places[place], self._placed.shared[place]
        buffers = [b for b in self._graph.buffers if b.name in shared and (place or b.kind is not BufferKind.RESIDENT)]
        found = {buffer.name: backend.allocate_resident(buffer.byte_len) for buffer in buffers}
        constants = self._placed.flat.constants
        backend.upload_resident_many([(found[name], constants[name]) for name in found if name in constants])
        return found

    def _move(self, moves: Iterable[Move], host: dict[str, Bytes], memory: list[dict[str, Resource]]) -> None:
        """Copy buffers: one call for each device that gives some, then one for each that gets some."""
        reads: defaultdict[int, list[str]] = defaultdict(list)
        writes: defaultdict[int, list[str]] = defaultdict(list)
        for move in moves:
            if move.source != HOST:
                reads[move.source].append(move.buffer)
            writes[move.target].append(move.buffer)
        for place, names in reads.items():
            for name in names:
                host[name] = self._staged(name)
            ranges = [_whole(memory[place][name]) for name in names]
            self._placed.places[place].download_resident_ranges_into(ranges, [host[name] for name in names])
        for place, names in writes.items():
            self._placed.places[place].upload_resident_many([(memory[place][name], host[name]) for name in names])

    def _staged(self, name: str) -> Bytes:
        if name not in self._staging:
            self._staging[name] = np.empty(self._graph.buffer(name).byte_len, np.uint8)
        return self._staging[name]

    def _outputs(self, host: Mapping[str, Bytes], memory: list[dict[str, Resource]]) -> dict[str, Array]:
        outputs: dict[str, Array] = {}
        reads: defaultdict[int, list[tuple[ResidentReadRange, Bytes]]] = defaultdict(list)
        for name, part in self._placed.flat.downloads:
            dtype = self._graph.buffer(part.buffer).dtype
            at, size, place = part.start * dtype.size, part.count * dtype.size, self._placed.holders[part.buffer]
            outputs[name] = np.empty(part.count, dtype.numpy)
            target = outputs[name].view(np.uint8)
            if place == HOST:
                target[:] = host[part.buffer][at : at + size]
            elif size:
                resource = memory[place][part.buffer]
                reads[place].append((ResidentReadRange(resource=resource, byte_offset=at, byte_len=size), target))
        for place, found in reads.items():
            ranges, targets = zip(*found, strict=True)
            self._placed.places[place].download_resident_ranges_into(ranges, targets)
        return outputs


def _run_of(executor: GraphExecutor, graph: Graph, memory: Mapping[str, Resource]) -> Callable[[], object]:
    handles = {buffer.name: memory[buffer.name] for buffer in graph.of(BufferKind.RESIDENT)}
    return lambda: executor.run({}, handles)


def _whole(resource: Resource) -> ResidentReadRange:
    return ResidentReadRange(resource=resource, byte_offset=0, byte_len=resource.byte_len)
