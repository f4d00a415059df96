"""What people see of programs, facts, plans and devices at a prompt: one short line."""

from __future__ import annotations

import numpy as np
import pytest

import vyre as vy
from vyre_driver import KernelProfile, Trace
from vyre_driver.backend.pending import ReadyPending
from vyre_driver.graph.nodes import Graph
from vyre_driver.plan.launch import plan_launch
from vyre_driver.schedule.pending import PendingGraph
from vyre_driver.testing.graphs import programs
from vyre_foundation import LengthOf


def histogram() -> vy.ProgramBuilder:
    with vy.program("histogram", workgroup_size=64) as p:
        text, count = p.read("text", vy.u8), p.read_write("count", vy.u32, 256)
        p.write("ends", vy.u32, LengthOf("text", over=4, plus=1))[p.global_id(0)] = vy.constant(vy.u32, 1)
        count.atomic_add(text[p.global_id(0)].cast(vy.u32), 1)
    return p


PROGRAM = histogram().build()
BACKEND = vy.backend_for("reference")
AFFINE = programs()["affine"]


def once() -> Graph:
    g = vy.graph("once")
    g.output("y", g.dispatch(AFFINE, x=g.input("x", vy.u32, 64))["out"])
    return g.build()


GRAPH = once()
LINES = {
    "builder": (histogram(), "<ProgramBuilder 'histogram': 3 buffers, 2 statements>"),
    "program": (PROGRAM, "<Program 'histogram': 3 buffers, 2 statements>"),
    "buffer": (PROGRAM.buffers[0], "<storage text: read u8[]>"),
    "derived length": (PROGRAM.buffers[2], "<storage ends: write u32[ceil(len(text) / 4) + 1]>"),
    "facts": (vy.validate(PROGRAM), "<Facts of 'histogram': features none; 0 locals>"),
    "plan": (
        plan_launch(PROGRAM, [100, 1024]),
        "<LaunchPlan of 'histogram': grid (4, 1, 1) of (64, 1, 1), 2 inputs, 2 outputs>",
    ),
    "config": (vy.DispatchConfig(timeout=1.5, label="night"), "DispatchConfig(timeout=1.5, label='night')"),
    "usual config": (vy.DispatchConfig(), "DispatchConfig()"),
    "backend": (BACKEND, "<ReferenceBackend 'reference'>"),
    "profile": (BACKEND.device_profile(), "<DeviceProfile of 'reference': host interpreter>"),
    "registration": (
        next(r for r in vy.registered_backends_by_precedence() if r.id == "reference"),
        "<BackendRegistration 'reference': precedence 900, selected by_name>",
    ),
    "graph": (GRAPH, "<Graph 'once': 2 buffers, 2 nodes>"),
    "graph facts": (
        GRAPH.validate(),
        "<GraphFacts: 2 nodes, 1 dispatches, 0 loops; input 256 bytes, temporary 256 bytes>",
    ),
    "pending graph": (PendingGraph("reference"), "<PendingGraph on 'reference': in flight>"),
    "pending dispatch": (ReadyPending([]), "<ReadyPending: ready>"),
    "kernel profile": (
        KernelProfile("k", "threads", (1, 1, 1), 1, 3, 1500.0, 1.0, 1.0, True, 0.5, 0.1),
        "<KernelProfile of 'k': 3 × 1.5 µs on 'threads', limited by memory>",
    ),
    "explanation": (
        vy.explain(AFFINE, x=np.zeros(4, np.uint32), backend=BACKEND),
        "<DispatchExplanation of 'affine': 6 verdicts>",
    ),
    "trace": (Trace(), "<Trace: 0 spans, 0 kernels>"),
    "value": (vy.constant(vy.u32, 1) + 2, "<u32 1 + 2>"),
    "op": (vy.OPS["add"], "<op add>"),
}


@pytest.mark.parametrize("name", LINES)
def test_reprs_are_one_short_line(name: str) -> None:
    value, line = LINES[name]
    assert repr(value) == line
    assert len(line) < 120


def test_a_pipeline_names_its_backend() -> None:
    pipeline = BACKEND.compile_native(PROGRAM, vy.DispatchConfig())
    assert repr(pipeline) == f"<ReferencePipeline 'reference:{PROGRAM.fingerprint()}'>"
