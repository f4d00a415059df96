"""A failure at any call of the device: a typed error comes out, nothing stays behind, and the next dispatch works."""

import threading
from collections.abc import Callable
from itertools import chain, permutations, repeat, takewhile
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.engine import launch_cache
from vyre_driver.errors import (
    BackendUnavailable,
    DeviceLost,
    DeviceOutOfMemory,
    DispatchFailed,
    DispatchTimeout,
    InvalidInput,
    InvalidLaunch,
    KernelCompileFailed,
    PoisonedState,
    StaleHandle,
    UnsupportedFeature,
)
from vyre_driver.testing.fake_port import InjectedError
from vyre_driver.tune.choice import LaunchChoice, size_bucket
from vyre_foundation.build import program
from vyre_foundation.dtype import u8, u32
from vyre_foundation.ir.program import Program

Engine = Callable[..., SimpleNamespace]


def adding() -> Program:
    with program("adding", 4) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] + b[i]
    return p.build()


def add(x: Any) -> None:
    x["out"][:] = x["a"] + x["b"]


A, B = np.arange(5, dtype=np.uint32), np.full(5, 7, np.uint32)
SUM = (A + B).tobytes()

PARTLY = DispatchConfig(grid_override=(1, 1, 1))
"""A workgroup for 4 of 5 elements: the output is filled first."""
FAULTS = [
    InjectedError("emit", UnsupportedFeature("it", backend="fake")),
    InjectedError("compile", KernelCompileFailed("fake", "log")),
    InjectedError("emit", KeyboardInterrupt()),
    InjectedError("compile", KeyboardInterrupt()),
    InjectedError("allocate", DispatchFailed("no", backend="fake")),
    InjectedError("allocate", DispatchFailed("no", backend="fake"), nth=3),
    InjectedError("copy_in", DispatchFailed("no", backend="fake")),
    InjectedError("copy_in", KeyboardInterrupt(), nth=2),
    InjectedError("fill", DispatchFailed("no", backend="fake")),
    InjectedError("launch", DispatchFailed("no", backend="fake")),
    InjectedError("launch", KeyboardInterrupt()),
    InjectedError("copy_out", DispatchFailed("no", backend="fake")),
    InjectedError("copy_out", KeyboardInterrupt()),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.call}-{f.nth}-{type(f.error).__name__}")
def test_nothing_stays_behind(engine: Engine, fault: InjectedError) -> None:
    e, source = engine(add, faults=[fault]), adding()
    with pytest.raises(type(fault.error)) as caught:
        e.backend.dispatch(source, [A, B], PARTLY)
    assert caught.value is fault.error
    assert e.ports[0].live == set()
    snapshot = e.backend.backend_metric_snapshot()
    assert (snapshot["failures"], snapshot["dispatches"]) == (1, 0)
    assert snapshot["allocations"] == snapshot["frees"]
    assert e.backend.dispatch(source, [A, B], PARTLY) == [SUM]


@pytest.mark.parametrize("fault", FAULTS[6:], ids=lambda f: f"{f.call}-{f.nth}-{type(f.error).__name__}")
def test_a_warm_launch_that_fails_is_forgotten(engine: Engine, fault: InjectedError) -> None:
    e, source = engine(add), adding()
    e.backend.dispatch(source, [A, B], PARTLY)
    e.ports[0].faults = [InjectedError(fault.call, fault.error, fault.nth + e.ports[0].count(fault.call))]
    with pytest.raises(type(fault.error)):
        e.backend.dispatch(source, [A, B], PARTLY)
    assert e.ports[0].live == set()
    assert e.backend.dispatch(source, [A, B], PARTLY) == [SUM]


@pytest.mark.parametrize("call", ["probe", "target"])
def test_a_device_that_does_not_open_is_closed_and_tried_again(engine: Engine, call: str) -> None:
    e = engine(add, faults=[InjectedError(call, BackendUnavailable("fake", "no"))])
    with pytest.raises(BackendUnavailable):
        e.backend.prepare()
    assert e.ports[0].is_closed
    with pytest.raises(BackendUnavailable):
        e.backend.dispatch(adding(), [A, B])
    assert len(e.ports) == 2


# ── a full device ──


def test_kept_launches_make_room_when_the_device_is_full(engine: Engine) -> None:
    e, source = engine(add), adding()
    e.backend.dispatch(source, [A, B])
    pipeline = e.backend.compile_native(source)
    pipeline.dispatch([A, B])
    (port,) = e.ports
    assert len(port.live) == 6
    port.faults = [InjectedError("allocate", DeviceOutOfMemory(8, 0), port.count("allocate") + 2)]
    assert e.backend.dispatch(source, [A[:2], B[:2]]) == [SUM[:8]]
    assert len(port.live) == 3
    assert pipeline.dispatch([A, B]) == [SUM]


