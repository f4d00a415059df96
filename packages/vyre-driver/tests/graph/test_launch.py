"""Launches of graphs: outputs, counts of calls, and what is refused before anything runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vyre_driver.errors import (
    DeviceOutOfMemory,
    DispatchTimeout,
    InvalidInput,
    LaunchCancelled,
    ShadowDiverged,
    StaleHandle,
    Trapped,
    UnsupportedFeature,
)
from vyre_driver.graph.evaluate import evaluate as evaluate_graph
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.observe.graphs import check_graph
from vyre_driver.policy.loop import batches
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.testing.graphs import programs, random_graph
from vyre_driver.testing.mock import MockBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

from .conftest import ArrayBackend, evaluate

AFFINE, ADD, MIX, DOWN = (programs()[name] for name in ("affine", "add", "mix", "count_down"))
X = np.arange(100, dtype=np.uint32)


@pytest.mark.parametrize("seed", [*range(16), *(pytest.param(n, marks=pytest.mark.slow) for n in range(16, 40))])
def test_every_executor_gives_what_numpy_gives(seed: int, backend: ArrayBackend) -> None:
    made = random_graph(seed)
    definition = evaluate_graph(made.graph, backend, {name: x.view(np.uint8) for name, x in made.inputs.items()})
    on_queue = compile_graph(made.graph, backend, fusion=False)
    on_host = compile_graph(made.graph, MockBackend(evaluate))
    assert (on_queue.executor, on_host.executor) == ("queue", "host")
    assert on_host.reason == "mock does not support resident buffer allocation"
    results = [definition, on_queue.run(made.inputs), on_queue.launch(made.inputs).result(), on_host.run(made.inputs)]
    for result in results:
        assert result.keys() == made.outputs.keys()
        for name, expected in made.outputs.items():
            np.testing.assert_array_equal(result[name].view(np.uint32), expected)


def test_a_hundred_dependent_steps_are_two_calls(backend: ArrayBackend) -> None:
    g = GraphRecorder("chain")
    part, expected = g.input("x", u32, 100), X
    for _ in range(100):
        part, expected = g.dispatch(AFFINE, x=part)["out"], expected * np.uint32(3) + np.uint32(1)
    g.output("y", part)
    run = compile_graph(g.build(), backend, fusion=False)
    backend.log.clear()
    np.testing.assert_array_equal(run.run(x=X)["y"], expected)
    assert [call for call in backend.log if call != "dispatch"] == ["upload", "sequence", "download"]
    assert backend.log.count("dispatch") == 100


def test_a_loop_with_a_flag_is_run_in_batches(backend: ArrayBackend) -> None:
    g = GraphRecorder("loop")
    left = g.input("left", u32, 1)
    with g.repeat(1000, until_zero=left):
        g.dispatch(DOWN, left=left)
    g.output("left", left)
    run = compile_graph(g.build(), backend)
    backend.log.clear()
    assert run.run(left=np.array([5], np.uint32))["left"] == [0]
    assert backend.log.count("sequence") == 3  # 1, 2 and 4 iterations
    assert run.loops["repeat"].is_batched


def test_a_loop_begins_with_as_many_iterations_as_before(backend: ArrayBackend) -> None:
    g = GraphRecorder("loop")
    left = g.input("left", u32, 1)
    with g.repeat(1000, until_zero=left):
        g.dispatch(DOWN, left=left)
    g.output("left", left)
    run = compile_graph(g.build(), backend)
    # As many as the lesser of the last two runs had, then 1, 2, 4 …
    for start, calls in [(5, 3), (5, 1), (9, 4), (9, 4), (9, 1), (2, 1), (2, 1), (300, 10), (300, 10), (300, 2)]:
        backend.log.clear()
        assert run.run(left=np.array([start], np.uint32))["left"] == [0]
        assert backend.log.count("sequence") == calls, start


def test_batches_have_the_limit_in_all() -> None:
    assert list(batches(20, [])) == [1, 2, 4, 8, 5]
    assert list(batches(20, [9, 7])) == [7, 1, 2, 4, 6]
    assert list(batches(3, [9, 7])) == [3]
    assert list(batches(600, [600])) == [256, 256, 88]


@pytest.mark.parametrize("use", ["no other", "an output", "a later node"])
@pytest.mark.parametrize("limit", [2, 1000])
def test_a_flag_that_each_iteration_resets(use: str, limit: int, backend: ArrayBackend) -> None:
    """One step of an iteration looks at the flag and resets it, unless the last reset would be seen."""
    g = GraphRecorder("loop")
    x, flag = g.input("x", u32, 1), g.temporary(u32, 1)
    with g.repeat(limit, until_zero=flag):
        g.dispatch(DOWN, left=x)
        g.fill(flag, 0)
        g.copy(x, flag)
    if use == "a later node":
        flag = g.dispatch(AFFINE, x=flag)["out"]
    g.output("x", x)
    if use != "no other":
        g.output("flag", flag)
    run, three = compile_graph(g.build(), backend, fusion=False), np.array([3], np.uint32)
    expected = evaluate_graph(run.graph, backend, {"x": three.view(np.uint8)})
    backend.log.clear()
    outputs = run.run(x=three)
    assert {name: array.tobytes() for name, array in outputs.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }
    steps = 3 if use == "no other" else 4
    assert backend.log.count("dispatch") == 1 + min(limit, 3) * steps + (use == "a later node")


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8])
def test_a_batch_does_not_pass_the_limit(limit: int, backend: ArrayBackend) -> None:
    g = GraphRecorder("loop")
    left = g.input("left", u32, 1)
    with g.repeat(limit, until_zero=left):
        g.dispatch(DOWN, left=left)
    g.output("left", left)
    assert compile_graph(g.build(), backend).run(left=np.array([100], np.uint32))["left"] == [100 - limit]


def test_a_loop_that_cannot_be_guarded_is_looked_at_after_each_iteration(backend: ArrayBackend) -> None:
    with program("mark", workgroup_size=1) as p:
        grid, left = p.read("grid", u32, 3), p.read_write("left", u32, 1)
        p.indirect_dispatch(grid)
        left[0] = left[0] - 1
    g = GraphRecorder("loop")
    left = g.input("left", u32, 1)
    with g.repeat(10, until_zero=left):
        g.dispatch(p.build(), left=left, grid=np.array([1, 1, 1], np.uint32))
    g.output("left", left)
    run = compile_graph(g.build(), backend)
    backend.log.clear()
    assert run.run(left=np.array([3], np.uint32))["left"] == [0]
    assert backend.log.count("sequence") == 3
    assert run.loops["repeat"].reason == "an iteration has a part that cannot be launched without effect"


def test_a_loop_without_a_flag_is_a_part_of_the_call(backend: ArrayBackend) -> None:
    g = GraphRecorder("loop")
    x = g.input("x", u32, 100)
    g.dispatch(MIX, y=x)
    with g.repeat(50):
        g.dispatch(MIX, y=x)
    g.output("x", x)
    run = compile_graph(g.build(), backend)
    backend.log.clear()
    run.run(x=X)
    assert [call for call in backend.log if call != "dispatch"] == ["upload", "sequence", "download"]


def test_a_launch_allocates_nothing(backend: ArrayBackend) -> None:
    made = random_graph(3)
    run = compile_graph(made.graph, backend, fusion=False)
    run.run(made.inputs)
    backend.log.clear()
    run.run(made.inputs)
    assert "allocate" not in backend.log


def test_resident_memory_is_used_in_place(backend: ArrayBackend) -> None:
    g = GraphRecorder("g")
    y = g.resident("y", u32, 100)
    g.dispatch(MIX, y=y)
    run = compile_graph(g.build(), backend)
    for _ in range(2):
        with backend.allocate_resident(400) as handle:
            backend.upload_resident(handle, X)
            assert run.run(y=handle) == {}
            np.testing.assert_array_equal(
                np.frombuffer(backend.download_resident(handle), np.uint32), X ^ (X >> np.uint32(3))
            )


# ── pending launches ─────────────────────────────────────────────────────────────────────────────────────────────────


def affine() -> GraphRecorder:
    g = GraphRecorder("affine")
    g.output("y", g.dispatch(AFFINE, x=g.input("x", u32, 100))["out"])
    return g


def test_launches_run_in_order_and_can_be_awaited_in_any(backend: ArrayBackend) -> None:
    with compile_graph(affine().build(), backend) as run:
        pending = [run.launch(x=X + np.uint32(n)) for n in range(5)]

        async def last() -> dict[str, Any]:
            return await pending[4]

        np.testing.assert_array_equal(asyncio.run(last())["y"], (X + np.uint32(4)) * np.uint32(3) + np.uint32(1))
        np.testing.assert_array_equal(run.run(x=X)["y"], X * np.uint32(3) + np.uint32(1))
        assert pending[0].is_ready()
        assert pending[0].result()["y"] is pending[0].result(timeout=0)["y"]


def test_a_wait_ends_at_its_timeout(backend: ArrayBackend) -> None:
    run = compile_graph(affine().build(), backend)
    with backend._guard.lock:
        pending = run.launch(x=X)
        with pytest.raises(DispatchTimeout, match="the launch of a graph on arrays"):
            pending.result(timeout=0.01)
        with pytest.raises(DispatchTimeout):
            pending.result(timeout=0)
        for wrong in (-1, float("nan"), float("inf"), "1"):
            with pytest.raises(InvalidInput, match="argument 'timeout'"):
                pending.result(timeout=wrong)  # type: ignore[arg-type]
        assert not pending.is_ready()
    assert len(pending.result()["y"]) == 100


def test_a_graph_that_was_closed_or_whose_device_was_opened_again_says_so(backend: ArrayBackend) -> None:
    run = compile_graph(affine().build(), backend)
    run.run(x=X)
    backend.forget_resources()
    with pytest.raises(
        StaleHandle, match=r"the compiled graph 'affine' cannot be used: .* Fix: compile the graph again"
    ):
        run.run(x=X)
    run.close()
    run.close()
    with pytest.raises(StaleHandle, match=r"it was closed. Fix: compile the graph again"):
        run.launch(x=X).result()


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "argument 'x': got nothing, expected an array of 100 u32"),
        ({"x": X, "z": X}, "argument 'z': got a name that the graph has no input of, expected one of x"),
        ({"x": X.astype(np.int32)}, "argument 'x': got one of int32, expected an array of uint32"),
        ({"x": X[:99]}, "argument 'x': got 99 elements, expected 100 elements of u32"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_by_the_call(
    arrays: dict[str, object], message: str, backend: ArrayBackend
) -> None:
    run = compile_graph(affine().build(), backend)
    for start in (run.run, run.launch):
        with pytest.raises(InvalidInput) as caught:
            start(arrays)
        assert str(caught.value).startswith(message)
        assert ". Fix: " in str(caught.value)


def test_handles_of_another_device_are_refused(
    backend: ArrayBackend, make_backend: Callable[..., ArrayBackend]
) -> None:
    g = GraphRecorder("g")
    a, b = g.resident("a", u32, 4), g.resident("b", u32, 4)
    g.dispatch(AFFINE, x=a, out=b)
    run = compile_graph(g.build(), backend)
    own, small, foreign = (
        backend.allocate_resident(16),
        backend.allocate_resident(8),
        make_backend("other").allocate_resident(16),
    )
    with pytest.raises(
        StaleHandle, match="buffer 'b' cannot be used: it belongs to backend 'other', the graph runs on"
    ):
        run.run(a=own, b=foreign)
    with pytest.raises(InvalidInput, match=r"'b': got 8 bytes, expected 16 bytes \(4 elements of u32\)"):
        run.run(a=own, b=small)
    with pytest.raises(InvalidInput, match="got the handle of 'a', expected memory apart from 'a'"):
        run.run(a=own, b=own)
    with pytest.raises(InvalidInput, match="'b': got ndarray, expected a handle of resident memory"):
        run.run(a=own, b=X)


def test_too_little_memory_is_refused_with_numbers(make_backend: Callable[..., ArrayBackend]) -> None:
    graph = affine().build()
    assert compile_graph(graph, make_backend(memory=800)).run(x=X)["y"].size == 100
    with pytest.raises(DeviceOutOfMemory) as caught:
        compile_graph(graph, make_backend(memory=799))
    assert str(caught.value) == (
        "graph 'affine': the device is out of memory: 800 bytes are needed, 799 are available. "
        "Fix: use smaller buffers, or split the graph (400 of inputs, 400 of temporaries, 0 of constants)"
    )


def test_resident_buffers_need_a_backend_that_has_them() -> None:
    g = GraphRecorder("g")
    g.dispatch(MIX, y=g.resident("y", u32, 4))
    with pytest.raises(UnsupportedFeature, match="resident buffer allocation"):
        compile_graph(g.build(), MockBackend(evaluate))


def test_a_node_that_the_device_cannot_run_is_named_with_its_line(backend: ArrayBackend) -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 100)
    g.dispatch(MIX, y=x)
    g.dispatch(AFFINE, x=x, invocations=2**31, name="wide")
    run = g.build()
    profile = backend.device_profile()
    backend.device_profile = lambda: profile.__class__(  # type: ignore[method-assign]
        backend="arrays",
        max_workgroup_size=(1024,) * 3,
        max_invocations_per_workgroup=1024,
        max_workgroups=(65535,) * 3,
    )
    with pytest.raises(UnsupportedFeature) as caught:
        compile_graph(run, backend)
    assert str(caught.value).startswith(f"node 'wide' ({__file__}:")
    assert "workgroups on x (at most 65535)" in str(caught.value)


def test_a_node_that_fails_ends_the_launch_with_its_name(
    backend: ArrayBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    g = GraphRecorder("g")
    x = g.input("x", u32, 100)
    g.dispatch(MIX, y=x, name="first")
    with g.repeat(5, name="loop"):
        g.fill(x)
        g.dispatch(MIX, y=x, name="second")
    g.output("x", x)
    run, dispatch, count = compile_graph(g.build(), backend), backend.dispatch, 0

    def failing(*given: Any) -> Any:
        nonlocal count
        count += 1
        if count == 7:
            raise Trapped("too large", 7, 3, where="program 'mix'")
        return dispatch(*given)

    monkeypatch.setattr(backend, "dispatch", failing)
    with pytest.raises(Trapped) as caught:
        run.launch(x=X).result()
    assert str(caught.value).startswith(f"node 'loop.second' ({__file__}:")
    assert "program 'mix': invocation 3 trapped with 'too large', code 7" in str(caught.value)


def test_a_failure_says_which_contents_are_undefined(backend: ArrayBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    g = GraphRecorder("g")
    x, y = g.resident("x", u32, 100), g.resident("y", u32, 100)
    g.dispatch(AFFINE, x=x, out=y)
    run = compile_graph(g.build(), backend)
    handles = {name: backend.allocate_resident(400) for name in "xy"}
    backend.upload_resident(handles["x"], X)

    def failing(*given: Any) -> Any:
        raise Trapped("too large", 7, 3)

    monkeypatch.setattr(backend, "dispatch", failing)
    for launch in (lambda: run.run(handles), lambda: run.launch(handles).result()):
        with pytest.raises(Trapped) as caught:
            launch()
        assert caught.value.__notes__ == ["The contents of 'y' are undefined now."]
    assert backend.download_resident(handles["x"]) == X.tobytes()


def test_a_launch_is_cancelled_before_its_next_call(backend: ArrayBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    g = GraphRecorder("loop")
    left = g.input("left", u32, 1)
    with g.repeat(1000, until_zero=left):
        g.dispatch(DOWN, left=left)
    g.output("left", left)
    run, dispatch = compile_graph(g.build(), backend), backend.dispatch
    begun, go_on = threading.Event(), threading.Event()

    def waiting(*given: Any) -> Any:
        begun.set()
        assert go_on.wait(10)
        return dispatch(*given)

    monkeypatch.setattr(backend, "dispatch", waiting)
    first, second = (run.launch(left=np.array([900], np.uint32)) for _ in range(2))
    assert begun.wait(10)
    assert first.cancel()
    assert second.cancel()
    go_on.set()
    for pending in (first, second):
        with pytest.raises(LaunchCancelled, match="the launch of graph 'loop' was cancelled"):
            pending.result(10)
        assert not pending.cancel()
    assert backend.log.count("sequence") == 1
    assert run.run(left=np.array([3], np.uint32))["left"] == [0]


def test_a_task_that_is_cancelled_cancels_its_launch(backend: ArrayBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    g = GraphRecorder("loop")
    left = g.input("left", u32, 1)
    with g.repeat(1000, until_zero=left):
        g.dispatch(DOWN, left=left)
    g.output("left", left)
    run, dispatch, go_on = compile_graph(g.build(), backend), backend.dispatch, threading.Event()

    def waiting(*given: Any) -> Any:
        assert go_on.wait(10)
        return dispatch(*given)

    monkeypatch.setattr(backend, "dispatch", waiting)
    pending = run.launch(left=np.array([900], np.uint32))

    async def awaiting() -> None:
        async def wait() -> None:
            await pending

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(awaiting())
    go_on.set()
    with pytest.raises(LaunchCancelled):
        pending.result(10)


# ── comparisons ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_launch_is_compared_with_the_definition(
    backend: ArrayBackend, make_backend: Callable[..., ArrayBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, reference = compile_graph(affine().build(), backend), make_backend("right")
    np.testing.assert_array_equal(check_graph(run, reference, {"x": X})["y"], X * np.uint32(3) + np.uint32(1))
    right = backend.dispatch

    def wrong(*given: Any) -> Any:
        (out,) = right(*given)
        out[4 * 7] ^= 1
        return [out]

    monkeypatch.setattr(backend, "dispatch", wrong)
    with pytest.raises(ShadowDiverged) as caught:
        check_graph(run, reference, {"x": X})
    assert str(caught.value).startswith(
        "graph 'affine': arrays does not agree with right: y[7]: got 23 (0x00000017), expected 22 (0x00000016)"
    )


def test_graphs_over_resident_memory_are_not_compared(backend: ArrayBackend) -> None:
    g = GraphRecorder("g")
    g.dispatch(MIX, y=g.resident("y", u32, 4))
    with pytest.raises(UnsupportedFeature, match="comparisons of graphs with resident buffers"):
        check_graph(compile_graph(g.build(), backend), backend, {})
