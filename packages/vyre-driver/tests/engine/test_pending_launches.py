"""Dispatches in flight: several at once, waited for in any order, by anybody, or not at all."""

import asyncio
import gc
import math
import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pending import PendingDispatch
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import (
    DeviceLost,
    DispatchFailed,
    DispatchTimeout,
    InvalidInput,
    KernelCompileFailed,
    PoisonedState,
    StaleHandle,
    Trapped,
)
from vyre_driver.testing.fake_port import FakeEvent, FakePort, InjectedError
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

from .conftest import over_arrays
from .programs import DOUBLED, A, Engine, UseLowering, double, doubling, trap_if_odd, with_traps, words


@pytest.fixture
def lazy(engine: Engine) -> SimpleNamespace:
    """An engine over a device that works when it is told to, or waited for."""
    return engine(double, is_lazy=True)


def begin(e: SimpleNamespace, source: Program, *numbers: int) -> list[PendingDispatch]:
    return [e.backend.dispatch_async(source, [np.full(5, n, np.uint32)]) for n in numbers]


def result(pending: PendingDispatch) -> int:
    (out,) = set(words(pending.await_result()[0]))
    return int(out)


def test_a_dispatch_becomes_ready(lazy: SimpleNamespace) -> None:
    pending = lazy.backend.dispatch_async(doubling(), [A])
    lazy.ports[0].work(1)
    assert not pending.is_ready()
    lazy.ports[0].work(10)
    assert pending.is_ready()
    assert pending.await_result() == [DOUBLED]
    assert pending.await_result() is pending.await_result()
    slots: list[Any] = [bytearray(20)]
    pending.await_result_into(slots)
    assert slots == [DOUBLED]
    assert lazy.backend.backend_metric_snapshot()["dispatches"] == 1


def test_the_device_hears_of_dispatches_that_are_waited_for_one_by_one(lazy: SimpleNamespace) -> None:
    """Before anything else is enqueued: so it can tell the end of each from the end of all."""
    pending = begin(lazy, doubling(), 1, 2)
    assert [call for call in lazy.ports[0].log if call in ("launch", "submit")] == ["launch", "submit"] * 2
    assert [result(one) for one in pending] == [2, 4]
    lazy.backend.dispatch(doubling(), [A])
    assert lazy.ports[0].count("submit") == 2


def test_a_device_may_be_lost_as_a_dispatch_begins(engine: Engine) -> None:
    e = engine(double, faults=[InjectedError("submit", DeviceLost("fake", "gone"))])
    with pytest.raises(DeviceLost):
        e.backend.dispatch_async(doubling(), [A])
    assert e.backend.device_lost()


def test_several_are_in_flight_and_come_in_any_order(lazy: SimpleNamespace) -> None:
    source = doubling()
    first = begin(lazy, source, 1, 2, 3, 4)
    assert [result(first[n]) for n in (2, 0, 3, 1)] == [6, 2, 8, 4]
    assert lazy.ports[0].count("wait") == 4
    prepares = lazy.backend.backend_metric_snapshot()["prepares"]
    again = begin(lazy, source, 5, 6, 7, 8)
    assert lazy.backend.dispatch(source, [np.full(5, 9, np.uint32)]) == [np.full(5, 18, np.uint32).tobytes()]
    assert [result(pending) for pending in reversed(again)] == [16, 14, 12, 10]
    assert lazy.backend.backend_metric_snapshot()["prepares"] == prepares  # the same memory again


def test_nobody_waits(lazy: SimpleNamespace) -> None:
    source = doubling()
    begin(lazy, source, 1, 2)
    gc.collect()
    assert result(begin(lazy, source, 3)[0]) == 6
    assert len(lazy.ports[0].live) == 2 * 2  # those of what nobody waited for are free


def test_await(lazy: SimpleNamespace) -> None:
    async def both() -> list[int]:
        source = doubling()
        pending = begin(lazy, source, 1, 2)

        async def value(one: PendingDispatch) -> int:
            return words((await one)[0])[0]

        waiting = [asyncio.create_task(value(one)) for one in pending]
        while not all(task.done() for task in waiting):
            lazy.ports[0].work(1)
            await asyncio.sleep(0)
        return [task.result() for task in waiting]

    assert asyncio.run(both()) == [2, 4]


def test_awaiting_asks_less_and_less_often(lazy: SimpleNamespace) -> None:
    async def wait() -> None:
        pending = lazy.backend.dispatch_async(doubling(), [A])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_outputs(pending), 0.2)

    asyncio.run(wait())
    assert 1 < lazy.ports[0].count("query") < 200  # at most every 2 ms, but for the first


def test_awaiting_ends_with_the_timeout_of_the_dispatch(engine: Engine) -> None:
    backend = engine(double, hangs=True).backend
    pending = backend.dispatch_async(doubling(), [A], DispatchConfig(timeout=0.1, label="slow"))
    with pytest.raises(DispatchTimeout, match=r"slow: the timeout of 0\.1 s passed during the kernels"):
        asyncio.run(asyncio.wait_for(_outputs(pending), 10))
    assert pending.is_ready()


