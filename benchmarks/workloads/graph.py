"""A search in breadth over a random graph, at the level that looks at most edges."""

from __future__ import annotations

from functools import cache

import numpy as np
import programs
from programs.data import U32
from programs.graph import FAR
from programs.sizes import GROUP

from workloads.work import Launch, Work, Workload

DEGREE = 16
"""Neighbours of a vertex, on average."""


def bfs_step(vertices: int) -> Work:
    starts, neighbours, distances, level, edges, wanted = _busiest(vertices)
    inputs = {
        "starts": starts,
        "neighbours": neighbours,
        "level": np.array([level], np.uint32),
        "distances": distances,
    }
    return Work(
        program=programs.bfs_step(),
        grid=(vertices // GROUP, 1, 1),
        inputs=inputs,
        wanted=wanted,
        amount=edges,
        bytes=starts.nbytes + 4 * edges + distances.nbytes + wanted.nbytes,
        operations=edges,
        sizes=(vertices,),
        launches=(Launch("bfs_step", (vertices // GROUP,), (GROUP,)),),
    )


def bfs_level(vertices: int) -> Work:
    starts, neighbours, distances, level, edges, after = _busiest(vertices)
    inputs = {
        "starts": starts,
        "neighbours": neighbours,
        "level": np.array([level], np.uint32),
        "distances": distances,
    }
    return Work(
        program=programs.bfs_level(),
        grid=(vertices // GROUP, 1, 1),
        inputs=inputs,
        wanted=(after != distances).astype(np.uint32),
        amount=edges,
        bytes=starts.nbytes + 4 * edges + 2 * distances.nbytes,
        operations=edges,
        launches=(Launch("bfs_level", (vertices // GROUP,), (GROUP,)),),
    )


@cache
def _busiest(vertices: int) -> tuple[U32, U32, U32, int, int, U32]:
    """Starts, neighbours, the distances before, their level, the edges from there, and the distances behind."""
    starts, neighbours = _graph(vertices)
    degrees = np.diff(starts)
    distances = np.full(vertices, FAR, np.uint32)
    distances[0] = 0
    level, most = 0, (0, 0, distances, distances)
    while (front := np.flatnonzero(distances == level)).size:
        after = stepped(starts, neighbours, distances, level)
        most = max(most, (int(degrees[front].sum()), level, distances, after), key=lambda step: step[0])
        distances, level = after, level + 1
    edges, level, before, after = most
    return starts, neighbours, before, level, edges, after


def _graph(vertices: int) -> tuple[U32, U32]:
    """Each edge in both directions."""
    ends = np.random.default_rng(1).integers(0, vertices, (2, vertices * DEGREE // 2), np.uint32)
    source, target = np.concatenate(ends), np.concatenate(ends[::-1])
    starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=vertices))]).astype(np.uint32)
    return starts, target[np.argsort(source, kind="stable")]


def stepped(starts: U32, neighbours: U32, distances: U32, level: int) -> U32:
    """The next level from above: the neighbours of the front that were not reached yet."""
    front = np.flatnonzero(distances == level)
    degrees = np.diff(starts)[front].astype(np.int64)
    firsts = starts[front].astype(np.int64) - np.concatenate([[0], np.cumsum(degrees)[:-1]])
    reached = neighbours[np.repeat(firsts, degrees) + np.arange(degrees.sum())]
    after = distances.copy()
    after[reached[distances[reached] == FAR]] = level + 1
    return after


WORKLOADS = {
    "bfs step": Workload(domain="graph", unit="Gedge/s", size=2**20, toy=4 * GROUP, make=bfs_step),
    "bfs level": Workload(domain="graph", unit="Gedge/s", size=2**20, toy=4 * GROUP, make=bfs_level),
}
