"""Waits that may take long: who blocks, what gets through, and what is passed on."""

import _thread
import threading

import pytest

from vyre_driver_opencl.api import cl
from vyre_driver_opencl.waiting import wait_interruptibly


class Event:
    """An event that comes when the test says so, or after 20 s; `blocked` is the thread that waits for it."""

    def __init__(self, error: cl.Error | None = None) -> None:
        self.came, self.is_awaited = threading.Event(), threading.Event()
        self.error, self.blocked = error, None

    def wait(self) -> None:
        self.blocked = threading.current_thread()
        self.is_awaited.set()
        self.came.wait(20)
        if self.error is not None:
            raise self.error


def test_another_thread_blocks_in_the_runtime() -> None:
    event = Event()
    event.came.set()
    assert wait_interruptibly(event, None)
    assert event.blocked is not threading.current_thread()


@pytest.mark.parametrize("timeout", [0.0, 0.01])
def test_a_timeout_is_the_end_of_the_wait_and_not_of_the_event(timeout: float) -> None:
    event = Event()
    assert not wait_interruptibly(event, timeout)
    event.came.set()
    assert wait_interruptibly(event, 1e300)


def test_what_the_wait_raises_is_raised() -> None:
    error = cl.LogicError("it failed")
    event = Event(error)
    event.came.set()
    with pytest.raises(cl.Error) as caught:
        wait_interruptibly(event, None)
    assert caught.value is error


def test_an_interrupt_gets_through_while_the_runtime_blocks() -> None:
    event = Event()

    def interrupt() -> None:
        event.is_awaited.wait()
        _thread.interrupt_main()

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        wait_interruptibly(event, None)
    assert not event.came.is_set()
    event.came.set()
