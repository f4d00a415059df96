"""Calls from another thread have a limit, so that a backend that hangs fails a test and does not stop all of them."""

from __future__ import annotations

import os
import threading

import pytest

from vyre_driver.testing.interrupts import in_thread


def test_a_result_and_an_error_come_through() -> None:
    assert in_thread(lambda: 3) == 3
    with pytest.raises(KeyError):
        in_thread(lambda: os.environ["VYRE_NO_SUCH_VARIABLE"])
    with pytest.raises(TimeoutError, match="of the call"):
        in_thread(lambda: (_ for _ in ()).throw(TimeoutError("of the call")))


def test_a_call_that_does_not_end_is_left_behind() -> None:
    ended = threading.Event()
    with pytest.raises(TimeoutError, match=r"a call from another thread has not ended after 0\.01 s"):
        in_thread(ended.wait, 0.01)
    ended.set()
