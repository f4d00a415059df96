"""Ledgers of work that has not ended: kept alive, swept by every call, and left behind at the end."""

import gc
import subprocess
import sys
import weakref

from vyre_driver.engine import pending
from vyre_driver.engine.pending import AsyncCall, Ledger, WaitLimit


class Counted(Ledger):
    """Has as much work left as a test says."""

    def __init__(self, left: int) -> None:
        self.left = left

    def sweep(self) -> bool:
        return self.left > 0


def test_a_call_that_has_ended_is_not_kept() -> None:
    """Nor is its result, such as code: a process compiles many programs, and may never sweep."""
    call = AsyncCall(lambda: b"code")
    assert call.result(WaitLimit(), "compilation") == b"code"
    assert call not in pending._unfinished


def test_a_ledger_lives_as_long_as_its_work() -> None:
    ledger = Counted(1)
    pending.register(ledger)
    seen = weakref.ref(ledger)
    pending.sweep()
    del ledger
    gc.collect()
    found = seen()
    assert found is not None
    found.left = 0
    del found
    pending.sweep()
    gc.collect()
    assert seen() is None


def test_work_that_is_added_during_a_sweep_is_not_lost() -> None:
    class Late(Counted):
        """Gets more work while it is looked at."""

        def sweep(self) -> bool:
            self.left += 1
            return self.left > 1

    ledger = Late(0)
    pending.register(ledger)
    pending.sweep()
    assert ledger in pending._unfinished
    pending._unfinished.discard(ledger)


ENDING = """
import sys, time
from vyre_driver.engine import pending

class Work(pending.Ledger):
    def __init__(self, seconds):
        self.end = time.monotonic() + seconds
        pending.register(self)

    def sweep(self):
        return time.monotonic() < self.end

    def __del__(self):
        print("gone", flush=True)

pending.EXIT = 0.2
work = Work(float(sys.argv[1]))
del work
sys.exit(3)
"""


def test_the_end_of_the_interpreter_waits_a_moment_and_frees_nothing_that_is_used() -> None:
    for seconds, said in (("0.05", "gone\n"), ("1000", "")):
        command = [sys.executable, "-c", ENDING, seconds]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (3, said, "")
