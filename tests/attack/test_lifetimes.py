"""Memory of work in flight lives until the work has ended: whatever is dropped, closed, interrupted, ended or forked.

Each attack is a child process. While a kernel writes to its output, the child drops everything that could own that
memory, fills the place with arrays of its own, and looks whether the kernel changes them. It must end with status 0.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vyre_driver.registry.backends import availability

BACKENDS = ["cpu", "opencl", "opencl-intel"]
PRELUDE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import _thread, gc, os, threading, time
import numpy as np
from long_kernels import *
from vyre_driver import DispatchTimeout, compile
"""


def runs(bounded: Callable[..., object], code: str, *arguments: str, seconds: float = 60.0) -> str:
    """What a child prints, which must end well, and say nothing on its standard error."""
    done = bounded(PRELUDE + code, *arguments, seconds=seconds)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-2000:]
    return done.stdout


DROPPED = """
long = Long(sys.argv[1], 0.4)
program, given, config = long.program, long.given(), SOON_CONFIG

def timed_out(call):
    try:
        call()
    except DispatchTimeout:
        return
    raise AssertionError("the kernel was too short")

def interrupted(call):
    timer = threading.Timer(SOON, _thread.interrupt_main)
    timer.start()
    try:
        call()
    except KeyboardInterrupt:
        timer.join()
        return
    raise AssertionError("the kernel was too short")

def backend_after_a_timeout():
    timed_out(lambda: acquire(long.backend).dispatch(program, long.given(), config))

def backend_after_an_interrupt():
    interrupted(lambda: acquire(long.backend).dispatch(program, long.given()))

def pipeline_after_a_timeout():
    backend = acquire(long.backend)
    pipeline = compile(backend, program)
    timed_out(lambda: pipeline.dispatch(long.given(), config))
    del pipeline
    return backend

def handle():
    backend = acquire(long.backend)
    backend.dispatch_async(program, long.given())
    return backend

def handle_and_backend():
    acquire(long.backend).dispatch_async(program, long.given())

def pipeline_with_a_handle():
    compile(acquire(long.backend), program).dispatch_async(long.given())

def closed():
    backend = acquire(long.backend)
    pipeline = compile(backend, program)
    timed_out(lambda: pipeline.dispatch(long.given(), config))
    pipeline.close()
    return backend

def outputs_of_the_caller():
    backend = acquire(long.backend)
    timed_out(lambda: backend.dispatch_borrowed_into(program, long.given(), config, [bytearray(BYTES)]))

def outputs_of_the_caller_in_place():
    backend = acquire(long.backend)
    for _ in range(8):
        slots = [np.zeros(WORDS, np.uint32)]
        backend.dispatch_borrowed_into(program, [words(1), np.ones(WORDS, np.uint32)], DispatchConfig(), slots)
    slots = [np.zeros(WORDS, np.uint32)]
    interrupted(lambda: backend.dispatch_borrowed_into(program, long.given(), DispatchConfig(), slots))

def a_batch():
    pipeline = compile(acquire(long.backend), program)
    interrupted(lambda: pipeline.dispatch_batched([long.given()] * 2))

def resident_memory():
    backend = acquire(long.backend)
    rounds, out = backend.allocate_resident(4), backend.allocate_resident(BYTES)
    backend.upload_resident(rounds, long.rounds)
    timed_out(lambda: backend.dispatch_resident_timed(program, [rounds, out], config))
    backend.free_resident(out)

def arrays_of_others():
    backend = acquire(long.backend)
    rounds, out = (backend.wrap_device_buffer(array) for array in long.given())
    timed_out(lambda: backend.dispatch_with_device_buffers(program, [rounds, out], [out], config))

def a_sequence():
    from vyre_driver import ResidentDispatchStep
    backend = acquire(long.backend)
    rounds, out = backend.allocate_resident(4), backend.allocate_resident(BYTES)
    backend.upload_resident(rounds, long.rounds)
    steps = [ResidentDispatchStep(program=program, resources=(rounds, out))]
    run = backend.dispatch_resident_repeated_sequence_read_ranges_into
    interrupted(lambda: run([], steps, 3, [], []))

for way in sys.argv[2:]:
    begun = time.monotonic()
    left = globals()[way]()
    witnesses = Witnesses()
    witnesses.check(max(0.0, begun + 1.5 * long.seconds - time.monotonic()) + SOON, way)
    (out,) = acquire(long.backend).dispatch(scaling(), [GIVEN])
    assert bytes(out) == EXPECTED, way
    del left, witnesses
    print(way)
"""
AFTER_A_TIMEOUT = ["backend_after_a_timeout", "pipeline_after_a_timeout", "closed", "outputs_of_the_caller"]
AFTER_AN_INTERRUPT = ["backend_after_an_interrupt", "outputs_of_the_caller_in_place", "a_batch", "a_sequence"]
WITHOUT_A_WAIT = ["handle", "handle_and_backend", "pipeline_with_a_handle"]
RESIDENT = ["resident_memory", "arrays_of_others"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "ways",
    [AFTER_A_TIMEOUT, AFTER_AN_INTERRUPT, WITHOUT_A_WAIT, RESIDENT],
    ids=["timeout", "interrupt", "handle", "resident"],
)
def test_no_memory_of_others_is_changed(bounded, attacks, backend: str, ways: list[str]) -> None:
    ways = ways * attacks.count(1)
    assert runs(bounded, DROPPED, backend, *ways, seconds=20 + 3 * len(ways)).split() == ways


