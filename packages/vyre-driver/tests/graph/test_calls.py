"""Nested graphs: inputs are copies, resident buffers are used in place, outputs are what they were at their node."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.graph.evaluate import evaluate as evaluate_graph
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.nodes import CopyNode, Graph, leaves
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.graphs import programs
from vyre_foundation.dtype import u32

from .conftest import ArrayBackend

AFFINE, MIX = programs()["affine"], programs()["mix"]
X = np.arange(8, dtype=np.uint32) * np.uint32(7919)


def affine(x: np.ndarray, times: int = 1) -> np.ndarray:
    for _ in range(times):
        x = x * np.uint32(3) + np.uint32(1)
    return x


def mix(x: np.ndarray) -> np.ndarray:
    return x ^ (x >> np.uint32(3))


def results(g: GraphRecorder, backend: ArrayBackend, **arrays: np.ndarray) -> dict[str, np.ndarray]:
    """What both executors give, which is the same."""
    graph = g.build()
    definition = evaluate_graph(graph, backend, {name: array.view(np.uint8) for name, array in arrays.items()})
    ran = compile_graph(graph, backend, fusion=False).run(arrays)
    for name, array in definition.items():
        np.testing.assert_array_equal(ran[name].view(np.uint8), array)
    return ran


def moves(g: GraphRecorder) -> list[str]:
    return [node.name for node in leaves(flatten(g.build()).graph.nodes) if isinstance(node, CopyNode)]


def changes_its_input() -> Graph:
    g = GraphRecorder("inner")
    x = g.input("x", u32, 8)
    g.dispatch(MIX, y=x)
    g.output("y", x)
    return g.build()


def test_an_output_may_have_the_name_of_an_input(backend: ArrayBackend) -> None:
    """What is passed by that name is the input, and the output is a new temporary."""
    inner = GraphRecorder("inner")
    x = inner.input("x", u32, 8)
    inner.output("x", inner.dispatch(AFFINE, x=x)["out"])
    g = GraphRecorder("outer")
    x = g.input("x", u32, 8)
    g.output("y", g.call(inner.build(), x=x)["x"])
    np.testing.assert_array_equal(results(g, backend, x=X)["y"], affine(X))


def test_an_input_that_the_graph_changes_is_a_copy(backend: ArrayBackend) -> None:
    g = GraphRecorder("outer")
    x = g.input("x", u32, 8)
    g.output("y", g.call(changes_its_input(), x=x)["y"])
    g.output("x", x)
    found = results(g, backend, x=X)
    np.testing.assert_array_equal(found["x"], X)
    np.testing.assert_array_equal(found["y"], mix(X))


def test_an_input_that_is_only_read_and_an_output_that_stays_are_not_copied(backend: ArrayBackend) -> None:
    inner = GraphRecorder("inner")
    inner.output("y", inner.dispatch(AFFINE, x=inner.input("x", u32, 8))["out"])
    g = GraphRecorder("outer")
    x = g.input("x", u32, 8)
    for _ in range(3):
        x = g.call(inner.build(), x=x)["y"]
    g.output("y", x)
    np.testing.assert_array_equal(results(g, backend, x=X)["y"], affine(X, 3))
    assert moves(g) == []


def test_an_output_is_what_the_range_was_at_its_node(backend: ArrayBackend) -> None:
    inner = GraphRecorder("inner")
    t = inner.dispatch(AFFINE, x=inner.input("x", u32, 8))["out"]
    inner.output("before", t)
    inner.dispatch(MIX, y=t)
    inner.output("after", t)
    inner.output("part", t[2:4])
    g = GraphRecorder("outer")
    part = g.temporary(u32, 8)
    g.fill(part, 9)
    found = g.call(inner.build(), x=g.input("x", u32, 8), part=part[5:7])
    for name in ("before", "after"):
        g.output(name, found[name])
    g.output("part", part)
    outputs = results(g, backend, x=X)
    np.testing.assert_array_equal(outputs["before"], affine(X))
    np.testing.assert_array_equal(outputs["after"], mix(affine(X)))
    np.testing.assert_array_equal(outputs["part"], [9, 9, 9, 9, 9, *mix(affine(X))[2:4], 9])


def test_an_output_within_a_loop_is_that_of_the_last_iteration(backend: ArrayBackend) -> None:
    inner = GraphRecorder("inner")
    x = inner.input("x", u32, 8)
    with inner.repeat(3):
        inner.output("y", x)
        inner.copy(inner.dispatch(AFFINE, x=x)["out"], x)
    g = GraphRecorder("outer")
    given = g.input("x", u32, 8)
    with g.repeat(2):
        y = g.call(inner.build(), x=given)["y"]
        g.copy(y, given)
    g.output("y", given)
    np.testing.assert_array_equal(results(g, backend, x=X)["y"], affine(X, 4))


def test_one_range_that_is_two_outputs(backend: ArrayBackend) -> None:
    inner = GraphRecorder("inner")
    t = inner.dispatch(AFFINE, x=inner.input("x", u32, 8))["out"]
    inner.output("one", t)
    inner.output("two", t)
    g = GraphRecorder("outer")
    found = g.call(inner.build(), x=g.input("x", u32, 8))
    g.dispatch(MIX, y=found["one"])
    for name, part in found.items():
        g.output(name, part)
    outputs = results(g, backend, x=X)
    np.testing.assert_array_equal(outputs["one"], mix(affine(X)))
    np.testing.assert_array_equal(outputs["two"], affine(X))


@pytest.mark.parametrize("is_resident", [False, True])
def test_a_resident_buffer_of_a_nested_graph_is_used_in_place(is_resident: bool, backend: ArrayBackend) -> None:
    inner = GraphRecorder("inner")
    inner.dispatch(MIX, y=inner.resident("y", u32, 8))
    g = GraphRecorder("outer")
    y = g.resident("y", u32, 8) if is_resident else g.input("y", u32, 8)
    with g.repeat(2):
        g.call(inner.build(), y=y)
    g.output("out", y)
    run = compile_graph(g.build(), backend, fusion=False)
    if not is_resident:
        np.testing.assert_array_equal(run.run(y=X)["out"], mix(mix(X)))
        return
    handle = backend.allocate_resident(32)
    backend.upload_resident(handle, X)
    np.testing.assert_array_equal(run.run(y=handle)["out"], mix(mix(X)))
    np.testing.assert_array_equal(np.frombuffer(backend.download_resident(handle), np.uint32), mix(mix(X)))


def test_nodes_of_nested_graphs_are_named_by_their_path(backend: ArrayBackend) -> None:
    inner = GraphRecorder("inner")
    inner.output("y", inner.dispatch(AFFINE, x=inner.input("x", u32, 8))["out"])
    g = GraphRecorder("outer")
    x = g.input("x", u32, 8)
    with g.repeat(2, name="loop"):
        y = g.call(inner.build(), x=x, name="first")["y"]
    g.output("y", g.call(inner.build(), x=y)["y"])
    assert compile_graph(g.build(), backend, fusion=False).dispatches == ("loop.first.affine", "inner.affine")
