"""Waits that may take long: a thread of their own blocks in the runtime, and the caller on a lock.

A thread that blocks in the runtime works for it, on some CPU devices: one that looks again and again instead costs a
core. But what blocks there hears no signal of the host, and has no timeout; a lock of Python has both.
"""

from __future__ import annotations

import threading

from vyre_driver_opencl.api import cl


def wait_interruptibly(event: cl.Event, timeout: float | None) -> bool:
    """Wait for the event, at most `timeout` seconds (None: however long). Whether it came; raises what the wait raised.

    Interrupts of the host get through at once. The thread lives until the event comes, whoever waits for it.
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
    if not has_ended.acquire(timeout=-1 if timeout is None else min(timeout, threading.TIMEOUT_MAX)):
        return False
    if errors:
        raise errors[0]
    return True
