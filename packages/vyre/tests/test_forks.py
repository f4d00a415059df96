"""A process that is forked while another thread of its parent holds every lock."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FORKS = "ignore:This process:DeprecationWarning"
"""Python 3.12 and later warn when a process with threads forks."""
SCRIPT = """
import os, sys, threading
import numpy as np
import vyre as vy
from vyre_driver.errors import StaleHandle
from vyre_foundation.locks import _guards

@vy.kernel
def add(a: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    return a[vy.index()] + 1

@vy.kernel
def never(a: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    return a[vy.index()] + 2

x = np.arange(100, dtype=np.uint32)
with vy.graph("g") as g:
    g.output("y", add(g.input("a", vy.u32, 100)))
graph = g.compile("cpu")
assert np.array_equal(graph.run(a=x)["y"], x + 1)
held = vy.array(x)
assert np.array_equal(add(held).numpy(), x + 1)
is_held, end = threading.Event(), threading.Event()
graph._guard.lock.acquire()
pending = graph.launch(a=x)  # waits for the lock
locks = [guard.lock for guard in _guards if guard is not graph._guard]

def hold():
    for lock in locks:
        lock.acquire()
    is_held.set()
    end.wait()

threading.Thread(target=hold, daemon=True).start()
is_held.wait()
child = os.fork()
if child == 0:
    assert np.array_equal(add(x), x + 1)
    assert np.array_equal(never(x), x + 2)
    assert np.array_equal(never(vy.array(x)).numpy(), x + 2)
    (result,) = vy.run(never.program, a=x, backend="reference").values()
    assert np.array_equal(result, x + 2)
    try:
        pending.result()
    except StaleHandle as error:
        assert "before this process was forked" in str(error)
    else:
        sys.exit(2)
    graph.close()
    assert np.array_equal(g.compile("cpu").run(a=x)["y"], x + 1)
    sys.exit(0)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
def test_nothing_waits_for_a_thread_of_the_parent(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-W", FORKS, str(script)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, run.stderr) == (0, "")
