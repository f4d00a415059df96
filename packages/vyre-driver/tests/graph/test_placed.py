"""Graphs over several devices: the same bytes wherever nodes run, and exactly the copies that are needed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vyre_driver import InvalidLaunch, compile_graph
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.schedule.placed import HOST, Move, place_graph
from vyre_driver.testing.graphs import programs, random_graph
from vyre_foundation.dtype import u32

AFFINE, ADD, MIX = (programs()[name] for name in ("affine", "add", "mix"))
X = np.arange(8, dtype=np.uint32)


def diamond() -> GraphRecorder:
    """``out = (3x + 1) + (3x + 1)``, whose two halves do not depend on each other."""
    g = GraphRecorder("diamond")
    x = g.input("x", u32, 8)
    left = g.dispatch(AFFINE, x=x, name="left")["out"]
    right = g.dispatch(AFFINE, x=x, name="right")["out"]
    g.output("sum", g.dispatch(ADD, x=left, y=right, name="sum")["out"])
    return g


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(n, marks=pytest.mark.slow) for n in range(20, 60))])
def test_random_placements_give_the_same_bytes(seed: int, make_backend: Callable[..., Any]) -> None:
    made, choices = random_graph(3000 + seed, steps=16), random.Random(seed)
    backends = [make_backend("one"), make_backend("two"), make_backend("three")]
    names = [node.name for node in flatten(made.graph).graph.nodes]
    placement = {name: choices.choice(backends) for name in names if choices.random() < 0.7}
    with compile_graph(made.graph, backends[0], placement=placement, fusion=False) as run:
        for _ in range(2):
            outputs = run.run(made.inputs)
            assert outputs.keys() == made.outputs.keys()
            for name, expected in made.outputs.items():
                np.testing.assert_array_equal(outputs[name], expected)


def test_copies_are_those_that_are_needed(make_backend: Callable[..., Any]) -> None:
    one, two = make_backend("one"), make_backend("two")
    placed = place_graph(diamond().build(), one, {"right": two})
    first, second = placed.levels
    assert [segment.place for segment in first.segments] == [0, 1]
    assert set(first.moves) == {Move("x", HOST, 0), Move("x", HOST, 1)}
    assert second.moves == (Move("right.out", 1, 0),)
    with compile_graph(diamond().build(), one, placement={"right": two}) as run:
        assert (run.executor, run.reason) == (
            "devices",
            "nodes are placed on 'one', 'two'; segments: 3, copies between devices: 1",
        )
        one.log.clear()
        two.log.clear()
        assert run.run(x=X)["sum"].tolist() == (2 * (3 * X + 1)).tolist()
        run_alone = ["sequence", "dispatch", "download"]  # the last one of no ranges
        assert two.log == ["upload", *run_alone, "download"]
        assert one.log == ["upload", *run_alone, "upload", *run_alone, "download"]


def test_independent_segments_run_at_the_same_time(make_backend: Callable[..., Any]) -> None:
    """Each waits within its dispatch until the other one has begun."""
    one, two, both = make_backend("one"), make_backend("two"), threading.Barrier(2)
    for backend in (one, two):
        plain = backend.dispatch

        def dispatch(program: Any, *rest: Any, plain: Callable[..., Any] = plain) -> Any:
            if program.name == "affine":
                both.wait(20)
            return plain(program, *rest)

        backend.dispatch = dispatch
    with compile_graph(diamond().build(), one, placement={"right": two}) as run:
        assert run.run(x=X)["sum"].tolist() == (2 * (3 * X + 1)).tolist()


def test_a_resident_buffer_comes_back_to_its_device(make_backend: Callable[..., Any]) -> None:
    one, two = make_backend("one"), make_backend("two")
    g = GraphRecorder("g")
    g.dispatch(MIX, y=g.resident("y", u32, 8), name="mix")
    with compile_graph(g.build(), one, placement={"mix": two}) as run, one.allocate_resident(32) as handle:
        one.upload_resident(handle, X + 100)
        run.run(y=handle)
        assert np.frombuffer(one.download_resident(handle), np.uint32).tolist() == ((X + 100) ^ (X + 100 >> 3)).tolist()


def test_nodes_that_cannot_be_placed(make_backend: Callable[..., Any]) -> None:
    one, two = make_backend("one"), make_backend("two")
    with pytest.raises(InvalidLaunch, match=r"got 'nothing'.*Fix: name one of left, right, sum"):
        compile_graph(diamond().build(), one, placement={"nothing": two})
    g = GraphRecorder("g")
    x = g.input("x", u32, 8)
    with g.repeat(3, name="loop"):
        g.dispatch(MIX, y=x, name="inner")
    g.output("x", x)
    with pytest.raises(InvalidLaunch, match=r"got 'inner'.*Fix: place its loop 'loop'"):
        compile_graph(g.build(), one, placement={"inner": two})
    expected = X
    for _ in range(3):
        expected = expected ^ (expected >> 3)
    with compile_graph(g.build(), one, placement={"loop": two}) as run:
        assert run.run(x=X)["x"].tolist() == expected.tolist()