async def _outputs(pending: PendingDispatch) -> object:
    return await pending


def test_patience_ends_and_the_dispatch_goes_on(engine: Engine) -> None:
    e = engine(double, hangs=True)
    pending = e.backend.dispatch_async(doubling(), [A])
    for _ in range(2):
        with pytest.raises(DispatchTimeout, match=r"the timeout of 0\.02 s passed during the kernels on fake"):
            pending.await_result(0.02)
    e.ports[0].hangs = False
    assert pending.await_result(5.0) == [DOUBLED]


@dataclass(slots=True)
class Asking(FakePort):
    """Asks for the engine's wait limit while it `hangs`, as the ports of devices do."""

    def wait(self, event: FakeEvent, timeout: float | None = None) -> bool:
        if self.hangs:
            time.sleep(self.wait_limit.seconds(0.03))
            self.wait_limit.seconds(0.01)
        return FakePort.wait(self, event, timeout)


@pytest.mark.parametrize("timeout", [0, 1e-9, 0.02])
def test_a_port_that_meets_the_limit_of_a_wait_leaves_the_dispatch_pending(timeout: float) -> None:
    port = Asking(over_arrays(double), hangs=True)
    backend = EngineBackend("fake", lambda: port)
    try:
        pending = backend.dispatch_async(doubling(), [A])
        for _ in range(2):
            with pytest.raises(DispatchTimeout, match="during the kernels on fake"):
                pending.await_result(timeout)
        port.hangs = False
        assert pending.await_result() == [DOUBLED]
    finally:
        backend.shutdown()


@pytest.mark.parametrize("timeout", [-1, -1e-9, math.nan, math.inf, 1e10, "1", True])
def test_what_cannot_limit_a_wait_is_refused(lazy: SimpleNamespace, timeout: Any) -> None:
    empty = DispatchConfig(grid_override=(0, 1, 1))
    for config in (DispatchConfig(), empty):
        pending = lazy.backend.dispatch_async(doubling(), [A], config)
        with pytest.raises(InvalidInput, match=r"argument 'timeout': got .*, expected a number of seconds from 0 to"):
            pending.await_result(timeout)
        assert len(pending.await_result()) == 1


def test_its_own_timeout_ends_it(engine: Engine) -> None:
    e, source = engine(double, hangs=True), doubling()
    pending = e.backend.dispatch_async(source, [A], DispatchConfig(timeout=0.2, label="slow"))
    caught = []
    for _ in range(2):
        with pytest.raises(DispatchTimeout, match="slow: the timeout") as info:
            pending.await_result()
        caught.append(info.value)
    assert caught[0] is caught[1]
    e.ports[0].hangs = False
    assert pending.is_ready()
    assert e.backend.dispatch(source, [A]) == [DOUBLED]


def test_inputs_are_kept_alive_or_copied(lazy: SimpleNamespace) -> None:
    """On a device with memory of its own both are copied at once."""
    given = A.copy()
    pending = [
        lazy.backend.dispatch_async(doubling(), [given]),
        lazy.backend.dispatch_borrowed_async(doubling(), [given]),
    ]
    given[:] = 0
    assert [bytes(one.await_result()[0]) for one in pending] == [DOUBLED, DOUBLED]


def test_a_grid_without_workgroups_is_ready_at_once(lazy: SimpleNamespace) -> None:
    pending = lazy.backend.dispatch_async(doubling(), [A], DispatchConfig(grid_override=(0, 1, 1)))
    assert pending.is_ready()
    assert pending.await_result() == [bytes(20)]


def test_errors_of_the_call_come_from_the_call(lazy: SimpleNamespace) -> None:
    lazy.backend.prepare()
    lazy.ports[0].faults = [InjectedError("compile", KernelCompileFailed("fake", "log"))]
    with pytest.raises(KernelCompileFailed):
        lazy.backend.dispatch_async(doubling(), [A])
    assert lazy.ports[0].live == set()


@pytest.mark.parametrize("call", ["wait", "copy_out"])
def test_errors_of_the_device_come_from_the_wait_and_stay(lazy: SimpleNamespace, call: str) -> None:
    source = doubling()
    failing, other = begin(lazy, source, 1, 2)
    error = DispatchFailed("no", backend="fake")
    lazy.ports[0].faults = [InjectedError(call, error)]
    for _ in range(2):
        with pytest.raises(DispatchFailed) as caught:
            failing.await_result()
        assert caught.value is error
    assert failing.is_ready()
    assert result(other) == 4
    counts = lazy.backend.backend_metric_snapshot()
    assert (counts["failures"], counts["dispatches"]) == (1, 1)


def test_an_interrupt_during_a_wait_leaves_it_in_flight(lazy: SimpleNamespace) -> None:
    (pending,) = begin(lazy, doubling(), 1)
    lazy.ports[0].faults = [InjectedError("wait", KeyboardInterrupt())]
    with pytest.raises(KeyboardInterrupt):
        pending.await_result()
    assert result(pending) == 2