def test_a_device_that_is_really_full(engine: Engine) -> None:
    e = engine(add, faults=[InjectedError("allocate", DeviceOutOfMemory(20, 0), nth) for nth in (2, 3)])
    with pytest.raises(DeviceOutOfMemory):
        e.backend.dispatch(adding(), [A, B])
    assert e.ports[0].live == set()


def test_few_launches_are_kept(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_cache, "MAX_LAUNCHES", 2)
    e, source = engine(add), adding()
    for n in (1, 2, 1, 3, 1, 2):
        e.backend.dispatch(source, [A[:n], B[:n]])
    assert e.backend.backend_metric_snapshot()["prepares"] == 4  # 2 was used longest ago when 3 came
    assert len(e.ports[0].live) == 2 * 3


def test_many_launches_over_resident_memory_decide_nothing_again(engine: Engine) -> None:
    """They share one plan, and end with the resources that they are over, without a look at all others."""
    e, source = engine(add), adding()
    resources = [e.backend.allocate_resident(20) for _ in range(12)]
    pipeline = e.backend.compile_native(source)
    threes = list(permutations(resources, 3))[:600]
    for planned, prepared in ((1, 600), (0, 0)):
        before = e.backend.backend_metric_snapshot()
        for three in threes:
            pipeline.dispatch_resident(list(three))
        after = e.backend.backend_metric_snapshot()
        assert (after["plans"] - before["plans"], after["prepares"] - before["prepares"]) == (planned, prepared)
    launches = pipeline._dispatcher.launch_cache
    e.backend.free_resident(threes[0][0])
    assert len(launches.entries) == sum(threes[0][0] not in three for three in threes)
    del threes, three
    for resource in resources[1:]:
        e.backend.free_resident(resource)
    assert not launches.entries
    assert not launches._over


def test_launches_of_other_lengths_options_or_choices_have_plans_of_their_own(engine: Engine) -> None:
    e, source = engine(add), adding()
    pipeline = e.backend.compile_native(source)

    def plans(size: int, config: DispatchConfig = DEFAULT_CONFIG) -> int:
        before = e.backend.backend_metric_snapshot()["plans"]
        pipeline.dispatch_resident([e.backend.allocate_resident(size) for _ in range(3)], config)
        return e.backend.backend_metric_snapshot()["plans"] - before

    assert [plans(20), plans(20), plans(16), plans(20)] == [1, 0, 1, 0]
    assert [plans(20, PARTLY), plans(20, PARTLY)] == [1, 0]
    e.backend.take_choice(source, size_bucket([20, 20], DEFAULT_CONFIG), LaunchChoice(queue="other"))
    assert [plans(20), plans(20)] == [1, 0]


def test_of_many_launches_an_eighth_is_given_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_cache, "MAX_LAUNCHES", 16)
    e, source = engine(add), adding()
    for n in range(1, 18):
        e.backend.dispatch(source, [A[:1].repeat(n), B[:1].repeat(n)])
    assert len(e.ports[0].live) == 14 * 3
    before = e.backend.backend_metric_snapshot()["prepares"]
    for n in range(4, 18):
        e.backend.dispatch(source, [A[:1].repeat(n), B[:1].repeat(n)])
    assert e.backend.backend_metric_snapshot()["prepares"] == before


def test_little_memory_is_kept(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_cache, "MAX_CACHED_BYTES", 3 * 4 * 4)
    e, source = engine(add), adding()
    e.backend.dispatch(source, [A[:3], B[:3]])
    e.backend.dispatch(source, [A[:1], B[:1]])
    assert len(e.ports[0].live) == 2 * 3
    e.backend.dispatch(source, [A[:2], B[:2]])
    assert sum(len(m.contents) for m in e.ports[0].live) == 3 * 4 * 3
    e.backend.dispatch(source, [A, B])
    assert e.ports[0].live == set()


def test_of_much_memory_an_eighth_is_given_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_cache, "MAX_CACHED_BYTES", 16 * 3 * 4)
    e, source = engine(add), adding()
    for groups in range(1, 18):
        e.backend.dispatch(source, [A[:1], B[:1]], DispatchConfig(grid_override=(groups, 1, 1)))
    assert len(e.ports[0].live) == 14 * 3


def test_the_newest_launch_is_kept_if_it_fits_alone(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_cache, "MAX_CACHED_BYTES", 4 * 3 * 4)
    e, source = engine(add), adding()
    for n in (1, 4):
        e.backend.dispatch(source, [A[:n], B[:n]])
    assert sum(len(m.contents) for m in e.ports[0].live) == 4 * 3 * 4


# ── time ──


