"""Graphs."""

from __future__ import annotations

from programs.sizes import GROUP
from vyre_foundation import Program, program, u32

FAR = 2**32 - 1
"""The distance of what was not reached yet."""


def bfs_step() -> Program:
    """One level of a search in breadth, from below: who is not reached yet looks for a neighbour that is.

    So no invocation writes what another one uses. `starts` has the place of the first neighbour of each vertex in
    `neighbours`, and one element more.
    """
    with program("bfs_step", GROUP) as p:
        starts, neighbours, level = p.read("starts", u32), p.read("neighbours", u32), p.uniform("level", u32, 1)
        distances = p.read("distances", u32)
        out = p.write("out", u32, like=distances)
        vertex = p.global_id(0)
        distance = p.var(distances[vertex])
        with (
            p.if_(distance == FAR),
            p.range(starts[vertex], starts[vertex + 1]) as n,
            p.if_(distances[neighbours[n]] == level[0]),
        ):
            distance.set(level[0] + 1)
            p.break_()
        out[vertex] = distance
    return p.build()


def bfs_level() -> Program:
    """One level of a search in breadth, from above: all neighbours of the front that are not reached yet get a mark.

    Several invocations may mark one vertex; all write the same, which takes an atomic to be no race.
    """
    with program("bfs_level", GROUP) as p:
        starts, neighbours, level = p.read("starts", u32), p.read("neighbours", u32), p.uniform("level", u32, 1)
        distances = p.read("distances", u32)
        out = p.write("out", u32, like=distances)
        vertex = p.global_id(0)
        with p.if_(distances[vertex] == level[0]), p.range(starts[vertex], starts[vertex + 1]) as n:
            neighbour = p.let(neighbours[n])
            with p.if_(distances[neighbour] == FAR):
                out.atomic_exchange(neighbour, 1)
    return p.build()
