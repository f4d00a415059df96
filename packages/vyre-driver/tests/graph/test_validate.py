"""Each rule of graphs: a least graph that breaks it, and the finding with its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import InvalidGraph
from vyre_driver.graph.nodes import BufferKind, BufferRange, CopyNode, FillNode, Graph, GraphBuffer, UploadNode
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.validate import RULES
from vyre_driver.testing.graphs import programs
from vyre_foundation.build import program
from vyre_foundation.dtype import f16, f32, u32
from vyre_foundation.explain import explain_rules
from vyre_foundation.ir.program import Program

AFFINE, ADD, MIX = (programs()[name] for name in ("affine", "add", "mix"))


def persistent() -> Program:
    with program("counts", workgroup_size=1) as p:
        total, out = p.persistent("total", u32, 1), p.write("out", u32, 1)
        total[0] = total[0] + 1
        out[0] = total[0]
    return p.build()


def callee() -> Graph:
    with GraphRecorder("callee") as g:
        g.output("y", g.dispatch(AFFINE, x=g.input("x", u32, 4))["out"])
    return g.build()


def two_buffers(g: GraphRecorder) -> None:
    g.input("x", u32, 4)
    g.input("x", u32, 4)


def two_outputs(g: GraphRecorder) -> None:
    x = g.input("x", u32, 4)
    g.output("y", x)
    g.output("y", x)


def unbound(g: GraphRecorder) -> None:
    g.dispatch(ADD, x=g.input("x", u32, 4), out=g.temporary(u32, 4))


def unknown(g: GraphRecorder) -> None:
    x = g.input("x", u32, 4)
    g.dispatch(AFFINE, x=x, z=x)


def another_type(g: GraphRecorder) -> None:
    g.dispatch(AFFINE, x=g.input("x", f32, 4), out=g.temporary(u32, 4))


def results_of_another_type(g: GraphRecorder) -> None:
    """What the wrong node does not write is its fault, and no finding of the nodes behind it."""
    out = g.dispatch(AFFINE, x=g.input("x", f32, 4))["out"]
    g.output("y", g.dispatch(AFFINE, x=out)["out"])
    g.output("z", out)


def copy_of_fewer_bytes(g: GraphRecorder) -> None:
    g.copy(g.input("x", f16, 4), g.temporary(u32, 4))


def output_of_another_length(g: GraphRecorder) -> None:
    g.dispatch(AFFINE, x=g.input("x", u32, 4), out=g.temporary(u32, 5))


def of_four() -> Program:
    with program("four", workgroup_size=1) as p:
        x, out = p.read("x", u32, 4), p.write("out", u32, 4)
        out[0] = x[0]
    return p.build()


def input_of_another_length(g: GraphRecorder) -> None:
    g.dispatch(of_four(), x=g.input("x", u32, 3), out=g.temporary(u32, 4))


def copy_of_another_length(g: GraphRecorder) -> None:
    g.copy(g.input("x", u32, 4), g.temporary(u32, 5))


def overlap(g: GraphRecorder) -> None:
    x = g.input("x", u32, 10)
    g.dispatch(AFFINE, x=x[0:5], out=x[4:9])


def copy_onto_itself(g: GraphRecorder) -> None:
    x = g.input("x", u32, 10)
    g.copy(x[0:5], x[3:8])


def unwritten(g: GraphRecorder) -> None:
    g.dispatch(AFFINE, x=g.temporary(u32, 4))


def written_in_part(g: GraphRecorder) -> None:
    t = g.temporary(u32, 4)
    g.fill(t[0:3])
    g.dispatch(MIX, y=t)


def unwritten_flag(g: GraphRecorder) -> None:
    with g.repeat(3, until_zero=g.temporary(u32, 1)):
        pass


def no_iterations(g: GraphRecorder) -> None:
    with g.repeat(0):
        pass


def wide_flag(g: GraphRecorder) -> None:
    with g.repeat(3, until_zero=g.input("flag", u32, 2)):
        pass


def float_flag(g: GraphRecorder) -> None:
    with g.repeat(3, until_zero=g.input("flag", f32, 1)):
        pass


def with_persistent(g: GraphRecorder) -> None:
    g.dispatch(persistent())


def with_timeout(g: GraphRecorder) -> None:
    g.dispatch(AFFINE, x=g.input("x", u32, 4), config=DispatchConfig(timeout=1))


def call_of_another_length(g: GraphRecorder) -> None:
    g.call(callee(), x=g.input("x", u32, 5))


def call_unbound(g: GraphRecorder) -> None:
    g.call(callee())


def call_onto_its_input(g: GraphRecorder) -> None:
    x = g.input("x", u32, 4)
    g.call(callee(), x=x, y=x)


@pytest.mark.parametrize(
    ("record", "code", "text"),
    [
        (two_buffers, "G001", "another buffer has this name"),
        (two_outputs, "G001", "several outputs are called 'y'"),
        (unbound, "G003", "program 'add' got no range for 'y'"),
        (unknown, "G003", "program 'affine' has no 'z', it has x, out"),
        (call_unbound, "G003", "graph 'callee' got no range for 'x'"),
        (another_type, "G004", "'x' got a range of f32, expected u32"),
        (results_of_another_type, "G004", "'x' got a range of f32, expected u32"),
        (output_of_another_length, "G005", "'out' got 5 elements, expected 4 by the program's rules"),
        (input_of_another_length, "G005", "argument 'x': got 12 bytes, expected 16 bytes"),
        (copy_of_another_length, "G005", "got 4 elements of u32 for 5 of u32"),
        (copy_of_fewer_bytes, "G005", "got 4 elements of f16 for 4 of u32"),
        (call_of_another_length, "G005", "'x' got 5 elements, expected 4"),
        (overlap, "G006", "'x' is x[0:5] and 'out' is x[4:9]: they overlap, and one is written"),
        (copy_onto_itself, "G006", "'source' is x[0:5] and 'target' is x[3:8]"),
        (call_onto_its_input, "G006", "'x' is x[0:4] and 'y' is x[0:4]"),
        (unwritten, "G007", "nothing has written element 0 of the temporary 'temporary'"),
        (written_in_part, "G007", "nothing has written element 3 of the temporary 'temporary'"),
        (unwritten_flag, "G007", "repeat, until_zero"),
        (no_iterations, "G008", "got a limit of 0 iterations"),
        (wide_flag, "G008", "got 2 elements of u32 as the flag"),
        (float_flag, "G008", "got 1 elements of f32 as the flag"),
        (with_persistent, "G009", "'total' is persistent memory"),
        (with_timeout, "G009", "the configuration has a timeout"),
    ],
)
def test_a_broken_rule_is_found(record: Callable[[GraphRecorder], None], code: str, text: str) -> None:
    recorder = GraphRecorder("g")
    record(recorder)
    with pytest.raises(InvalidGraph) as caught:
        recorder.build()
    findings = caught.value.findings
    assert [finding.code for finding in findings] == [code]
    assert text in str(findings[0])
    assert re.search(rf"\({re.escape(__file__)}:\d+\): .*\. Fix: .+$", str(caught.value))


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (FillNode("fill", bytes(4), BufferRange("y", 0, 4)), "G002"),
        (FillNode("fill", bytes(4), BufferRange("x", 2, 4)), "G002"),
        (FillNode("fill", bytes(2), BufferRange("x", 0, 4)), "G004"),
        (UploadNode("upload", bytes(8), BufferRange("x", 0, 4)), "G005"),
        (CopyNode("copy", BufferRange("x", -1, 1), BufferRange("x", 0, 1)), "G002"),
    ],
)
def test_rules_that_the_recorder_keeps_by_itself(node: FillNode | UploadNode | CopyNode, code: str) -> None:
    with pytest.raises(InvalidGraph) as caught:
        Graph("g", (GraphBuffer("x", BufferKind.INPUT, u32, 4),), (node,)).validate()
    assert [finding.code for finding in caught.value.findings] == [code]


def test_all_findings_at_once_in_recorded_order() -> None:
    g = GraphRecorder("g")
    unwritten(g)
    with g.repeat(0):
        written_in_part(g)
    overlap(g)
    with pytest.raises(InvalidGraph) as caught:
        g.build()
    assert [finding.code for finding in caught.value.findings] == ["G007", "G008", "G007", "G006"]
    assert [finding.where for finding in caught.value.findings] == ["affine", "repeat", "repeat.mix", "affine#2"]


def test_of_many_findings_the_message_lists_the_first_ones() -> None:
    g = GraphRecorder("g")
    for _ in range(30):
        unwritten(g)
    with pytest.raises(InvalidGraph) as caught:
        g.build()
    lines = str(caught.value).splitlines()
    assert (len(caught.value.findings), len(lines)) == (30, 22)
    assert lines[-1] == "… and 10 more, which `findings` of this error has"


def test_writes_in_parts_make_a_whole() -> None:
    g = GraphRecorder("g")
    t = g.temporary(u32, 10)
    for start, stop in ((7, 10), (0, 3), (3, 5), (4, 7)):
        g.fill(t[start:stop])
    g.dispatch(MIX, y=t)
    assert g.build().validate().dispatches == 1


def test_what_is_known_about_a_valid_graph() -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 10)
    with g.repeat(3):
        g.copy(g.dispatch(AFFINE, x=x)["out"], x)
    facts = g.build().validate()
    assert (facts.dispatches, facts.copies, facts.loops) == (1, 1, 1)
    assert facts.bytes == {BufferKind.INPUT: 40, BufferKind.TEMPORARY: 40, BufferKind.RESIDENT: 0}


def test_every_rule_is_on_its_page() -> None:
    page = (Path(__file__).parents[4] / "docs/graphs.md").read_text("utf-8")
    assert dict(re.findall(r"^\| (G\d+) \| (.*) \|$", page, re.MULTILINE)) == dict(RULES)


def test_every_rule_is_explained() -> None:
    explained = {known.code: known.meaning for known in explain_rules("vyre_driver.errors")}
    assert explained == dict(RULES)
