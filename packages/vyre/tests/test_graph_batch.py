"""Horizontal fusion: what is launched together, what is not, and the programs that come out."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.graph.batch import batch
from vyre_driver.graph.flatten import FlatGraph, flatten
from vyre_driver.graph.nodes import BufferRange, DispatchNode, walk
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.observe.live import backend_for
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.graphs import programs
from vyre_foundation.build import program
from vyre_foundation.dtype import DType, bool_, f16, f32, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.text import print_program

AFFINE, REVERSE, MIX = (programs()[name] for name in ("affine", "reverse", "mix"))
COUNT = 100


def dispatches(flat: FlatGraph) -> list[str]:
    return [node.name for node in walk(flat.graph.nodes) if isinstance(node, DispatchNode)]


def over_rows(each: Program, rows: int = 3, count: int = COUNT, step: int = COUNT) -> GraphRecorder:
    """A dispatch for each row of one input."""
    g = GraphRecorder("rows")
    x = g.input("x", u32, step * (rows - 1) + count)
    for row in range(rows):
        g.output(f"y{row}", g.dispatch(each, x=x[step * row : step * row + count])["out"])
    return g


def special(kind: str) -> Program:
    """A program that depends on where its invocations, its elements or its workgroups are."""
    with program(kind, workgroup_size=32) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        if kind == "shift":
            out[i] = x[i + 1]
        elif kind == "where":
            out[i] = p.workgroup_id(0) * 1000 + p.num_workgroups(0) * 100000 + p.local_id(0)
        elif kind == "length":
            out[i] = x.length * x[x.length - 1]
        else:
            tile = p.workgroup("tile", u32, 32)
            tile[p.local_id(0)] = x[i]
            p.barrier()
            out[i] = tile[31 - p.local_id(0)]
    return p.build()


def test_the_program_of_a_launch() -> None:
    flat = batch(flatten(over_rows(special("shift"), count=COUNT).build()))
    (node,) = flat.graph.nodes
    assert isinstance(node, DispatchNode)
    assert (node.name, node.config) == ("shift … shift#3 (3)", DispatchConfig(grid_override=(12, 1, 1)))
    assert dict(node.ranges) == {
        "x": BufferRange("x", 0, 300),
        "out": BufferRange("shift.out … shift#3.out", 0, 300),
    }
    assert [part.start for _, part in flat.downloads] == [0, 100, 200]
    assert "x: u32[300] @0" in print_program(node.program)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("kind", ["shift", "where", "length", "tile", "affine", "reverse"])
@pytest.mark.parametrize(("count", "step"), [(96, 96), (100, 100), (100, 130), (100, 7)])
def test_launches_give_what_dispatches_give(backend: str, kind: str, count: int, step: int) -> None:
    each = programs().get(kind) or special(kind)
    g = over_rows(each, count=count, step=step)
    x = np.arange(5, 5 + step * 2 + count, dtype=np.uint32)
    opened = backend_for(backend)
    with compile_graph(g.build(), opened) as run:
        assert run.dispatches == (f"{each.name} … {each.name}#3 (3)",)
        outputs = run.run(x=x)
    for row in range(3):
        (expected,) = opened.dispatch(each, [x[step * row : step * row + count]])
        assert outputs[f"y{row}"].tobytes() == bytes(expected)


@pytest.mark.parametrize("dtype", [u32, f32, f16, u64, bool_], ids=str)
@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_gathers_stay_in_their_parts(backend: str, dtype: DType) -> None:
    """An index outside of a member's part gives 0, also where another member has an element. No load is guarded."""
    with program("gather", workgroup_size=32) as p:
        x, at = p.read("x", dtype), p.read("at", u32)
        out = p.write("out", dtype, like=at)
        out[p.global_id(0)] = x[at[p.global_id(0)]]
    g = GraphRecorder("gathers")
    x, at = g.input("x", dtype, 3 * COUNT), g.input("at", u32, 3 * COUNT)
    for start in range(0, 3 * COUNT, COUNT):
        part = slice(start, start + COUNT)
        g.output(f"y{start}", g.dispatch(p.build(), x=x[part], at=at[part])["out"])
    flat = batch(flatten(g.build()))
    (node,) = flat.graph.nodes
    assert isinstance(node, DispatchNode)
    assert "x[min(" in print_program(node.program)
    words = np.arange(1, 3 * COUNT + 1).astype(dtype.numpy)
    where = np.random.default_rng(1).integers(0, 2 * COUNT, 3 * COUNT, dtype=np.uint32)
    where[::7] = 2**32 - 1 - where[::7]
    with compile_graph(g.build(), backend_for(backend)) as run:
        outputs = run.run(x=words, at=where)
    for start in range(0, 3 * COUNT, COUNT):
        own, index = words[start : start + COUNT], where[start : start + COUNT]
        expected = np.where(index < COUNT, own[np.minimum(index, COUNT - 1)], np.zeros((), own.dtype))
        assert outputs[f"y{start}"].tobytes() == expected.tobytes()


