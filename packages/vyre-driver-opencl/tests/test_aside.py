"""Waits that may take long: who blocks, what gets through, and what is left behind."""

import _thread
import threading
import time
from collections.abc import Iterator

import pyopencl as cl
import pytest

from vyre_driver.engine import pending
from vyre_driver.engine.pending import Deadline, WaitLimit
from vyre_driver.errors import DispatchTimeout, StaleHandle
from vyre_driver_opencl import order
from vyre_driver_opencl.opened import open_device
from vyre_driver_opencl.order import Order
from vyre_driver_opencl.queues import WorkQueue


class Gate:
    """An event of the user on a real context, which comes when the test says so, and work that ends with it."""

    def __init__(self, backend_id: str) -> None:
        opened = open_device(backend_id)
        self.wait_limit = WaitLimit()
        self.order = Order(self.wait_limit, opened.context)
        self.event = cl.UserEvent(opened.context)
        self.work = self.order.entered(WorkQueue(opened.context, opened.queues[-1]), self.event, (), ())

    def open(self) -> None:
        if self.event.get_info(order.STATUS) > order.COMPLETE:
            self.event.set_status(order.COMPLETE)


@pytest.fixture
def gate(backend_id: str) -> Iterator[Gate]:
    gate = Gate(backend_id)
    yield gate
    gate.open()


def watchers() -> int:
    return sum(thread.name == "vyre-aside" for thread in threading.enumerate())


def test_a_timeout_is_the_end_of_the_wait_and_not_of_the_work(gate: Gate) -> None:
    for timeout in (0.0, 0.01):
        assert not gate.order.ended(gate.work, timeout)
    gate.open()
    assert gate.order.ended(gate.work, 1e9)


def test_waiting_again_takes_no_other_thread(gate: Gate) -> None:
    assert not gate.order.ended(gate.work, 0.001)
    before = watchers()
    for _ in range(20):
        assert not gate.order.ended(gate.work, 0.001)
    assert watchers() == before


def test_a_thread_serves_one_wait_after_the_other(backend_id: str) -> None:
    before = watchers()
    for _ in range(5):
        gate = Gate(backend_id)
        assert not gate.order.ended(gate.work, 0.001)
        gate.open()
        assert gate.order.ended(gate.work)
        while not pending.idle_threads():
            time.sleep(0.001)
    assert watchers() <= before + 1


def test_an_interrupt_gets_through_while_the_runtime_blocks(gate: Gate) -> None:
    timer = threading.Timer(0.05, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        gate.order.ended(gate.work)
    timer.join()
    assert not gate.work.has_ended()


def test_the_deadline_of_the_dispatch_ends_every_wait(gate: Gate) -> None:
    gate.wait_limit.deadline = Deadline(0.05, "mine")
    started = time.perf_counter()
    with pytest.raises(DispatchTimeout, match=r"the timeout of 0\.05 s passed during the kernels on mine"):
        gate.order.ended(gate.work)
    assert time.perf_counter() - started < 1.0


def test_another_thread_can_stop_a_wait(gate: Gate) -> None:
    def stop() -> None:
        gate.wait_limit.stopped = StaleHandle("the backend", "it was shut down")

    timer = threading.Timer(0.02, stop)
    timer.start()
    with pytest.raises(StaleHandle, match="shut down"):
        gate.order.ended(gate.work)
    timer.join()


def test_work_that_failed_has_ended(gate: Gate) -> None:
    gate.event.set_status(-5)
    assert gate.order.ended(gate.work)
