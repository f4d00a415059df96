"""Edges follow from ranges, the text shows them, and memory is shared where lifetimes do not meet."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.graph.edges import edges, waves
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.nodes import Graph, leaves
from vyre_driver.graph.ranges import accesses
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.schedule.memory import lifetimes, plan_memory
from vyre_driver.testing.graphs import programs, random_graph
from vyre_foundation.dtype import u32

AFFINE, ADD, MIX = (programs()[name] for name in ("affine", "add", "mix"))


def test_disjoint_ranges_of_one_buffer_are_independent() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 100)
    g.dispatch(MIX, y=x[:50])
    g.dispatch(MIX, y=x[50:])
    g.dispatch(MIX, y=x[40:60])
    graph = g.build()
    assert edges(graph, graph.nodes) == [(), (), (0, 1)]
    assert waves(edges(graph, graph.nodes)) == [0, 0, 1]


def test_reads_wait_for_writes_and_writes_for_reads() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 10)
    a = g.dispatch(AFFINE, x=x)["out"]
    b = g.dispatch(AFFINE, x=x)["out"]
    g.dispatch(MIX, y=x)
    g.dispatch(ADD, x=a, y=b)
    g.fill(x)
    graph = g.build()
    assert edges(graph, graph.nodes) == [(), (), (0, 1), (0, 1), (2,)]


@pytest.mark.parametrize("seed", range(20))
def test_edges_order_all_conflicts(seed: int) -> None:
    """Every conflict of two nodes is a path of edges, and every edge is a conflict."""
    graph = random_graph(seed).graph
    found, own = edges(graph, graph.nodes), [accesses(graph, node) for node in graph.nodes]
    reach: list[set[int]] = []
    for needed in found:
        reach.append(set(needed).union(*(reach[number] for number in needed)))
    for later in range(len(own)):
        conflicts = {earlier for earlier in range(later) if own[earlier].conflicts(own[later])}
        assert conflicts <= reach[later]
        assert set(found[later]) <= conflicts


def test_the_text_of_a_graph() -> None:
    g = GraphRecorder("solver")
    x = g.input("x", u32, 8)
    left = g.temporary(u32, 1, "left")
    g.fill(left, 3)
    with g.repeat(10, until_zero=left):
        y = g.dispatch(AFFINE, x=x)["out"]
        g.copy(y[0:4], x[4:8], name="shift")
        g.dispatch(programs()["count_down"], left=left)
    g.upload(x[0:2], np.array([1, 2], np.uint32))
    g.output("x", x)
    assert (
        str(g.build())
        == """\
graph solver {
  input x: u32[8];
  temporary left: u32[1];
  temporary affine.out: u32[8];

  fill: fill left = 0x00000003;
  repeat: repeat 10 until_zero left {  // after fill
    affine: dispatch affine(x=x, out=affine.out);
    shift: copy x[4:8] = affine.out[0:4];  // after affine
    count_down: dispatch count_down(left=left);
  }
  upload: upload x[0:2] = 8 bytes;  // after repeat
  output x: download x = x;  // after repeat, upload
}"""
    )


# ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def chain(length: int) -> Graph:
    g = GraphRecorder("chain")
    part = g.input("x", u32, 100)
    for _ in range(length):
        part = g.dispatch(AFFINE, x=part)["out"]
    g.output("y", part)
    return g.build()


def test_a_chain_of_temporaries_takes_the_memory_of_two() -> None:
    flat = flatten(chain(20))
    plan = plan_memory(flat.graph, [part.buffer for _, part in flat.downloads])
    assert (plan.peak, plan.unshared) == (800, 8000)


def test_what_is_read_at_the_end_is_not_shared() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 100)
    first = g.dispatch(AFFINE, x=x)["out"]
    g.output("first", first)
    g.output("last", g.dispatch(AFFINE, x=g.dispatch(AFFINE, x=x)["out"])["out"])
    flat = flatten(g.build())
    assert plan_memory(flat.graph, [part.buffer for _, part in flat.downloads]).peak == 1200


def test_what_a_loop_carries_lives_as_long_as_the_loop() -> None:
    g = GraphRecorder("g")
    carried, fresh = g.temporary(u32, 4, "carried"), g.temporary(u32, 4, "fresh")
    g.fill(carried)
    with g.repeat(3):
        g.dispatch(AFFINE, x=carried, out=fresh)
        g.dispatch(MIX, y=fresh)
        g.dispatch(MIX, y=carried)
    graph = g.build()
    found = lifetimes(graph, [])
    assert (found["carried"].first, found["carried"].last) == (0, 5)
    assert (found["fresh"].first, found["fresh"].last) == (2, 3)


@pytest.mark.parametrize("seed", range(20))
def test_pieces_are_shared_by_lifetimes_that_do_not_meet(seed: int) -> None:
    flat = flatten(random_graph(seed, steps=30).graph)
    lasting = [part for _, part in flat.downloads]
    found, plan = lifetimes(flat.graph, lasting), plan_memory(flat.graph, lasting)
    names = list(plan.piece_of)
    for number, name in enumerate(names):
        for other in names[:number]:
            if plan.piece_of[name] == plan.piece_of[other]:
                assert found[name].last < found[other].first or found[other].last < found[name].first
                assert flat.graph.buffer(name).byte_len == flat.graph.buffer(other).byte_len
    assert plan.peak <= plan.unshared


def test_a_flat_graph_has_dispatches_copies_fills_and_loops_alone() -> None:
    kinds = {
        type(node).__name__ for seed in range(20) for node in leaves(flatten(random_graph(seed).graph).graph.nodes)
    }
    assert kinds == {"DispatchNode", "CopyNode", "FillNode"}
