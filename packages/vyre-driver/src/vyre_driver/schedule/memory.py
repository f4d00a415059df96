"""Memory of temporaries by liveness: lifetimes that do not meet share memory, and the peak is known beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import DeviceOutOfMemory, UnsupportedFeature
from vyre_driver.graph.nodes import BufferKind, Graph, Node, RepeatNode, walk
from vyre_driver.graph.ranges import accesses


@dataclass(frozen=True, slots=True)
class Lifetime:
    """From the `first` position of a node that uses a buffer to the `last`, in recorded order, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Pieces of memory, and the piece of each temporary by name. `unshared` is what they would take without sharing."""

    pieces: tuple[int, ...]
    piece_of: Mapping[str, int]
    unshared: int

    @property
    def peak(self) -> int:
        """Bytes of all pieces."""
        return sum(self.pieces)


def plan_memory(graph: Graph, lasting: Iterable[str]) -> MemoryPlan:
    """Place the temporaries of a flat graph.

    Args:
        graph: A graph of dispatches, copies, fills and loops. Temporaries that no node uses get no memory.
        lasting: The names of buffers that are read after the last node.

    Returns:
        The pieces. A piece serves temporaries of its own size alone, because the length of a buffer may be that of its
        memory.
    """
    found = lifetimes(graph, lasting)
    sizes = {b.name: b.byte_len for b in graph.of(BufferKind.TEMPORARY) if b.name in found}
    pieces: list[int] = []
    free: dict[int, list[int]] = {}
    ends: list[tuple[int, str]] = []
    piece_of: dict[str, int] = {}
    for name in sorted(sizes, key=lambda name: (found[name].first, found[name].last)):
        while ends and ends[0][0] < found[name].first:
            _, ended = heappop(ends)
            free.setdefault(sizes[ended], []).append(piece_of[ended])
        reusable = free.get(sizes[name])
        if reusable:
            piece_of[name] = reusable.pop()
        else:
            piece_of[name] = len(pieces)
            pieces.append(sizes[name])
        heappush(ends, (found[name].last, name))
    return MemoryPlan(tuple(pieces), piece_of, sum(sizes.values()))


def lifetimes(graph: Graph, lasting: Iterable[str]) -> dict[str, Lifetime]:
    """The lifetime of each temporary that a node uses.

    In a loop, a temporary that the loop shares with nodes outside, or that an iteration may read before it has written
    all of it, lives from the beginning of the loop to its end.
    """
    scan = _Scan(graph)
    used, end = scan.body(graph.nodes, 0)
    found = {name: Lifetime(use.first, use.last) for name, use in used.items()}
    for name in lasting:
        if name in scan.temporaries:
            use = found.get(name)
            found[name] = Lifetime(0 if use is None else use.first, end)
    return found


@dataclass(slots=True)
class _Use:
    first: int
    last: int
    count: int
    begins_whole: bool
    """Whether the first use writes every element and reads none."""


class _Scan:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.temporaries = {buffer.name for buffer in graph.of(BufferKind.TEMPORARY)}
        self._total: dict[str, int] = {}
        for node in walk(graph.nodes):
            for name in self._names(node):
                self._total[name] = self._total.get(name, 0) + 1

    def body(self, nodes: tuple[Node, ...], position: int) -> tuple[dict[str, _Use], int]:
        """The uses in one body from `position` on, and the position behind it."""
        found: dict[str, _Use] = {}
        for node in nodes:
            if isinstance(node, RepeatNode):
                inner, end = self._loop(node, position)
            else:
                inner, end = self._one(node, position), position + 1
            for name, use in inner.items():
                known = found.get(name)
                if known is None:
                    found[name] = use
                else:
                    known.last, known.count = max(known.last, use.last), known.count + use.count
            position = end
        return found, position

    def _loop(self, node: RepeatNode, position: int) -> tuple[dict[str, _Use], int]:
        inner, end = self.body(node.body, position + 1)
        if node.until_zero is not None and node.until_zero.buffer in self.temporaries:
            name = node.until_zero.buffer
            use = inner.setdefault(name, _Use(end, end, 0, begins_whole=False))
            use.last, use.count, use.begins_whole = end, use.count + 1, False  # the loop itself may set it
        for name, use in inner.items():
            if use.count < self._total[name] or not use.begins_whole:
                use.first, use.last = position, end
        return inner, end + 1

    def _one(self, node: Node, position: int) -> dict[str, _Use]:
        found = accesses(self._graph, node)
        read = {part.buffer for part in found.reads}
        whole = {part.buffer for part in found.writes if self._graph.is_whole(part)} - read
        return {name: _Use(position, position, 1, begins_whole=name in whole) for name in self._names(node)}

    def _names(self, node: Node) -> set[str]:
        if isinstance(node, RepeatNode):
            flag = node.until_zero
            return {flag.buffer} & self.temporaries if flag is not None else set()
        found = accesses(self._graph, node)
        return {part.buffer for part in (*found.reads, *found.writes)} & self.temporaries


def require_memory(graph: Graph, memory: MemoryPlan, constants: int, backend: VyreBackend) -> None:
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
