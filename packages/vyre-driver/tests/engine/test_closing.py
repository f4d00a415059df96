"""Ends: of backends that are dropped, and of devices that are closed while other threads use them."""

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine import session as session
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import DispatchFailed, DispatchTimeout, StaleHandle
from vyre_driver.testing.fake_port import FakeMemory, FakePort

from .conftest import over_arrays
from .programs import DOUBLED, A, Engine, double, doubling


@contextmanager
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def test_a_backend_that_is_dropped_gives_all_back_at_once() -> None:
    """No reference cycle leads through it, so nothing waits for the collector."""
    ports: list[weakref.ref[FakePort]] = []

    def open_port() -> FakePort:
        port = FakePort(over_arrays(double))
        ports.append(weakref.ref(port))
        return port

    with without_collector():
        backend = EngineBackend("fake", open_port)
        for _ in range(8):
            backend.dispatch(doubling(), [A])
        pipeline = backend.compile_native(doubling("another"))
        pipeline.dispatch([A])
        resource = backend.allocate_resident(20)
        backend.dispatch_async(doubling(), [A]).await_result()
        del pipeline, resource, backend
        assert [port() for port in ports] == [None]


def test_memory_is_freed_that_an_interrupt_keeps_from_whoever_asks_for_it(engine: Engine) -> None:
    """An error that a signal handler raises may come behind the allocation, before anything refers to it."""
    one = engine(double)
    with without_collector():
        with one.backend.session() as device:
            device.allocate(64)
            device.share(device.allocate(32))
            kept = device.allocate(16)
        one.backend.dispatch(doubling(), [A])
        counts = one.backend.backend_metric_snapshot()
        assert (counts["frees"], counts["bytes_freed"]) >= (2, 96)
        with one.backend.session() as device:
            device.free((kept,))


@dataclass(slots=True)
class Endless(FakePort):
    """No launch ends. What waits asks for the engine's wait_limit, as in a port of a device."""

    is_waiting: threading.Event = field(default_factory=threading.Event)

    def copy_out(self, memory: FakeMemory, into: memoryview, offset: int = 0) -> None:
        self.is_waiting.set()
        while True:
            time.sleep(self.wait_limit.seconds(0.01))


@contextmanager
def waiting_thread(backend: EngineBackend, port: Endless) -> Iterator[list[Exception]]:
    """A thread that waits for a dispatch without an end; what it raised."""
    raised: list[Exception] = []

    def wait() -> None:
        try:
            backend.dispatch(doubling(), [A])
        except StaleHandle as error:
            raised.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    port.is_waiting.wait(10)
    yield raised
    thread.join(10)
    assert not thread.is_alive()


def test_a_shutdown_ends_the_waits_of_other_threads() -> None:
    port = Endless(over_arrays(double), hangs=True)
    backend = EngineBackend("fake", lambda: port)
    started = time.perf_counter()
    with waiting_thread(backend, port) as raised:
        backend.shutdown()
    assert time.perf_counter() - started < 5
    assert [type(error) for error in raised] == [StaleHandle]
    assert "it was shut down" in str(raised[0])
    with pytest.raises(StaleHandle, match="it was shut down"):
        backend.dispatch(doubling(), [A])


def test_a_recovery_ends_the_waits_of_other_threads() -> None:
    port = Endless(over_arrays(double), hangs=True)
    ports = iter([port, FakePort(over_arrays(double))])
    backend = EngineBackend("fake", lambda: next(ports))
    with waiting_thread(backend, port) as raised:
        backend.try_recover()
    assert len(raised) == 1
    assert bytes(backend.dispatch(doubling(), [A])[0]) == DOUBLED
    assert not backend.device_lost()


def test_what_cannot_be_stopped_is_closed_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a compiler: `shutdown` does not wait for it, `try_recover` says so."""
    monkeypatch.setattr(session, "CLOSING", 0.01)
    ports: list[FakePort] = []
    backend = EngineBackend("fake", lambda: ports.append(FakePort(over_arrays(double))) or ports[-1])  # type: ignore[func-returns-value]
    begun, end = threading.Event(), threading.Event()

    def compile_() -> None:
        with backend.session():
            begun.set()
            end.wait(10)

    thread = threading.Thread(target=compile_, daemon=True)
    thread.start()
    begun.wait(10)
    with pytest.raises(DispatchFailed, match="another thread's call did not end"):
        backend.try_recover()
    backend.shutdown()
    assert not ports[0].is_closed
    end.set()
    thread.join(10)
    assert ports[0].is_closed
    with pytest.raises(StaleHandle):
        backend.dispatch(doubling(), [A])


def test_a_deadline_ends_the_wait_for_another_thread(engine: Engine) -> None:
    backend = engine(double).backend
    backend.dispatch(doubling(), [A])
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        with backend.session():
            begun.set()
            end.wait(10)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    begun.wait(10)
    with pytest.raises(DispatchTimeout, match="waiting for another dispatch"):
        backend.dispatch(doubling(), [A], DispatchConfig(timeout=0.05))
    end.set()
    thread.join(10)
    assert bytes(backend.dispatch(doubling(), [A])[0]) == DOUBLED


def test_a_flush_waits_for_what_nobody_waits_for(engine: Engine) -> None:
    e = engine(double, is_lazy=True)
    pending = [e.backend.dispatch_async(doubling(), [A]) for _ in range(3)]
    e.backend.dispatch_async(doubling(), [A])
    assert not any(one.is_ready() for one in pending)
    e.backend.flush()
    assert all(one.is_ready() for one in pending)
    assert [bytes(one.await_result()[0]) for one in pending] == [DOUBLED] * 3


def test_a_flush_opens_no_device() -> None:
    def open_port() -> FakePort:
        raise AssertionError("opened")

    EngineBackend("fake", open_port).flush()


def test_what_a_dropped_dispatch_held_is_free_at_the_next_call(engine: Engine) -> None:
    e, source = engine(double), doubling()
    e.backend.dispatch(source, [A])
    before = e.backend.backend_metric_snapshot()
    for _ in range(20):
        e.backend.dispatch_async(source, [A])
    assert bytes(e.backend.dispatch(source, [A])[0]) == DOUBLED
    after = e.backend.backend_metric_snapshot()
    held = [counts["bytes_allocated"] - counts["bytes_freed"] for counts in (before, after)]
    assert held[0] == held[1]