def test_buffers_of_their_own_are_one_transfer() -> None:
    g, names = GraphRecorder("own"), [f"x{n}" for n in range(8)]
    for name in names:
        g.output(f"y{name}", g.dispatch(REVERSE, x=g.dispatch(AFFINE, x=g.input(name, u32, COUNT))["out"])["out"])
    backend = backend_for("cpu")
    arrays = {name: np.arange(n, n + COUNT, dtype=np.uint32) for n, name in enumerate(names)}
    with compile_graph(g.build(), backend) as run:
        assert run.dispatches == ("affine … affine#8 (8)", "reverse … reverse#8 (8)")
        run.run(arrays)
        before = backend.backend_metric_snapshot()
        outputs = run.run(arrays)
        after = backend.backend_metric_snapshot()
    counted = [after[name] - before[name] for name in ("launches", "copies_in", "copies_out", "waits")]
    assert counted == [2, 1, 1, 1]
    for name, array in arrays.items():
        np.testing.assert_array_equal(outputs[f"y{name}"], (array * np.uint32(3) + np.uint32(1))[::-1])


def test_a_loop_over_independent_rows() -> None:
    g = GraphRecorder("loop")
    x, left = g.input("x", u32, 4 * COUNT), g.temporary(u32, 1)
    g.fill(left, 3)
    with g.repeat(10, until_zero=left):
        for row in range(4):
            g.dispatch(MIX, y=x[COUNT * row : COUNT * (row + 1)])
        g.dispatch(programs()["count_down"], left=left)
    g.output("y", x)
    words = np.arange(4 * COUNT, dtype=np.uint32) * np.uint32(0x01234567)
    with compile_graph(g.build(), backend_for("cpu")) as run:
        assert len(run.dispatches) == 2
        found = run.run(x=words)["y"]
    for _ in range(3):
        words = words ^ (words >> np.uint32(3))
    np.testing.assert_array_equal(found, words)


@pytest.mark.parametrize("why", ["dependent", "uneven", "large", "trap", "elsewhere", "kinds", "residents"])
def test_what_is_launched_one_by_one(why: str) -> None:
    g, count = GraphRecorder("g"), 2**17 if why == "large" else COUNT
    x = g.input("x", u32, 4 * count)
    if why == "dependent":
        g.dispatch(REVERSE, x=g.dispatch(REVERSE, x=x)["out"])
    elif why == "uneven":
        for start in (0, 1, 3):
            g.dispatch(REVERSE, x=x[start * count : (start + 1) * count])
    elif why == "large":
        for start in (0, 1):
            g.dispatch(REVERSE, x=x[start * count : (start + 1) * count])
    elif why == "trap":
        with program("trap", workgroup_size=32) as p:
            a, out = p.read("x", u32), p.write("out", u32, 100)
            with p.if_(a[p.global_id(0)] == 7):
                p.trap(1, "seven")
            out[p.global_id(0)] = a[p.global_id(0)]
        for start in (0, 1):
            g.dispatch(p.build(), x=x[start * count : (start + 1) * count])
    elif why == "elsewhere":  # another dispatch binds one of the buffers whole
        outputs = [g.dispatch(REVERSE, x=x[start * count : (start + 1) * count])["out"] for start in (0, 1)]
        g.dispatch(AFFINE, x=outputs[1])
    elif why == "kinds":
        t = g.temporary(u32, 4 * count)
        g.fill(t, 1)
        g.dispatch(REVERSE, x=x)
        g.dispatch(REVERSE, x=t)
    else:
        for name in ("a", "b"):
            g.dispatch(REVERSE, x=g.resident(name, u32, count))
    flat = flatten(g.build())
    assert batch(flat) is flat
    assert not any("…" in name for name in dispatches(flat))


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_a_loop_uses_parts_of_what_is_launched_together_around_it(backend: str) -> None:
    """The dispatches of the loop are launched together too, and their input becomes a part of another buffer."""
    g = GraphRecorder("around")
    x, t = g.input("x", u32, 32), g.temporary(u32, 4)
    first = g.dispatch(REVERSE, x=x[:8])["out"]
    second = g.dispatch(REVERSE, x=x[16:24])["out"]
    with g.repeat(3):
        g.dispatch(REVERSE, x=first[0:2], out=t[0:2])
        g.dispatch(REVERSE, x=first[2:4], out=t[2:4])
    g.output("t", t)
    g.output("second", second)
    given = np.arange(32, dtype=np.uint32)
    with compile_graph(g.build(), backend_for(backend)) as run:
        found = run.run({"x": given})
    with compile_graph(g.build(), backend_for(backend), fusion=False) as run:
        expected = run.run({"x": given})
    assert {name: y.tolist() for name, y in found.items()} == {name: y.tolist() for name, y in expected.items()}
    assert found["second"].tolist() == given[16:24][::-1].tolist()