def test_a_kernel_that_takes_too_long(engine: Engine) -> None:
    e, source = engine(add, hangs=True), adding()
    with pytest.raises(DispatchTimeout) as caught:
        e.backend.dispatch(source, [A, B], DispatchConfig(timeout=5.0, label="slow one"))
    assert str(caught.value).startswith("slow one: the timeout of 5 s passed during the kernels on fake. Fix: ")
    assert e.ports[0].live == set()
    e.ports[0].hangs = False
    assert e.backend.dispatch(source, [A, B], DispatchConfig(timeout=5.0)) == [SUM]


def test_the_time_is_looked_at_between_the_stages(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that passes the deadline at each look at it in turn; the first look makes the deadline."""
    from vyre_driver.engine import pending

    def stage_at(looks: int) -> str:
        e, source = engine(add), adding()
        e.backend.prepare()
        clock = chain(repeat(0.0, 1 + 1 + looks), repeat(2.0))  # the deadline, the lock, then the stages
        monkeypatch.setattr(pending, "time", SimpleNamespace(monotonic=lambda: next(clock)))
        with pytest.raises(DispatchTimeout) as caught:
            e.backend.dispatch(source, [A, B], DispatchConfig(timeout=1.0, fixpoint_iterations=2))
        assert e.ports[0].live == set()
        return str(caught.value.fields["stage"])

    stages = list(takewhile(lambda stage: stage != "launch", map(stage_at, range(1000))))
    assert list(dict.fromkeys(stages)) == ["legalization", "emission", "compilation", "upload"]
    assert stages.count("legalization") > 10  # between the passes
    assert [stage_at(len(stages) + n) for n in range(2)] == ["launch", "launch"]


def test_waiting_for_another_thread_counts(engine: Engine) -> None:
    entered, leave = threading.Event(), threading.Event()

    def slow(x: Any) -> None:
        entered.set()
        leave.wait(10)

    e, source = engine(slow), adding()
    other = threading.Thread(target=e.backend.dispatch, args=(source, [A, B]))
    other.start()
    assert entered.wait(10)
    with pytest.raises(DispatchTimeout, match="during waiting for another dispatch"):
        e.backend.dispatch(source, [A, B], DispatchConfig(timeout=0.01))
    leave.set()
    other.join()


def test_threads_take_turns(engine: Engine) -> None:
    """The fake port asserts that no call is made inside of another."""
    e, source = engine(add), adding()
    results: list[object] = []

    def work(n: int) -> None:
        for length in (n, 5, n):
            results.append(e.backend.dispatch(source, [A[:length], B[:length]]) == [SUM[: 4 * length]])

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 12


# ── the end of a device ──


def test_a_lost_device_stays_lost_until_it_is_recovered(engine: Engine) -> None:
    e, source = engine(add), adding()
    pipeline = e.backend.compile_native(source)
    pipeline.dispatch([A, B])
    e.ports[0].faults = [InjectedError("launch", DeviceLost("fake", "unplugged"), nth=2)]
    with pytest.raises(DeviceLost):
        e.backend.dispatch(source, [A, B])
    assert e.backend.device_lost()
    with pytest.raises(DeviceLost, match="the device of fake is lost: unplugged"):
        e.backend.dispatch(source, [A, B])
    e.backend.try_recover()
    assert not e.backend.device_lost()
    assert e.ports[0].is_closed
    assert e.backend.dispatch(source, [A, B]) == [SUM]
    with pytest.raises(StaleHandle, match="the pipeline cannot be used: its device was closed"):
        pipeline.dispatch([A, B])
    pipeline.close()
    assert e.backend.compile_native(source).dispatch([A, B]) == [SUM]


def test_shutdown_ends_everything(engine: Engine) -> None:
    e, source = engine(add), adding()
    pipeline = e.backend.compile_native(source)
    pipeline.dispatch([A, B])
    e.backend.dispatch(source, [A, B])
    e.backend.shutdown()
    assert e.ports[0].is_closed
    assert e.ports[0].live == set()
    for use in (pipeline.dispatch, lambda inputs: e.backend.dispatch(source, inputs)):
        with pytest.raises(StaleHandle) as caught:
            use([A, B])
        assert str(caught.value) == "backend 'fake' cannot be used: it was shut down. Fix: acquire it again"
    pipeline.close()
    e.backend.shutdown()


# ── pipelines ──


def counting() -> Program:
    with program("counting", 4) as p:
        a = p.read("a", u8)
        p.persistent("total", u32, like=a)
        p.write("out", u32, like=a)
    return p.build()


def count(x: Any) -> None:
    x["total"][:] += x["a"]
    x["out"][:] = x["total"]


ONE = np.ones(2, np.uint8)


def totals(outputs: list[memoryview]) -> list[int]:
    return list(np.frombuffer(outputs[0], np.uint32).tolist())


def test_a_pipeline_keeps_persistent_memory(engine: Engine) -> None:
    e, source = engine(count), counting()
    with e.backend.compile_native(source) as first, e.backend.compile_native(source) as second:
        assert [totals(first.dispatch([ONE])) for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]
        assert totals(second.dispatch([ONE])) == [1, 1]
        assert totals(first.dispatch([ONE], DispatchConfig(grid_override=(7, 1, 1)))) == [4, 4]
        assert totals(e.backend.dispatch(source, [ONE])) == [1, 1]
        assert first.id() == second.id()
        assert first.id().startswith("fake:")
    assert e.backend.backend_metric_snapshot()["compiles"] == 1
    assert len(e.ports[0].live) == 3  # the backend's own launch


def test_persistent_memory_keeps_its_length(engine: Engine) -> None:
    pipeline = engine(count).backend.compile_native(counting())
    pipeline.dispatch([ONE])
    with pytest.raises(InvalidInput) as caught:
        pipeline.dispatch([np.ones(3, np.uint8)])
    assert (caught.value.buffer, caught.value.got) == ("total", "12 bytes")
    assert caught.value.needed == "8 bytes, as in the pipeline's first dispatch"
    assert totals(pipeline.dispatch([ONE])) == [2, 2]


def test_persistent_memory_is_not_trusted_after_a_failure(engine: Engine) -> None:
    e = engine(count)
    pipeline = e.backend.compile_native(counting())
    pipeline.dispatch([ONE])
    e.ports[0].faults = [InjectedError("copy_out", DispatchFailed("no", backend="fake"), nth=2)]
    with pytest.raises(DispatchFailed):
        pipeline.dispatch([ONE])
    assert e.ports[0].live == set()
    with pytest.raises(PoisonedState, match="a dispatch of this pipeline ended with DispatchFailed"):
        pipeline.dispatch([ONE])


def test_a_pipeline_that_fails_to_begin_leaves_nothing(engine: Engine) -> None:
    e = engine(count, faults=[InjectedError("fill", DispatchFailed("no", backend="fake"))])
    pipeline = e.backend.compile_native(counting())
    with pytest.raises(DispatchFailed):
        pipeline.dispatch([ONE])
    assert e.ports[0].live == set()
    assert totals(pipeline.dispatch([ONE])) == [1, 1]


def test_a_closed_pipeline(engine: Engine) -> None:
    e = engine(count)
    pipeline = e.backend.compile_native(counting())
    pipeline.dispatch([ONE])
    pipeline.close()
    pipeline.close()
    assert e.ports[0].live == set()
    with pytest.raises(StaleHandle, match="the pipeline cannot be used: it was closed"):
        pipeline.dispatch([ONE])


def test_a_pipeline_that_nobody_holds_is_freed_by_the_next_call(engine: Engine) -> None:
    e = engine(count)
    pipeline = e.backend.compile_native(counting())
    pipeline.dispatch([ONE])
    del pipeline
    assert len(e.ports[0].live) == 3
    e.backend.prepare()
    assert e.ports[0].live == set()


def test_every_form_of_a_pipeline_s_dispatch(engine: Engine) -> None:
    pipeline = engine(add).backend.compile_native(adding())
    slots: list[Any] = [bytearray(20)]
    pipeline.dispatch_into([A, B], None, slots)
    batches: list[Any] = [[], [], []]
    pipeline.dispatch_batched_into([[A, B], [B, B]], None, batches)
    assert slots == [SUM]
    assert batches == [[SUM], [(B + B).tobytes()]]
    assert pipeline.dispatch_batched([[A, B], [A, B]]) == [[SUM], [SUM]]
    assert pipeline.dispatch_timed([A, B]).device_ns == 1000


def test_what_is_compiled_in_cannot_be_changed(engine: Engine) -> None:
    pipeline = engine(add).backend.compile_native(adding(), DispatchConfig(ulp_budget=2))
    with pytest.raises(InvalidLaunch) as caught:
        pipeline.dispatch([A, B], DispatchConfig())
    assert str(caught.value) == (
        "ulp_budget: got 0, expected 2, which the pipeline was compiled with. "
        "Fix: compile a pipeline with that configuration"
    )
    assert pipeline.dispatch([A, B], DispatchConfig(ulp_budget=2, label="x")) == [SUM]
    assert pipeline.dispatch([A, B]) == [SUM]


def test_a_pipeline_is_refused_before_it_is_compiled(engine: Engine) -> None:
    e = engine(add)
    with pytest.raises(UnsupportedFeature, match="cooperative launches"):
        e.backend.compile_native(adding(), DispatchConfig(cooperative=True))
    assert e.ports[0].count("compile") == 0
