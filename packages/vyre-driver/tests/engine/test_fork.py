"""A process that is forked after the device was opened: its use in the child is an error, and nothing hangs."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys, threading
import numpy as np
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import StaleHandle
from vyre_driver.testing.fake_port import FakePort
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

with program("k", 4) as p:
    a = p.read_write("a", u32)
    a[p.global_id(0)] = a[p.global_id(0)] + 1
source = p.build()

def evaluate(plan, memory):
    np.frombuffer(memory["a"], np.uint32)[:] += 1

ports = []
def backend(id="fake"):
    return EngineBackend(id, lambda: ports.append(FakePort(evaluate, is_lazy=True)) or ports[-1])

used, unused = backend(), backend("another")
given = [np.zeros(4, np.uint32)]
pipeline = used.compile_native(source)
pipeline.dispatch(given)
resource = used.allocate_resident(16)
pending = pipeline.dispatch_async(given)
log = len(ports[0].log)
used._session.lock.acquire()  # as if another thread were in the middle of a dispatch
child = os.fork()
if child == 0:
    refused = 0
    for use in (
        lambda: used.dispatch(source, given), lambda: pipeline.dispatch(given), lambda: used.allocate_resident(4),
        lambda: used.download_resident(resource), pending.await_result, used.try_recover, used.device_profile,
        lambda: backend().dispatch(source, given),
    ):
        try:
            use()
        except StaleHandle as error:
            assert "before this process was forked" in str(error), error
            refused += 1
    pipeline.close()
    used.shutdown()
    assert len(ports[0].log) == log, ports[0].log[log:]
    assert np.frombuffer(unused.dispatch(source, given)[0], np.uint32).tolist() == [1] * 4
    sys.exit(0 if refused == 8 else 1)
used._session.lock.release()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.frombuffer(pending.await_result()[0], np.uint32).tolist() == [1] * 4
used.shutdown()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
def test_a_forked_process() -> None:
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")