def test_an_interrupt_during_readback_ends_it(lazy: SimpleNamespace) -> None:
    (pending,) = begin(lazy, doubling(), 1)
    lazy.ports[0].faults = [InjectedError("copy_out", KeyboardInterrupt())]
    with pytest.raises(KeyboardInterrupt):
        pending.await_result()
    with pytest.raises(DispatchFailed, match="KeyboardInterrupt during readback"):
        pending.await_result()


def test_a_trap(engine: Engine, lowering: UseLowering) -> None:
    lowering(with_traps)
    e, source = engine(trap_if_odd, is_lazy=True), doubling()
    trapping, fine = begin(e, source, 1, 2)
    for _ in range(2):
        with pytest.raises(Trapped):
            trapping.await_result()
    assert result(fine) == 4


# ── the device goes away ──


@pytest.mark.parametrize("stage", ["compile", "copy_in", "fill", "launch", "wait", "copy_out"])
def test_the_device_is_lost_with_work_in_flight(lazy: SimpleNamespace, stage: str) -> None:
    source = doubling()
    pending = begin(lazy, source, 1, 2)
    meets = pending[0].await_result if stage in ("wait", "copy_out") else lambda: begin(lazy, counting(), 1)
    lazy.ports[0].faults = [InjectedError(stage, DeviceLost("fake", "unplugged"), lazy.ports[0].count(stage) + 1)]
    with pytest.raises(DeviceLost):
        meets()
    assert lazy.backend.device_lost()
    for one in pending:
        assert one.is_ready()
        with pytest.raises(DeviceLost, match="unplugged"):
            one.await_result()
    for refused in (lambda: lazy.backend.dispatch(source, [A]), lambda: lazy.backend.allocate_resident(4)):
        with pytest.raises(DeviceLost, match="unplugged"):
            refused()
    lazy.backend.try_recover()
    assert lazy.backend.dispatch(source, [A]) == [DOUBLED]
    with pytest.raises(StaleHandle, match="its device was closed"):
        pending[1].await_result()


def test_the_backend_ends_with_work_in_flight(lazy: SimpleNamespace) -> None:
    pending = begin(lazy, doubling(), 1, 2)
    lazy.backend.shutdown()
    for one in pending:
        assert one.is_ready()
        with pytest.raises(StaleHandle, match="it was shut down"):
            one.await_result()


def test_the_device_is_opened_again_with_work_in_flight(lazy: SimpleNamespace) -> None:
    (pending,) = begin(lazy, doubling(), 1)
    lazy.backend.try_recover()
    with pytest.raises(StaleHandle, match="the pending dispatch cannot be used: its device was closed"):
        pending.await_result()


# ── pipelines and threads ──


def counting() -> Program:
    with program("counting", 4) as p:
        a = p.read("a", u32)
        p.persistent("total", u32, like=a)
        p.write("out", u32, like=a)
    return p.build()


def count(x: Any) -> None:
    x["total"][:] += x["a"]
    x["out"][:] = x["total"]


def test_persistent_memory_is_in_the_order_of_the_calls(engine: Engine) -> None:
    e = engine(count, is_lazy=True)
    with e.backend.compile_native(counting()) as pipeline:
        pending = [pipeline.dispatch_async([np.full(2, n, np.uint32)]) for n in (1, 2, 3)]
        assert [result(one) for one in reversed(pending)] == [6, 3, 1]


def test_nothing_is_trusted_after_a_failure(engine: Engine) -> None:
    e = engine(count, is_lazy=True)
    with e.backend.compile_native(counting()) as pipeline:
        first, second = (pipeline.dispatch_async([np.full(2, n, np.uint32)]) for n in (1, 2))
        e.ports[0].faults = [InjectedError("wait", DispatchFailed("no", backend="fake"))]
        with pytest.raises(DispatchFailed):
            first.await_result()
        with pytest.raises(PoisonedState):
            second.await_result()
        with pytest.raises(PoisonedState):
            pipeline.dispatch([A])


def test_a_pipeline_is_closed_with_work_in_flight(lazy: SimpleNamespace) -> None:
    pipeline = lazy.backend.compile_native(doubling())
    pending = pipeline.dispatch_async([A])
    pipeline.close()
    assert pending.await_result() == [DOUBLED]


def test_threads_share_a_pipeline(engine: Engine) -> None:
    """Begun by some, waited for by others; the fake port asserts that no call is made inside of another."""
    e = engine(double)
    pipeline = e.backend.compile_native(doubling())
    wrong: list[object] = []

    def work(n: int) -> None:
        for turn in range(5):
            expected = np.full(5, 2 * (n + turn), np.uint32).tobytes()
            given = [np.full(5, n + turn, np.uint32)]
            ways = (
                lambda given=given: pipeline.dispatch_async(given).await_result(),
                lambda given=given: pipeline.dispatch(given),
                lambda given=given: pipeline.dispatch_batched([given, given])[1],
            )
            wrong.extend(got for got in (way() for way in ways) if got != [expected])

    threads = [threading.Thread(target=work, args=(10 * n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
