"""Buffers in parts, and waves: what is copied, uploaded and read when; NumPy is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vyre_driver.errors import Trapped
from vyre_driver.graph.flatten import flatten
from vyre_driver.graph.nodes import BufferRange, CopyNode, Graph, leaves
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.split import parts_of, split
from vyre_driver.schedule import choice, waves
from vyre_driver.schedule.choice import FormVerdict, GraphForm
from vyre_driver.schedule.compiled import compile_form, compile_graph
from vyre_driver.schedule.waves import in_waves
from vyre_driver.schedule.whole import whole_buffers
from vyre_driver.testing.graphs import programs, random_graph
from vyre_foundation.dtype import u32

from .conftest import ArrayBackend

AFFINE, ADD, MIX = (programs()[name] for name in ("affine", "add", "mix"))
IN_WAVES = FormVerdict(GraphForm(fusion=False, batching=False), "a test")


class Overlapping(ArrayBackend, contract=1):
    """It says that it copies beside launches, and does one after the other."""

    def supports_async_compute(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def small_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any transfer is worth a wave."""
    monkeypatch.setattr(waves, "LEAST_BYTES", 1)


def chunks(count: int = 3, size: int = 8) -> Graph:
    """Chunks of one buffer, recorded breadth first."""
    g = GraphRecorder("chunks")
    x, y = g.input("x", u32, count * size), g.temporary(u32, count * size)
    parts = [slice(n * size, (n + 1) * size) for n in range(count)]
    made = [g.dispatch(AFFINE, x=x[part])["out"] for part in parts]
    for part, one in zip(parts, made, strict=True):
        g.dispatch(AFFINE, x=one, out=y[part])
    g.output("y", y)
    return g.build()


def test_disjoint_parts_are_buffers_and_nothing_is_copied() -> None:
    flat = split(flatten(chunks()))
    assert [str(part) for part in flat.splits["x"]] == ["x[0:8]", "x[8:16]", "x[16:24]"]
    assert not [node for node in leaves(whole_buffers(flat).graph.nodes) if isinstance(node, CopyNode)]
    found = list(parts_of(flat, BufferRange("x", 4, 14)))
    assert found == [
        (BufferRange("x[0:8]", 4, 4), 0),
        (BufferRange("x[8:16]", 0, 8), 4),
        (BufferRange("x[16:24]", 0, 2), 12),
    ]


@pytest.mark.parametrize("use", ["overlapping", "whole", "unused and read"])
def test_other_parts_stay_parts(use: str) -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 16)
    g.dispatch(MIX, y=x[:8])
    match use:
        case "overlapping":
            g.dispatch(MIX, y=x[4:12])
        case "whole":
            g.dispatch(MIX, y=x)
        case _:
            g.dispatch(MIX, y=x[8:12])
    g.output("x", x)
    flat = flatten(g.build())
    assert split(flat) is flat


def test_waves_are_in_the_order_of_outputs() -> None:
    flat, found, reason = in_waves(whole_buffers(split(flatten(chunks()))))
    assert [wave.inputs for wave in found] == [["x[0:8]"], ["x[8:16]"], ["x[16:24]"]]
    assert [[node.name for node in wave.nodes] for wave in found] == [
        ["affine", "affine#4"],
        ["affine#2", "affine#5"],
        ["affine#3", "affine#6"],
    ]
    assert [len(wave.outputs) for wave in found] == [1, 1, 1]
    assert [node.name for wave in found for node in wave.nodes] == [node.name for node in flat.graph.nodes]
    assert reason == "3 waves, whose transfers of 192 bytes overlap with launches"


def test_what_has_no_waves_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 4)
    with g.repeat(2):
        g.dispatch(MIX, y=x)
    g.output("x", x)
    assert in_waves(flatten(g.build()))[1:] == ((), "it has loops")
    monkeypatch.setattr(waves, "LEAST_BYTES", 100)
    few = whole_buffers(split(flatten(chunks())))
    assert in_waves(few)[1:] == ((), "nothing to upload or to read in between takes 100 bytes")


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_in_waves_give_what_numpy_gives(seed: int) -> None:
    made = random_graph(500 + seed, steps=10)
    run = compile_form(made.graph, Overlapping(), IN_WAVES)
    for _ in range(2):
        outputs = run.run(made.inputs)
        for name, expected in made.outputs.items():
            np.testing.assert_array_equal(outputs[name], expected)


def test_a_launch_in_waves_is_one_call() -> None:
    backend = Overlapping()
    run, x = compile_form(chunks(), backend, IN_WAVES), np.arange(24, dtype=np.uint32)
    backend.log.clear()
    np.testing.assert_array_equal(run.run(x=x)["y"], (x * np.uint32(3) + np.uint32(1)) * np.uint32(3) + np.uint32(1))
    assert run.executor == "waves"
    assert backend.log == ["upload", "dispatch", "dispatch", "download"] * 3


def test_a_node_of_a_later_wave_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Overlapping()
    run, dispatch, count = compile_form(chunks(), backend, IN_WAVES), backend.dispatch, 0

    def failing(*given: Any) -> Any:
        nonlocal count
        count += 1
        if count == 4:
            raise Trapped("too large", 7, 3, where="program 'affine'")
        return dispatch(*given)

    monkeypatch.setattr(backend, "dispatch", failing)
    with pytest.raises(Trapped, match=r"^node 'affine#5' \("):
        run.run(x=np.zeros(24, np.uint32))


# ── which form ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rules_and_requests(backend: ArrayBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Overlapping("overlapping")
    assert (
        compile_graph(chunks(), backend).reason == "all of it is enqueued at once: the backend copies beside no launch"
    )
    assert compile_graph(chunks(), backend, overlap=True).executor == "queue"
    found = compile_graph(chunks(), both, fusion=False)
    assert found.reason == (
        "3 waves, whose transfers of 192 bytes overlap with launches: "
        "the device copies beside launches, and nothing was measured"
    )
    assert compile_graph(chunks(), both, overlap=False).reason.endswith("the caller has asked for it")
    shared = both.device_profile().__class__(backend="overlapping", shares_host_memory=True)
    monkeypatch.setattr(both, "device_profile", lambda: shared)
    assert choice.rule(both).reason == "copies take the processor from launches, and nothing was measured"


def test_a_compiled_graph_has_its_verdict(make_backend: Callable[..., ArrayBackend]) -> None:
    run = compile_form(chunks(), make_backend(), IN_WAVES)
    assert run.verdict == IN_WAVES
