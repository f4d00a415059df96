"""Graphs of dispatches: fused or not, with memory shared or not, in waves or not, they give what NumPy gives."""

from __future__ import annotations

import numpy as np

from vyre_conform.worker.claiming import require
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.schedule.choice import FormVerdict, GraphForm
from vyre_driver.schedule.compiled import CompiledGraph, compile_form, compile_graph
from vyre_driver.schedule.waves import LEAST_BYTES
from vyre_driver.testing.graphs import RandomGraph, programs, random_graph
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

SEEDS = (1, 14, 15)
"""Between them they find every planted fault of graphs; each program is compiled in each conformance run."""
IN_WAVES = FormVerdict(GraphForm(fusion=False, batching=False), "it is checked")


def graphs(backend: VyreBackend) -> None:
    """Check random graphs, each launched twice, as they were recorded and fused, and one in waves."""
    fixed = [("of a loop", _stores_in_a_loop()), ("of rows", _independent_rows())]
    for seed, made in [*fixed, *((seed, random_graph(seed)) for seed in SEEDS)]:
        for fusion in (False, True):
            with compile_graph(made.graph, backend, fusion=fusion) as run:
                _check(run, made, f"graph {seed}, {'fused' if fusion else 'as recorded'},")
    chunks = _chunks()
    with compile_form(chunks.graph, backend, IN_WAVES) as run:
        require(run.executor in ("waves", "host"), "a graph over chunks has no waves")
        _check(run, chunks, "the graph of chunks in waves")


def _check(run: CompiledGraph, made: RandomGraph, what: str) -> None:
    """Launch a graph twice."""
    for number in range(2):
        outputs = run.run(made.inputs)
        for name, expected in made.outputs.items():
            is_equal = np.array_equal(outputs[name], expected)
            require(is_equal, f"launch {number} of {what} has a wrong output {name!r}")


def _chunks() -> RandomGraph:
    """Chunks that take a wave each, recorded breadth first; more than are in flight at once."""
    count, size = 4, LEAST_BYTES // 4
    g = GraphRecorder("chunks")
    x, y = g.input("x", u32, count * size), g.temporary(u32, count * size)
    parts = [slice(start, start + size) for start in range(0, count * size, size)]
    made = [g.dispatch(programs()["affine"], x=x[part])["out"] for part in parts]
    for part, one in zip(parts, made, strict=True):
        g.dispatch(programs()["affine"], x=one, out=y[part])
    for part in parts:
        g.dispatch(programs()["mix"], y=y[part])
    g.output("y", y)
    words = np.arange(count * size, dtype=np.uint32) * np.uint32(0x10001)
    expected = words * np.uint32(9) + np.uint32(4)
    return RandomGraph(g.build(), {"x": words}, {"y": expected ^ (expected >> np.uint32(3))})


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


def _independent_rows() -> RandomGraph:
    """Dispatches over rows of one buffer, which may be one launch.

    The last element of a row has no right neighbour, though the next row begins there. The last row changes after the
    dispatches over the others, and before its own.
    """
    count, rows = 100, 3
    with program("shift", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0) + 1] * 3 + 1
    shift = p.build()
    g = GraphRecorder("independent_rows")
    first, given, made = g.input("x", u32, rows * count), g.temporary(u32, rows * count), g.temporary(u32, rows * count)
    g.copy(first, given)
    for start in (0, count, 2 * count):
        if start == 2 * count:
            g.fill(given[start + 1 : start + 2], 5)
        g.dispatch(shift, x=given[start : start + count], out=made[start : start + count])
    g.output("y", made)
    words = np.arange(7, 7 + rows * count, dtype=np.uint32)
    expected = words.reshape(rows, count).copy()
    expected[2, 1] = 5
    expected = np.pad(expected[:, 1:], ((0, 0), (0, 1))) * np.uint32(3) + np.uint32(1)
    return RandomGraph(g.build(), {"x": words}, {"y": expected.reshape(-1)})
