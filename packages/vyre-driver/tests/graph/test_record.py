"""Recording: what becomes a node, which line it has, and what is refused at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_driver.graph.nodes import BufferRange, DispatchNode, RepeatNode, UploadNode
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.recorded import RecordedRange
from vyre_driver.testing.graphs import programs
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u32
from vyre_foundation.errors import BuildError

AFFINE, ADD, MIX = (programs()[name] for name in ("affine", "add", "mix"))


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_a_node_knows_the_line_that_recorded_it() -> None:
    g, made = GraphRecorder("g"), line()
    x = g.input("x", u32, 4)
    g.dispatch(AFFINE, x=x)
    with g.repeat(2):
        g.fill(x)
    graph = g.build()
    assert [node.origin.line - made for node in graph.nodes if node.origin] == [2, 3]
    assert graph.nodes[1].body[0].origin.line - made == 4
    assert graph.buffers[0].origin.line - made == 1
    assert graph.origin.line == made
    assert {node.origin.file for node in graph.nodes} == {__file__}


def test_at_attributes_to_a_line_of_another_source() -> None:
    g = GraphRecorder("g")
    with g.at("demo.lang", 1):
        x = g.input("x", u32, 4)
        with g.repeat(2), g.at("demo.lang", 2):
            g.fill(x)
    g.dispatch(AFFINE, x=x)
    at = line() - 1
    graph = g.build()
    loop, dispatch = graph.nodes
    assert isinstance(loop, RepeatNode)
    origins = [graph.buffers[0].origin, loop.origin, loop.body[0].origin, dispatch.origin]
    assert [str(x) for x in origins] == ["demo.lang:1", "demo.lang:1", "demo.lang:2", f"{__file__}:{at}"]
    with pytest.raises(BuildError, match=r"^demo.lang:3: the name of a buffer: got 5"), g.at("demo.lang", 3):
        g.input(5, u32, 4)  # type: ignore[arg-type]


def test_a_block_that_is_never_opened_is_named() -> None:
    g, made = GraphRecorder("g"), line()
    g.repeat(2)
    g.at("demo.lang", 1)
    with pytest.raises(BuildError) as caught:
        g.build()
    assert str(caught.value).splitlines() == [
        f"{__file__}:{made + 1}: the block of g.repeat(…) is never opened. Fix: write `with g.repeat(…)`",
        f"{__file__}:{made + 2}: the block of g.at(…) is never opened. Fix: write `with g.at(…)`",
    ]


def test_a_block_is_for_one_with_statement() -> None:
    g = GraphRecorder("g")
    for block, word in ((g.repeat(2), "repeat"), (g.at("demo.lang", 1), "at")):
        with block:
            pass
        with pytest.raises(BuildError, match=rf"the block of g\.{word}\(…\) is opened twice"), block:
            pass


def test_outputs_that_are_left_out_are_temporaries_of_the_length_of_the_rule() -> None:
    g = GraphRecorder("g")
    out = g.dispatch(AFFINE, x=g.input("x", u32, 9))["out"]
    assert len(out) == 9
    assert [(b.name, b.kind.value, b.count) for b in g.build().buffers] == [
        ("x", "input", 9),
        ("affine.out", "temporary", 9),
    ]


def test_arrays_and_numbers_become_parts_of_the_graph() -> None:
    with program("scale", workgroup_size=1) as p:
        x, by = p.read("x", f32), p.uniform("by", f32, 1)
        out = p.write("out", f32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * by[0]
    g = GraphRecorder("g")
    g.dispatch(p.build(), x=np.ones(3, np.float32), by=2.5)
    g.dispatch(p.build(), x=np.ones(3, np.float32), by=np.int64(7))
    uploads = [node for node in g.build().nodes if isinstance(node, UploadNode)]
    assert [u.data for u in uploads] == [np.float32(x).tobytes() for x in ([1, 1, 1], 2.5, [1, 1, 1], 7)]


def test_slices_are_ranges() -> None:
    x = GraphRecorder("g").input("x", u32, 10)
    assert x[2:5].range == BufferRange("x", 2, 3)
    assert x[2:5][1:].range == BufferRange("x", 3, 2)
    assert x[-3:].range == BufferRange("x", 7, 3)
    for wrong in (slice(0, 11), slice(0, 5, 2), 3):
        with pytest.raises(BuildError, match="Fix: "):
            x[wrong]
    with pytest.raises(BuildError, match="the elements of a range are not known before the graph is launched"):
        x == x[:]  # noqa: B015 - what is tested


def test_the_configuration_of_a_node() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 100)
    g.dispatch(AFFINE, x=x, invocations=50)
    node = g.build().nodes[0]
    assert isinstance(node, DispatchNode)
    assert node.config == DispatchConfig(grid_override=(1, 1, 1))
    with pytest.raises(InvalidLaunch, match="got both"):
        g.dispatch(AFFINE, x=x, invocations=5, config=DispatchConfig(grid_override=(1, 1, 1)))


def test_names_are_told_apart() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 4)
    for _ in range(3):
        g.dispatch(AFFINE, x=x)
    assert [node.name for node in g.build().nodes] == ["affine", "affine#2", "affine#3"]


def test_a_range_of_another_graph_is_refused_at_once() -> None:
    one, other = GraphRecorder("one"), GraphRecorder("other")
    x = other.input("x", u32, 4)
    with pytest.raises(BuildError, match="a range of graph 'other', expected one of graph 'one'") as caught:
        one.dispatch(AFFINE, x=x)
    assert str(caught.value).endswith("call the other graph with `call`")


@pytest.mark.parametrize(
    "record",
    [
        lambda g, x: g.input("y", u32, 4),
        lambda g, x: g.temporary(u32, 4),
        lambda g, x: g.resident("y", u32, 4),
        lambda g, x: g.dispatch(AFFINE, x=x),
        lambda g, x: g.upload(x, np.zeros(4, np.uint32)),
        lambda g, x: g.copy(x, x),
        lambda g, x: g.fill(x),
        lambda g, x: g.output("y", x),
        lambda g, x: g.repeat(2),
        lambda g, x: g.call(g.build(), x=x),
        lambda g, x: g.__enter__(),
        lambda g, x: x.copy(),
        lambda g, x: x.astype(f32),
        lambda g, x: x.assign(np.zeros(4, np.uint32)),
    ],
)
def test_nothing_is_recorded_after_the_block(record: Callable[[GraphRecorder, RecordedRange], object]) -> None:
    with GraphRecorder("a") as g:
        x = g.input("x", u32, 4)
        g.output("out", x)
    before = str(g.build())
    with pytest.raises(BuildError, match=r"^graph 'a': it records no more: its `with` block has ended") as caught:
        record(g, x)
    assert caught.value.fix == "record within the block, or begin another graph"
    assert str(g.build()) == before


def test_a_block_that_raises_ends_too() -> None:
    g = GraphRecorder("a")
    with pytest.raises(ZeroDivisionError), g:
        raise ZeroDivisionError
    with pytest.raises(BuildError, match="records no more"):
        g.input("x", u32, 4)


@pytest.mark.parametrize("misuse", [lambda x: x + 1, lambda x: 2 * x, lambda x: -x, lambda x: x @ x])
def test_ranges_have_no_arithmetic(misuse: Callable[[RecordedRange], object]) -> None:
    x = GraphRecorder("g").input("x", f32, 4)
    with pytest.raises(TypeError, match=r"range x.* has no arithmetic\. Fix: call a kernel, or a function such as"):
        misuse(x)


@pytest.mark.parametrize("misuse", [lambda x: x < 1, lambda x: x == x[:], lambda x: np.ones(4) + x])
def test_elements_of_ranges_are_not_known(misuse: Callable[[RecordedRange], object]) -> None:
    x = GraphRecorder("g").input("x", f32, 4)
    with pytest.raises(BuildError, match="the elements of a range are not known before the graph is launched"):
        misuse(x)


def test_an_input_that_is_missing_is_refused_where_its_outputs_are_left_out() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 4)
    with pytest.raises(
        InvalidInput, match=r"argument 'y': got nothing, expected a range of u32\. Fix: pass an array for"
    ):
        g.dispatch(ADD, x=x)
    with pytest.raises(
        InvalidInput, match=r"'yy': got a name that the program has no input of.* Fix: pass 'y', which is"
    ):
        g.dispatch(ADD, x=x, yy=x)


def test_a_part_of_a_range_is_not_assigned_to() -> None:
    x = GraphRecorder("g").input("x", f32, 4)
    with pytest.raises(BuildError, match=r"Fix: write x\[start:stop\]\.assign"):
        x[:2] = x[2:]


def test_what_is_no_range_is_refused_at_once() -> None:
    g = GraphRecorder("g")
    y = g.input("y", u32, 4)
    with pytest.raises(BuildError, match="expected a range of this graph"):
        g.dispatch(MIX, y=np.zeros(4, np.uint32))  # written, so a constant has no meaning
    with pytest.raises(InvalidInput, match=r"expected an array of uint32"):
        g.dispatch(AFFINE, x=np.zeros(4, np.int8))
    with pytest.raises(InvalidInput, match="expected a value of u32"):
        g.fill(y, -1)
    with pytest.raises(BuildError, match="expected what build"):
        g.dispatch("affine")  # type: ignore[arg-type]
    with pytest.raises(BuildError, match="expected an integer of at least 0"):
        g.temporary(u32, -1)
    with pytest.raises(BuildError, match="expected a type"):
        g.temporary("u32", 1)  # type: ignore[arg-type]


def test_a_loop_that_is_open_and_one_that_failed() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 4)
    with g.repeat(2), pytest.raises(BuildError, match="a loop is still open"):
        g.build()
    with pytest.raises(ZeroDivisionError), g.repeat(2):
        g.fill(x, 1 // 0)
    (loop,) = g.build().nodes
    assert isinstance(loop, RepeatNode)
    assert loop.body == ()
