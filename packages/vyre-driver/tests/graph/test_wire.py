"""The wire form of graphs: one for each graph, refused when damaged; the fingerprint: equal for what means the same."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
from blake3 import blake3

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.errors import InvalidGraph
from vyre_driver.graph.nodes import MAX_NESTING, Graph, RepeatNode
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.wire import HEADER_SIZE, MAGIC, decode_graph as decode
from vyre_driver.testing.graphs import programs, random_graph
from vyre_foundation.dtype import f32, u32
from vyre_foundation.errors import TypeMismatch, VyreError
from vyre_foundation.wire import Unencodable, WireError

AFFINE, MIX = programs()["affine"], programs()["mix"]


def seal(payload: bytes) -> bytes:
    return MAGIC + b"\1\0" + blake3(payload).digest() + payload


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(n, marks=pytest.mark.slow) for n in range(12, 30))])
def test_decode_inverts_encode(seed: int) -> None:
    graph = random_graph(seed).graph
    data = graph.encode()
    assert decode(data) == graph
    assert decode(data).encode() == data
    assert decode(data).fingerprint() == graph.fingerprint()
    assert pickle.loads(pickle.dumps(graph)) == graph  # noqa: S301


def test_a_pickle_keeps_lines_and_shapes() -> None:
    called = GraphRecorder("called")
    v = called.input("v", u32, (2, 2))
    called.dispatch(MIX, y=v.reshape(4))
    called.output("sum", v)
    g = GraphRecorder("g")
    g.output("sum", g.call(called.build(), v=g.input("x", u32, (2, 2)))["sum"])
    graph = g.build()
    for other in (pickle.loads(pickle.dumps(graph)), copy.copy(graph), copy.deepcopy(graph)):  # noqa: S301
        assert (other, other.fingerprint()) == (graph, graph.fingerprint())
        assert (other.input_shapes, other.output_shapes) == ({"x": (2, 2)}, {"sum": (2, 2)})
        assert other.nodes[0].graph.output_shapes == {"sum": (2, 2)}
        assert (other.origin, other.buffers[0].origin) == (graph.origin, graph.buffers[0].origin)
        assert [node.origin for node in other.nodes] == [node.origin for node in graph.nodes]
        assert None not in (other.origin, other.buffers[0].origin, other.nodes[0].origin)


def test_every_option_of_a_dispatch_is_there() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 4)
    configs = [
        DispatchConfig(label="a"),
        DispatchConfig(ulp_budget=300),
        DispatchConfig(workgroup_override=(1, 2, 3), grid_override=(4, 5, 600)),
        DispatchConfig(fixpoint_iterations=7),
        DispatchConfig(speculation=Preference.FORCE, persistent_thread=Preference.DISABLE),
        DispatchConfig(cooperative=True),
    ]
    for config in configs:
        g.dispatch(MIX, y=x, config=config)
    graph = g.build()
    assert decode(graph.encode()) == graph
    g.dispatch(MIX, y=x, config=DispatchConfig(timeout=1))
    broken = Graph("g", graph.buffers, (*g._bodies[0],))
    with pytest.raises(Unencodable, match="a timeout"):
        broken.encode()


def test_damaged_bytes_give_a_graph_or_a_typed_error() -> None:
    rng = random.Random(1)
    blobs = [random_graph(number).graph.encode() for number in range(20)]
    refused = 0
    for number in range(300):
        payload = bytearray(blobs[number % len(blobs)][HEADER_SIZE:])
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(payload))
            match rng.randrange(3):
                case 0:
                    payload[place] ^= 1 << rng.randrange(8)
                case 1:
                    del payload[place : place + rng.randint(1, 9)]
                case _:
                    payload[place:place] = b"\xff" * rng.randint(1, 11)
        data = seal(bytes(payload))
        try:
            graph = decode(data)
        except VyreError:
            refused += 1
        else:
            assert graph.encode() == data
    assert refused > 200


def test_headers() -> None:
    data = random_graph(1).graph.encode()
    for damaged in (b"VYRE" + data[4:], data[:20], data[:4] + b"\2\0" + data[6:], data[:-1], data + b"x"):
        with pytest.raises(WireError, match="Fix: "):
            decode(damaged)
    with pytest.raises(WireError, match="1 bytes follow the end"):
        decode(seal(data[HEADER_SIZE:] + b"x"))


@pytest.mark.parametrize("given", ["text", None, 3])
def test_what_has_no_bytes_is_refused(given: Any) -> None:
    with pytest.raises(TypeMismatch, match=r"decode_graph got .*, expected bytes\. Fix: pass the bytes of `encode`"):
        decode(given)


def recorded(change: Callable[[GraphRecorder], None] = lambda g: None, **names: str) -> Graph:
    g = GraphRecorder(names.get("graph", "g"))
    x = g.input(names.get("x", "x"), u32, 4)
    t = g.temporary(u32, 4, names.get("t"))
    g.dispatch(AFFINE, x=x, out=t, name=names.get("node"))
    change(g)
    g.output(names.get("y", "y"), t)
    return g.build()


def test_names_that_nothing_outside_sees_have_no_part_in_the_fingerprint() -> None:
    expected = recorded().fingerprint()
    assert recorded(graph="h", t="other", node="first").fingerprint() == expected
    assert recorded(x="z").fingerprint() != expected
    assert recorded(y="z").fingerprint() != expected
    assert recorded(lambda g: g.fill(g.temporary(u32, 1), 0)).fingerprint() != expected
    assert recorded(lambda g: (g.input("more", f32, 1), None)[1]).fingerprint() != expected


def test_the_order_of_arguments_has_no_part_in_the_fingerprint() -> None:
    found = set()
    for order in (("x", "y"), ("y", "x")):
        g = GraphRecorder("g")
        parts = {"x": g.input("x", u32, 4), "y": g.input("y", u32, 4)}
        g.dispatch(programs()["add"], {name: parts[name] for name in order})
        found.add(g.build().fingerprint())
    assert len(found) == 1


def test_nesting_is_bounded() -> None:
    body: tuple[RepeatNode, ...] = ()
    for depth in range(MAX_NESTING + 2):
        graph = Graph("g", (), body)
        if depth <= MAX_NESTING:
            assert decode(graph.encode()) == graph
            graph.validate()
        body = (RepeatNode("loop", 1, None, body),)
    for refuse in (lambda: decode(graph.encode()), lambda: graph.validate()):
        with pytest.raises((WireError, InvalidGraph), match=r"loops (nest|are nested) deeper than 32"):
            refuse()


def twice(graph: Graph) -> GraphRecorder:
    g = GraphRecorder("twice")
    g.output("y", g.call(graph, x=g.call(graph, x=g.input("x", u32, 4))["y"])["y"])
    return g


def test_calls_are_bounded() -> None:
    """Each level calls the one below it twice: 2**n nodes from n graphs."""
    graph = recorded()
    for _ in range(17):
        graph = twice(graph).build()
    with pytest.raises(InvalidGraph, match="at most 1048576 are allowed"):
        twice(graph).build()
    assert 2**18 < graph.validate().nodes < 2**20
    assert decode(graph.encode()) == graph
