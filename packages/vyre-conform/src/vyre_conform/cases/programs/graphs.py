"""Breadth-first search and strongly connected components: data that decides how far the grid has to go."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import bool_, u32

Graph = list[list[int]]
FAR = 2**32 - 1
GROUP = 16


def specs() -> Iterator[Spec]:
    for degree in (1, 2, 4):
        yield seeded(address("programs", "breadth_first_search", degree=degree), _search, degree)
        yield seeded(address("programs", "strong_components", degree=degree), _components, degree)
    yield seeded(address("programs", "label_propagation"), _labels)


def _graph(rng: Random, count: int, degree: int) -> Graph:
    return [sorted(rng.randrange(count) for _ in range(rng.randint(0, 2 * degree))) for _ in range(count)]


def _rows(graph: Graph) -> dict[str, bytes]:
    """The graph as compressed sparse rows."""
    ends = [0]
    for targets in graph:
        ends.append(ends[-1] + len(targets))
    return {"ends": pack(u32, ends), "targets": pack(u32, [t for targets in graph for t in targets])}


def _search(degree: int, rng: Random) -> tuple[Launch, Expected]:
    """Distances from vertex 0: a grid barrier between levels, an atomic minimum for each edge."""
    graph = _graph(rng, 70, degree)
    with program("breadth_first_search", GROUP) as p:
        ends, targets = p.read("ends", u32), p.read("targets", u32)
        distance = p.read_write("distance", u32, len(graph))
        i = p.let(p.global_id(0))
        with p.range(0, ends.length - 1) as level:
            found = p.let(distance.atomic_min(i, FAR))
            p.grid_barrier()
            with p.if_((i < distance.length) & (found == level)), p.range(ends[i], ends[i + 1]) as edge:
                distance.atomic_min(targets[edge], level + 1)
            p.grid_barrier()
    start = [0] + [FAR] * (len(graph) - 1)
    inputs = _rows(graph) | {"distance": pack(u32, start)}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, _distances(graph)),))


def _distances(graph: Graph) -> list[int]:
    """By a queue."""
    distances, waiting = [0] + [FAR] * (len(graph) - 1), [0]
    for vertex in waiting:
        for target in graph[vertex]:
            if distances[target] == FAR:
                distances[target] = distances[vertex] + 1
                waiting.append(target)
    return distances


def _components(degree: int, rng: Random) -> tuple[Launch, Expected]:
    """Who reaches whom by Warshall's algorithm, a grid barrier for each vertex; the least mutual one names each."""
    count = 24
    graph = _graph(rng, count, degree)
    with program("strong_components", GROUP) as p:
        ends, targets = p.read("ends", u32), p.read("targets", u32)
        component = p.write("component", u32, count)
        reaches = p.scratch("reaches", bool_, count * count)
        i = p.let(p.global_id(0))
        with p.if_(i < count):
            reaches[i * count + i] = p.let(True, bool_)
            with p.range(ends[i], ends[i + 1]) as edge:
                reaches[i * count + targets[edge]] = p.let(True, bool_)
        p.grid_barrier()
        with p.range(0, count) as middle:
            via = p.let((i < count) & reaches[i * count + middle] & (i != middle))
            with p.if_(via), p.range(0, count) as j:
                reaches[i * count + j] = reaches[i * count + j] | reaches[middle * count + j]
            p.grid_barrier()
        least = p.var(FAR, u32)
        with p.range(0, count) as j, p.if_(reaches[i * count + j] & reaches[j * count + i]):
            least.set(j)
            p.break_()
        component[i] = least
    return Launch(program=p.build(), inputs=_rows(graph)), Exactly((pack(u32, _tarjan(graph)),))


def _tarjan(graph: Graph) -> list[int]:
    """The least vertex of each one's component, by Tarjan's algorithm."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    names = [FAR] * len(graph)

    def visit(vertex: int) -> None:
        index[vertex] = low[vertex] = len(index)
        stack.append(vertex)
        for target in graph[vertex]:
            if target not in index:
                visit(target)
            if names[target] == FAR:
                low[vertex] = min(low[vertex], low[target])
        if low[vertex] == index[vertex]:
            at = stack.index(vertex)
            members = stack[at:]
            del stack[at:]
            for member in members:
                names[member] = min(members)

    for vertex in range(len(graph)):
        if vertex not in index:
            visit(vertex)
    return names


def _labels(rng: Random) -> tuple[Launch, Expected]:
    """The least vertex that reaches each one: a fixpoint, the whole program as often as there are vertices."""
    graph = _graph(rng, 33, 1)
    with program("label_propagation", GROUP) as p:
        ends, targets = p.read("ends", u32), p.read("targets", u32)
        labels = p.read_write("labels", u32, len(graph))
        i = p.let(p.global_id(0))
        own = p.let(labels.atomic_min(i, FAR))
        with p.if_(i < labels.length), p.range(ends[i], ends[i + 1]) as edge:
            labels.atomic_min(targets[edge], own)
    least = list(range(len(graph)))
    for start in range(len(graph)):
        waiting = [start]
        for vertex in waiting:
            waiting += [t for t in dict.fromkeys(graph[vertex]) if t not in waiting]
            least[vertex] = min(least[vertex], start)
    inputs = _rows(graph) | {"labels": pack(u32, range(len(graph)))}
    return Launch(program=p.build(), inputs=inputs, iterations=len(graph)), Exactly((pack(u32, least),))
