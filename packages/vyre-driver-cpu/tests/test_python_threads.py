"""Dispatches of several Python threads run at the same time, each on memory of its own."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.cached_launch import CachedLaunch
from vyre_driver.errors import DispatchTimeout, StaleHandle
from vyre_driver.tune.queue import QueueChoice
from vyre_driver_cpu.port import CpuPort
from vyre_driver_cpu.probe import CALLER, THREADS
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse

PATIENCE = 30.0
"""Seconds that a thread waits for another one before the test has failed."""
SETTLED = 8
"""Dispatches after which the queue of a launch is settled."""
LONG = 1 << 40
"""More iterations than a test can wait for."""

MIXING = """\
program mixing workgroup(64, 1, 1) {
  read x: u32[] @0;
  read n: u32[1] @1;
  write out: u32[len(x)] @2;

  var s = x[global_id.x];
  for k in 0..%s { s = (s ^ k) * 7; }
  out[global_id.x] = s;
}
"""


def mixing(steps: int | None) -> Program:
    """A program whose loop has a constant number of steps; None: the number in the input `n`."""
    return parse(MIXING % ("n[0]" if steps is None else steps))


def mixed(x: np.ndarray[Any, Any], steps: int) -> np.ndarray[Any, Any]:
    for k in range(steps):
        x = (x ^ np.uint32(k)) * np.uint32(7)
    return x


class Meeting:
    """Where runners wait until there are two of them, while it `is_open`."""

    def __init__(self) -> None:
        self.is_open = False
        self.barrier = threading.Barrier(2)

    def wait(self) -> None:
        if self.is_open:
            self.barrier.wait(PATIENCE)


class MeetingPort(CpuPort):
    """A port whose runners meet before they run."""

    def __init__(self, meeting: Meeting) -> None:
        super().__init__()
        self._meeting = meeting

    def runner(self, *args: Any, **named: Any) -> Callable[[Sequence[Any]], None]:
        run = super().runner(*args, **named)

        def meet(values: Sequence[Any]) -> None:
            self._meeting.wait()
            run(values)

        return meet


class Opened:
    """A backend whose launches meet, and what is known of them."""

    def __init__(self) -> None:
        self.meeting = Meeting()
        self.backend = EngineBackend("mine", partial(MeetingPort, self.meeting))

    def contend(self, others: int) -> None:
        """Count this many other threads as users of the device."""
        with self.backend.session() as device:
            device.others[:] = [None] * others

    @property
    def launches(self) -> list[CachedLaunch]:
        return list(self.backend._dispatcher.launch_cache.entries.values())

    def both(self, work: Callable[[int], Any]) -> list[Any]:
        """What two threads give that must be in their kernels at the same time."""
        self.meeting.is_open = True
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(work, range(2)))
        self.meeting.is_open = False
        return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    monkeypatch.setenv("VYRE_CPU_THREADS", "2")
    opened = Opened()
    yield opened
    opened.backend.shutdown()
    counters = opened.backend.backend_metric_snapshot()
    assert counters["allocations"] == counters["frees"]
    assert counters["bytes_allocated"] == counters["bytes_freed"]


@pytest.fixture
def in_queue(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, float], None]:
    """Make the choice of a queue settle on one, with a shortest time in nanoseconds."""

    def use(queue: int, ns: float) -> None:
        def took(choice: QueueChoice, _: int) -> bool:
            choice.verdict = choice.verdict.__class__(queue, "the test's")
            choice.shortest[queue] = ns
            choice.is_watching = False
            return True

        monkeypatch.setattr(QueueChoice, "took", took)

    return use


def dispatch(backend: EngineBackend, program: Program, steps: int, number: int) -> None:
    x = np.arange(number, number + 300, dtype=np.uint32)
    (out,) = backend.dispatch(program, [x, np.array([steps], np.uint32)])
    assert np.array_equal(np.frombuffer(out, np.uint32), mixed(x, steps))


def test_threads_run_in_their_kernels_at_the_same_time(opened: Opened, in_queue: Callable[[int, float], None]) -> None:
    in_queue(CALLER, 50_000)
    program = mixing(3)
    for _ in range(3):
        dispatch(opened.backend, program, 3, 0)
    for _ in range(5):
        opened.both(partial(dispatch, opened.backend, program, 3))
    assert opened.backend.backend_metric_snapshot()["prepares"] == 3, "one before it was settled, and one for each"


@pytest.mark.parametrize("steps", [5, None])
def test_so_do_those_of_the_pool_when_there_are_as_many_threads_as_workers(
    steps: int | None, opened: Opened, in_queue: Callable[[int, float], None]
) -> None:
    """Also where the loop follows the data: then each has a thread beside it."""
    in_queue(THREADS, 500_000)
    program = mixing(steps)
    for _ in range(3):
        dispatch(opened.backend, program, 5, 0)
    assert [launch.queue for launch in opened.launches] == [THREADS]
    opened.contend(1)
    for _ in range(5):
        opened.both(partial(dispatch, opened.backend, program, 5))
    assert [launch.queue for launch in opened.launches] == [THREADS, CALLER]


@pytest.mark.parametrize(("ns", "are_left"), [(20_000_000, True), (500_000, False)])
def test_long_launches_of_the_pool_leave_the_device(
    ns: float, are_left: bool, opened: Opened, in_queue: Callable[[int, float], None]
) -> None:
    """Another thread may use it meanwhile, although there are more workers than threads."""
    in_queue(THREADS, ns)
    program = mixing(None)
    for _ in range(3):
        dispatch(opened.backend, program, 5, 0)
    (launch,) = opened.launches
    assert launch.contention == (0 if are_left else 1)
    opened.meeting.is_open = True
    with ThreadPoolExecutor(1) as thread:
        pending = thread.submit(dispatch, opened.backend, program, 5, 0)
        while not opened.meeting.barrier.n_waiting:
            time.sleep(0.001)
        if are_left:
            with opened.backend.session() as device:  # while the runner waits
                assert len(device.others) == 1
        opened.meeting.wait()
        pending.result(PATIENCE)
    assert [launch.queue for launch in opened.launches] == [THREADS]


def test_outputs_of_the_caller_are_used(opened: Opened, in_queue: Callable[[int, float], None]) -> None:
    """Those that are large."""
    in_queue(CALLER, 50_000)
    program, x, steps = mixing(3), np.arange(20_000, dtype=np.uint32), np.array([3], np.uint32)
    for _ in range(3):
        opened.backend.dispatch(program, [x, steps])

    def into(number: int) -> bool:
        target = np.zeros(x.size, np.uint32)
        outputs: list[Any] = [target]
        opened.backend.dispatch_borrowed_into(program, [x + np.uint32(number), steps], DispatchConfig(), outputs)
        return outputs[0] is target and np.array_equal(target, mixed(x + np.uint32(number), 3))

    assert opened.both(into) == [True, True]


def test_brief_launches_keep_the_lock(opened: Opened, in_queue: Callable[[int, float], None]) -> None:
    """Giving it to another thread would take longer than the launch."""
    in_queue(CALLER, 5_000)
    program = mixing(3)
    for _ in range(3):
        dispatch(opened.backend, program, 3, 0)
    opened.meeting.is_open = True
    opened.meeting.barrier = threading.Barrier(1)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(partial(dispatch, opened.backend, program, 3), range(50)))
    (launch,) = opened.launches
    assert launch.is_brief
    assert not launch.idle
    assert opened.backend.backend_metric_snapshot()["prepares"] == 1


def test_dispatches_with_a_timeout_are_one_by_one(opened: Opened, in_queue: Callable[[int, float], None]) -> None:
    in_queue(CALLER, 50_000)
    program, config = mixing(3), DispatchConfig(timeout=PATIENCE)
    x, steps = np.arange(300, dtype=np.uint32), np.array([3], np.uint32)
    for _ in range(3):
        opened.backend.dispatch(program, [x, steps])
    before = opened.backend.backend_metric_snapshot()["prepares"]
    with ThreadPoolExecutor(2) as threads:
        outputs = threads.map(lambda _: opened.backend.dispatch(program, [x, steps], config), range(20))
    assert all(np.array_equal(np.frombuffer(out, np.uint32), mixed(x, 3)) for (out,) in outputs)
    assert opened.backend.backend_metric_snapshot()["prepares"] == before


def long_running(opened: Opened) -> tuple[Program, Any, Any, Any]:
    """A program that has settled and runs beside another thread; a vector, few steps, and very many."""
    program = parse(MIXING.replace("u32[1]", "u64[1]").replace("s ^ k", "s ^ u32(k)") % "n[0]")
    x, few, many = np.arange(300, dtype=np.uint32), np.array([5], np.uint64), np.array([LONG], np.uint64)
    for _ in range(3):
        opened.backend.dispatch(program, [x, few])
    opened.contend(1)
    return program, x, few, many


def test_a_timeout_is_that_of_one_thread(opened: Opened, in_queue: Callable[[int, float], None]) -> None:
    """A thread that waits without the lock is not ended by the timeout of the one that holds it."""
    in_queue(THREADS, 500_000)
    program, x, _, many = long_running(opened)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(opened.backend.dispatch, program, [x, many])
        end = time.monotonic() + PATIENCE
        while opened.backend.backend_metric_snapshot()["dispatches"] < 4 and time.monotonic() < end:
            time.sleep(0.01)
        with pytest.raises(DispatchTimeout):
            opened.backend.dispatch(program, [x, many], DispatchConfig(timeout=0.3))
        time.sleep(0.2)  # several parts of a wait
        assert not waiting.done()
        opened.backend.shutdown()
        with pytest.raises(StaleHandle, match="shut down"):
            waiting.result(PATIENCE)


def test_an_interrupt_ends_a_kernel_beside_a_thread(opened: Opened, in_queue: Callable[[int, float], None]) -> None:
    in_queue(THREADS, 500_000)
    program, x, few, many = long_running(opened)
    threading.Timer(0.2, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        opened.backend.dispatch(program, [x, many])
    opened.backend.flush()
    (out,) = opened.backend.dispatch(program, [x, few])
    assert np.array_equal(np.frombuffer(out, np.uint32), mixed(x, 5))
    assert opened.backend.backend_metric_snapshot()["failures"] == 1


def test_shutdown_ends_the_waits_of_other_threads(opened: Opened, in_queue: Callable[[int, float], None]) -> None:
    in_queue(THREADS, 500_000)
    program, x, _, many = long_running(opened)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(opened.backend.dispatch, program, [x, many])
        end = time.monotonic() + PATIENCE
        while opened.backend.backend_metric_snapshot()["dispatches"] < 4 and time.monotonic() < end:
            time.sleep(0.01)
        opened.backend.shutdown()
        with pytest.raises(StaleHandle, match="shut down"):
            waiting.result(PATIENCE)
