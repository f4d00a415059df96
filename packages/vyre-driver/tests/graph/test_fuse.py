"""Vertical fusion: what is fused, what is not, and the programs that come out."""

from __future__ import annotations

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.fuse import fuse
from vyre_driver.graph.guard import guarded
from vyre_driver.graph.nodes import DispatchNode, Graph, walk
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.testing.graphs import programs
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.text import print_program

AFFINE, ADD, MIX, REVERSE = (programs()[name] for name in ("affine", "add", "mix", "reverse"))


def mix_out() -> Program:
    with program("mix_out", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        out[i] = x[i] ^ (x[i] >> 3)
    return p.build()


def names(graph: Graph, fused: bool = True) -> list[str]:
    flat = flatten(graph)
    return [n.name for n in walk((fuse(flat) if fused else flat).graph.nodes) if isinstance(n, DispatchNode)]


def test_a_temporary_that_no_other_node_uses_vanishes() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 100)
    g.output("y", g.dispatch(mix_out(), x=g.dispatch(AFFINE, x=x)["out"])["out"])
    (node,) = (n for n in fuse(flatten(g.build())).graph.nodes)
    assert isinstance(node, DispatchNode)
    assert node.name == "affine+mix_out"
    assert node.config == DispatchConfig(grid_override=(2, 1, 1))
    assert (
        print_program(node.program)
        == """\
program affine_mix_out workgroup(64, 1, 1) {
  read x: u32[] @0;
  write out_1: u32[len(x)] @1;

  var out_element = 0;
  out_element = x[global_id.x] * 3 + 1;
  out_1[global_id.x] = out_element ^ out_element >> 3;
}
"""
    )


def test_a_temporary_that_others_use_is_stored() -> None:
    g = GraphRecorder("g")
    t = g.dispatch(AFFINE, x=g.input("x", u32, 100))["out"]
    g.output("y", g.dispatch(AFFINE, x=t)["out"])
    g.output("t", t)
    (node,) = fuse(flatten(g.build())).graph.nodes
    assert isinstance(node, DispatchNode)
    assert [(b.name, b.access.value) for b in node.program.buffers] == [
        ("x", "read"),
        ("out", "write"),
        ("out_1", "write"),
    ]


def test_a_chain_with_two_readers_and_memory_in_place() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 100)
    t = g.dispatch(AFFINE, x=x)["out"]
    u = g.dispatch(ADD, x=t, y=t)["out"]
    g.dispatch(MIX, y=u)
    g.output("y", g.dispatch(ADD, x=u, y=t)["out"])
    flat = fuse(flatten(g.build()))
    (node,) = flat.graph.nodes
    assert isinstance(node, DispatchNode)
    assert node.name == "affine+add+mix+add#2"
    assert {part.buffer for _, part in node.ranges} == {"x", "add#2.out"}


def test_nodes_between_that_are_independent_do_not_matter() -> None:
    g = GraphRecorder("g")
    x, other = g.input("x", u32, 100), g.input("other", u32, 100)
    t = g.dispatch(AFFINE, x=x)["out"]
    g.dispatch(REVERSE, x=other, name="between")
    g.dispatch(AFFINE, x=t, name="last")
    assert names(g.build()) == ["between", "affine+last"]
    g.dispatch(MIX, y=x)  # writes what the producer reads, so that is not delayed
    g.dispatch(MIX, y=x, name="again")
    assert names(g.build()) == ["between", "affine+last", "mix+again"]


def test_a_producer_is_not_moved_behind_a_write_to_what_it_reads() -> None:
    g = GraphRecorder("g")
    x, other = g.input("x", u32, 100), g.input("other", u32, 100)
    t = g.dispatch(AFFINE, x=x)["out"]
    g.dispatch(unaligned("scatter"), x=other, out=x)
    g.dispatch(AFFINE, x=t, name="last")
    assert names(g.build()) == ["affine+last", "scatter"]  # the consumer moves up instead
    g = GraphRecorder("g")
    x, other = g.input("x", u32, 100), g.input("other", u32, 100)
    t = g.dispatch(AFFINE, x=x)["out"]
    r = g.dispatch(unaligned("scatter"), x=other, out=x)["out"]
    g.dispatch(ADD, x=t, y=r, name="last")
    assert names(g.build()) == ["affine", "scatter", "last"]


@pytest.mark.parametrize("consumer", ["reverse", "scatter", "local", "barrier", "atomic", "trap", "return", "longer"])
def test_what_is_not_proven_is_not_fused(consumer: str) -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 128)
    t = g.dispatch(AFFINE, x=x)["out"]
    if consumer == "reverse":
        g.dispatch(REVERSE, x=t)
    elif consumer == "longer":
        g.dispatch(AFFINE, x=t[:64])
    elif consumer == "atomic":
        total = g.temporary(u32, 1)
        g.fill(total)
        g.dispatch(unaligned(consumer), x=t, total=total)
    else:
        g.dispatch(unaligned(consumer), x=t)
    graph = g.build()
    assert names(graph) == names(graph, fused=False)


def unaligned(kind: str) -> Program:
    with program(kind, workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x) if kind != "atomic" else p.read_write("total", u32, 1)
        i = p.global_id(0)
        match kind:
            case "scatter":
                out[i ^ 1] = x[i]
            case "local":
                out[i] = x[i] + p.local_id(0)
            case "barrier":
                out[i] = x[i]
                p.barrier()
            case "trap":
                with p.if_(x[i] == 0):
                    p.trap(1, "zero")
                out[i] = x[i]
            case "return":
                with p.if_(x[i] == 0):
                    p.return_()
                out[i] = x[i]
            case "atomic":
                out.atomic_add(0, x[i])
    return p.build()


# ── guards ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_guarded_program() -> None:
    program_ = guarded(programs()["split"])
    assert program_ is not None
    assert (
        print_program(program_)
        == """\
program split workgroup(64, 1, 1) {
  read x: u32[] @0;
  read_write low: u32[len(x)] @1;
  read_write high: u32[len(x)] @2;
  read go: u32[1] @3;

  if go[0] != 0 {
    low[global_id.x] = x[global_id.x] & 65535;
    if global_id.x % 2 == 0 {
      high[global_id.x] = x[global_id.x] >> 16;
    }
  }
}
"""
    )


@pytest.mark.parametrize("kind", ["barrier", "atomic", "trap", "return"])
def test_what_may_be_within_a_condition_of_the_whole_launch_is_guarded(kind: str) -> None:
    assert guarded(unaligned(kind)) is not None


def test_what_may_not_is_not() -> None:
    with program("indirect", workgroup_size=1) as p:
        grid, out = p.read("grid", u32, 3), p.write("out", u32, 1)
        p.indirect_dispatch(grid)
        out[0] = 1
    assert guarded(p.build()) is None
    with program("waits", workgroup_size=1) as p:
        out = p.read_write("out", u32, 4)
        out[0] = 1
        p.grid_barrier()
        out[1] = out[0]
    assert guarded(p.build()) is None
