"""A process that is forked after the backend was used: the child opens a device of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FORKS = "ignore:This process:DeprecationWarning"
"""Python 3.12 and later warn when a process with threads forks."""
SCRIPT = """
import os, sys
import numpy as np
from vyre_driver import backend_for
from vyre_driver.errors import StaleHandle
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

def adding(number):
    with program("k", 64) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] + number
    return p.build()

backend = backend_for("cpu")
x = np.arange(1 << 20, dtype=np.uint32)  # for the threads of the pool

def run(number):
    return np.frombuffer(backend.dispatch(adding(number), [x])[0], np.uint32)

pipeline = backend.compile_native(adding(5))
resource = backend.allocate_resident(16)
assert np.array_equal(run(1), x + 1)
assert np.array_equal(np.frombuffer(pipeline.dispatch([x])[0], np.uint32), x + 5)
pending = pipeline.dispatch_async([x])
child = os.fork()
if child == 0:
    assert np.array_equal(run(1), x + 1)  # what the parent has compiled
    assert np.array_equal(run(2), x + 2)  # and what it has not
    stale = 0
    uses = lambda: pipeline.dispatch([x]), lambda: backend.download_resident(resource), pending.await_result
    for use in uses:
        try:
            use()
        except StaleHandle as error:
            assert "fork" in str(error), error
            stale += 1
    sys.exit(0 if stale == 3 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.array_equal(run(3), x + 3)
assert np.array_equal(np.frombuffer(pending.await_result()[0], np.uint32), x + 5)
assert backend.download_resident(resource) is not None
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
def test_a_forked_process() -> None:
    command = [sys.executable, "-W", FORKS, "-c", SCRIPT]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stderr) == (0, "")


LOCKS = """
import gc, threading, traceback
import numpy as np
from llvmlite.binding.ffi import register_lock_callback, unregister_lock_callback
from vyre_driver import backend_for
from vyre_driver_cpu.cpu import llvm_lock, named
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

missed = []

def check():
    def attempt():
        if llvm_lock.acquire(blocking=False):
            llvm_lock.release()
            missed.append(calls)

    calls = "".join(traceback.format_stack())
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()

def done():
    pass

register_lock_callback(check, done)
with program("k", 64) as p:
    x = p.read("x", u32)
    p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] + 1
backend = backend_for("cpu")
backend.dispatch(p.build(), [np.zeros(9, np.uint32)])
named("armv8")
backend.shutdown()
del backend, p
gc.collect()
unregister_lock_callback(check, done)
assert not missed, missed[0]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
@pytest.mark.parametrize("cache", ["off", "rw"])
def test_forks_wait_for_each_call_of_llvm(cache: str, tmp_path: Path) -> None:
    """A child would inherit the lock of llvmlite from a thread that does not exist there."""
    environment = os.environ | {"VYRE_CACHE": cache, "VYRE_CACHE_DIR": str(tmp_path)}
    for _ in range(1 if cache == "off" else 2):  # compiled, and loaded from the store
        run = subprocess.run(
            [sys.executable, "-c", LOCKS], capture_output=True, text=True, timeout=120, check=False, env=environment
        )
        assert (run.returncode, run.stderr) == (0, "")
