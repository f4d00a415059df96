"""Graphs of dispatches: fused or not, with memory shared or not, they give what NumPy gives."""

from __future__ import annotations

import numpy as np

from vyre_conform.worker.claiming import require
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.graphs import RandomGraph, programs, random_graph
from vyre_foundation.dtype import u32

SEEDS = (1, 14, 15)
"""Between them they find every planted fault of graphs; each program is compiled in each conformance run."""


def graphs(backend: VyreBackend) -> None:
    """Check random graphs, each launched twice, as they were recorded and fused."""
    for seed, made in [("of a loop", _stores_in_a_loop()), *((seed, random_graph(seed)) for seed in SEEDS)]:
        for fusion in (False, True):
            with compile_graph(made.graph, backend, fusion=fusion) as run:
                for number in range(2):
                    outputs = run.run(made.inputs)
                    for name, expected in made.outputs.items():
                        is_equal = np.array_equal(outputs[name], expected)
                        how = "fused" if fusion else "as recorded"
                        require(is_equal, f"launch {number} of graph {seed}, {how}, has a wrong output {name!r}")


def _stores_in_a_loop() -> RandomGraph:
    """An output that each iteration writes in part, and begins as zeros each time."""
    count = 100
    g = GraphRecorder("stores_in_a_loop")
    x, left, high = g.input("x", u32, count), g.temporary(u32, 1), g.temporary(u32, count)
    g.fill(left, 3)
    g.fill(high, 77)
    with g.repeat(10, until_zero=left):
        g.dispatch(programs()["split"], x=x, high=high)
        g.dispatch(programs()["count_down"], left=left)
    g.output("high", high)
    words = np.arange(count, dtype=np.uint32) * np.uint32(0x10001)
    expected = np.where(np.arange(count) % 2 == 0, words >> np.uint32(16), np.uint32(0)).astype(np.uint32)
    return RandomGraph(g.build(), {"x": words}, {"high": expected})