ENDING = """
long = Long(sys.argv[1], float(sys.argv[3]))
backend = acquire(long.backend)
config = SOON_CONFIG

def timeout():
    try:
        backend.dispatch(long.program, long.given(), config)
    except DispatchTimeout:
        return
    raise AssertionError("the kernel was too short")

def handle():
    global pending
    pending = backend.dispatch_async(long.program, long.given())

def dropped():
    global backend
    backend.dispatch_async(long.program, long.given())
    backend = None

def thread():
    threading.Thread(target=backend.dispatch, args=(long.program, long.given()), daemon=True).start()
    time.sleep(SOON)

globals()[sys.argv[2]]()
print(time.time(), flush=True)
sys.exit(int(sys.argv[4]))
"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("way", ["timeout", "handle", "dropped", "thread"])
def test_the_interpreter_ends_while_a_kernel_runs(bounded, backend: str, way: str) -> None:
    """Soon, with its own status, and whether the kernel ends in time or not."""
    import time

    for seconds, status in ((0.5, 3), (1000.0, 0)):
        done = bounded(PRELUDE + ENDING, backend, way, str(seconds), str(status), seconds=30)
        ended = time.time() - float(done.stdout)
        assert (done.returncode, done.stderr) == (status, "")
        assert ended < 5.0, f"the end took {ended:.1f} s"


def is_here(backend: str) -> bool:
    return availability(backend).is_available


FORKING = """
long = Long(sys.argv[1], 0.5)
backend = acquire(long.backend)
pipeline = compile(backend, long.program)
(expected,) = pipeline.dispatch(long.given())
pending = pipeline.dispatch_async(long.given())
child = os.fork()
if child == 0:
    way = sys.argv[2]
    if way == "drops":
        del pending, pipeline, backend
        gc.collect()
        Witnesses()
    elif way == "uses":
        try:
            pending.await_result()
        except Exception as error:
            assert "forked" in str(error), error
    sys.exit(0)
(out,) = pending.await_result()
assert bytes(out) == bytes(expected)
end = time.monotonic() + 10
while True:
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid:
        break
    assert time.monotonic() < end, "the child hangs"
    time.sleep(0.01)
assert os.waitstatus_to_exitcode(status) == 0, status
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("way", ["ends", "drops", "uses"])
def test_a_process_forks_while_a_kernel_runs(bounded, attacks, way: str) -> None:
    for backend in filter(is_here, BACKENDS if attacks.scale > 1 else BACKENDS[:1]):
        runs(bounded, FORKING, backend, way)


GROWTH = """
def resident():
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def grown(times, once):
    for _ in range(max(20, times // 10)):
        once()
    windows = []  # what leaks, leaks in all of them; allocators and threads of a runtime take memory once
    for _ in range(4):
        gc.collect()
        before = resident()
        for _ in range(times // 4):
            once()
        gc.collect()
        windows.append((resident() - before) / (times // 4))
    return min(windows)

program, way, times = scaling(), sys.argv[2], int(sys.argv[3])
if way == "handles":
    gc.disable()  # memory of handles may not have to wait for the collector
    backend = acquire(sys.argv[1])
    big = np.zeros(1 << 14, np.uint32)
    print(grown(times, lambda: backend.dispatch_async(program, [big])))
elif way == "shut down":
    def once():
        backend = acquire(sys.argv[1])
        backend.dispatch(program, [GIVEN])
        backend.shutdown()
    print(grown(times, once))
else:
    print(grown(times, lambda: acquire(sys.argv[1]).prepare()))
"""


@pytest.mark.parametrize(
    ("way", "times", "most"), [("handles", 3000, 200), ("shut down", 40, 4096), ("dropped", 100, 2048)]
)
def test_nothing_grows(bounded, attacks, way: str, times: int, most: int, monkeypatch, tmp_path: Path) -> None:
    """Bytes of the process for each dropped handle, and for each backend that was acquired and ended.

    Code is loaded from the store, because a runtime keeps some kilobytes of each compilation.
    """
    monkeypatch.setenv("VYRE_CACHE", "rw")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path))
    grown = float(runs(bounded, GROWTH, "cpu", way, str(attacks.count(times)), seconds=180 * attacks.count(1)))
    assert grown < most
