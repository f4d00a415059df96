"""What launches of graphs cost, counted exactly: the same numbers on every backend of the engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.graph.nodes import Graph
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.graphs import RandomGraph, programs
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

COUNTED = ("launches", "waits", "copies_in", "copies_out", "allocations")
LEVELS, GROUPS, WIDTH = 20, 16, 4


@dataclass(frozen=True, slots=True)
class CountedGraph:
    """A graph with what NumPy computes, and what its launches cost by counter; 0 where there is no entry.

    `first` has the launches and the waits of the first launch, where they are others.
    """

    made: RandomGraph
    costs: dict[str, int]
    first: dict[str, int] | None = None


def counted_graphs() -> dict[str, CountedGraph]:
    """The graphs by name."""
    transfers = {"copies_in": 1, "copies_out": 1}
    return {
        "a chain of 100 dispatches": CountedGraph(_chain(), {"launches": 100, "waits": 1, **transfers}),
        # The beginning of the loop, and iterations of the dispatch and the look at the flag: at first in batches of 1
        # and 2, then in one batch of 3.
        "a fixpoint in 3 of 1000 iterations": CountedGraph(
            _fixpoint(),
            {"launches": 7, "waits": 1, "copies_in": 1, "copies_out": 2},
            {"launches": 7, "waits": 2},
        ),
        "20 grids in buffers with a largest grid": CountedGraph(
            _levels(), {"launches": LEVELS, "waits": 1, "copies_in": 2, "copies_out": 1 + LEVELS}
        ),
    }


def require_costs(backend: VyreBackend, name: str) -> None:
    """Launch a graph twice without fusion; raise AssertionError for a wrong output, or for other costs.

    Args:
        backend: A backend of the engine.
        name: One of `counted_graphs`.
    """
    counted = counted_graphs()[name]
    with compile_graph(counted.made.graph, backend, fusion=False) as run:
        for expected in (counted.first, counted.costs):
            before = backend.backend_metric_snapshot()
            outputs = run.run(counted.made.inputs)
            after = backend.backend_metric_snapshot()
            for output, words in counted.made.outputs.items():
                np.testing.assert_array_equal(outputs[output], words)
            costs = {counter: after[counter] - before[counter] for counter in COUNTED}
            if expected is counted.costs:
                assert {counter: cost for counter, cost in costs.items() if cost} == expected, costs
            elif expected is not None:
                assert {counter: costs[counter] for counter in expected} == expected, costs


def _chain() -> RandomGraph:
    g, x = GraphRecorder("chain"), np.arange(200, dtype=np.uint32)
    part, expected = g.input("x", u32, len(x)), x
    for _ in range(100):
        part, expected = g.dispatch(programs()["affine"], x=part)["out"], expected * np.uint32(3) + np.uint32(1)
    g.output("y", part)
    return RandomGraph(g.build(), {"x": x}, {"y": expected})


def _fixpoint() -> RandomGraph:
    """Every element grows to 2; the third iteration changes nothing."""
    with program("grow", workgroup_size=64) as p:
        x, changed = p.read_write("x", u32), p.read_write("changed", u32, 1)
        i = p.global_id(0)
        with p.if_((i < x.length) & (x[i] < 2)):
            x[i] = x[i] + 1
            changed.atomic_max(0, 1)
    grow = p.build()
    g = GraphRecorder("fixpoint")
    part, flag = g.input("x", u32, 200), g.temporary(u32, 1)
    with g.repeat(1000, until_zero=flag):
        g.fill(flag, 0)
        g.dispatch(grow, x=part, changed=flag)
    g.output("y", part)
    return RandomGraph(g.build(), {"x": np.zeros(200, np.uint32)}, {"y": np.full(200, 2, np.uint32)})


def levels_graph(*, is_bounded: bool) -> Graph:
    """Each level halves how many workgroups the next one has, and adds their number to what they cover."""
    with program("level", workgroup_size=WIDTH) as p:
        grid, next_grid = p.read("grid", u32, 3), p.write("next", u32, 3)
        counts = p.read_write("counts", u32, GROUPS * WIDTH)
        p.indirect_dispatch(grid)
        i = p.global_id(0)
        counts[i] = counts[i] + p.num_workgroups(0)
        with p.if_(i == 0):
            next_grid[0] = grid[0] >> 1
            next_grid[1] = 1
            next_grid[2] = 1
    level = p.build()
    g = GraphRecorder("levels")
    totals, part = g.input("counts", u32, GROUPS * WIDTH), g.input("grid", u32, 3)
    for _ in range(LEVELS):
        largest = (GROUPS, 1, 1) if is_bounded else None
        part = g.dispatch(level, grid=part, counts=totals, largest_grid=largest)["next"]
    g.output("counts", totals)
    return g.build()


def _levels() -> RandomGraph:
    expected, groups = np.zeros(GROUPS * WIDTH, np.uint32), GROUPS
    while groups:
        expected[: WIDTH * groups] += np.uint32(groups)
        groups //= 2
    inputs = {"counts": np.zeros_like(expected), "grid": np.array([GROUPS, 1, 1], np.uint32)}
    return RandomGraph(levels_graph(is_bounded=True), inputs, {"counts": expected})
