"""Waits that may take long: a thread of their own blocks in the runtime, and the caller on a lock.

A thread that blocks in the runtime works for it, on some CPU devices: one that looks again and again instead costs a
core. But what blocks there hears no signal of the host, and has no timeout; a lock of Python has both.
"""

from __future__ import annotations

import math
import threading
import time

from vyre_driver_opencl.api import cl

LONGEST = 0.05
"""Seconds. A signal wakes who waits for a lock; what one thread tells another (`_thread.interrupt_main`) does not."""


def wait_interruptibly(event: cl.Event, timeout: float | None) -> bool:
    """Wait for the event, at most `timeout` seconds (None: however long). Whether it came; raises what the wait raised.

    Interrupts of the host get through at once, those by another thread soon. The thread lives until the event comes,
    whoever waits for it.
    """
    has_ended = threading.Lock()
    has_ended.acquire()
    errors: list[cl.Error] = []

    def block() -> None:
        try:
            event.wait()
        except cl.Error as error:
            errors.append(error)
        finally:
            has_ended.release()

    threading.Thread(target=block, name="vyre-wait", daemon=True).start()
    end = math.inf if timeout is None else time.monotonic() + timeout
    while not has_ended.acquire(timeout=max(0.0, min(LONGEST, end - time.monotonic()))):
        if time.monotonic() >= end:
            return False
    if errors:
        raise errors[0]
    return True
