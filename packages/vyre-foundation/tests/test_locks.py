"""Locks of threads that a forked process does not have."""

import os
import subprocess
import sys

import pytest

FORKS = "ignore:This process:DeprecationWarning"
"""Python 3.12 and later warn when a process with threads forks."""
GUARD = """
import os, threading
from vyre_foundation.locks import ForkGuard

guards, is_held, end = [ForkGuard(), ForkGuard(threading.RLock)], threading.Event(), threading.Event()
locks = [guard.lock for guard in guards]

def hold():
    with locks[0], locks[1]:
        is_held.set()
        end.wait()

threading.Thread(target=hold).start()
is_held.wait()
child = os.fork()
if child == 0:
    os._exit(0 if all(guard.lock.acquire(timeout=10) for guard in guards) else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert [guard.lock for guard in guards] == locks
assert not guards[0].lock.acquire(blocking=False)
end.set()
os._exit(code)
"""

PROPERTY = """
import os, threading
from vyre_foundation.cached import cached_property

is_held, end = threading.Event(), threading.Event()

class Thing:
    def __init__(self, waits):
        self.waits = waits

    @cached_property
    def value(self):
        if self.waits:
            is_held.set()
            end.wait()
        return object()

waiting = Thing(True)
thread = threading.Thread(target=lambda: waiting.value)
thread.start()
is_held.wait()
child = os.fork()
if child == 0:
    found = []
    asks = threading.Thread(target=lambda: found.append(Thing(False).value), daemon=True)
    asks.start()
    asks.join(10)
    os._exit(0 if found else 1)
end.set()
thread.join()
assert waiting.value is waiting.value
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

WAIT = """
import os, threading
from vyre_foundation.locks import forks_wait_for

lock, is_held, go, done = threading.RLock(), threading.Event(), threading.Event(), []
forks_wait_for(lock)
os.register_at_fork(before=go.set)  # is called before those that were registered before

def hold():
    with lock:
        is_held.set()
        go.wait()
        done.append(True)

threading.Thread(target=hold).start()
is_held.wait()
child = os.fork()
if child == 0:
    os._exit(0 if done and lock.acquire(timeout=10) else 1)
assert lock.acquire(timeout=10)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
@pytest.mark.parametrize("script", [GUARD, PROPERTY, WAIT])
def test_a_lock_that_another_thread_holds_is_free_in_a_forked_process(script: str) -> None:
    command = [sys.executable, "-W", FORKS, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stderr) == (0, "")
