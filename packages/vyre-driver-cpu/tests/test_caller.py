"""Launches that may take long begin in the calling thread, which hears signals, and hands over what is left."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import DispatchFailed, StaleHandle
from vyre_driver_cpu import caller
from vyre_driver_cpu.backend import CpuBackend
from vyre_driver_cpu.caller import PASSED_OVER, CallerLaunch
from vyre_foundation.text import parse

ONE, MANY = DispatchConfig(grid_override=(1, 1, 1)), DispatchConfig(grid_override=(64, 1, 1))
SPINNING_TEXT = """\
program spinning workgroup(64, 1, 1) {
  read n: u64[] @0;
  write out: u64[4096] @1;

  var x = u64(global_id.x);
  for k in 0..n[0] { x = (x ^ k) * 7; }
  out[global_id.x] = x;
}
"""
SPINNING = parse(SPINNING_TEXT)
DIVERGING = parse(SPINNING_TEXT.replace("0..n[0]", "0..n[0] + u64(global_id.x)"))
TRIPLING = parse("""\
program tripling workgroup(1, 1, 1) {
  read n: u64[] @0;
  write out: u64[64] @1;

  var x = u64(global_id.x);
  for k in 0..n[0] { x = x * 3 + 1; }
  out[global_id.x] = x;
}
""")
LONG = np.array([1 << 40], np.uint64)
"""More iterations than a test can wait for."""


def few(number: int = 3) -> np.ndarray:
    return np.array([number], np.uint64)


def spun(first: int, rounds: int) -> int:
    for k in range(rounds):
        first = (first ^ k) * 7 % 2**64
    return first


def tripled(first: int, rounds: int) -> int:
    power = pow(3, rounds, 2**65)
    return (power * first + (power - 1) // 2) % 2**64


@pytest.fixture
def backend() -> Iterator[CpuBackend]:
    made = CpuBackend()
    yield made
    made.shutdown()


@pytest.fixture
def handled() -> Iterator[list[object]]:
    """The handler of SIGALRM as it was, afterwards; a list for one to fill."""
    before = signal.getsignal(signal.SIGALRM)
    yield []
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


needs_alarms = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="alarms are signals of POSIX")


def test_a_short_one_wakes_no_thread() -> None:
    """In a process of its own, whose pool has not started for anything else."""
    code = """\
import threading
from test_caller import MANY, SPINNING, few, spun
from vyre_driver_cpu.backend import CpuBackend
import numpy as np
backend = CpuBackend()
for n in (3, 4, 5):
    (out,) = backend.dispatch(SPINNING, [few(n)], MANY)
    assert np.frombuffer(out, np.uint64)[9] == spun(9, n)
names = [thread.name for thread in threading.enumerate()]
backend.shutdown()
print([name for name in names if name.startswith("vyre-cpu")])
"""
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


@needs_alarms
@pytest.mark.parametrize("source", [SPINNING, DIVERGING], ids=["uniform", "diverging"])
@pytest.mark.parametrize("config", [ONE, MANY], ids=["one workgroup", "many"])
def test_an_error_of_a_signal_handler_ends_it(source, config, backend: CpuBackend, handled: list[object]) -> None:
    class Enough(Exception):
        pass

    def handle(number: int, frame: object) -> None:
        handled.append(number)
        raise Enough

    backend.dispatch(source, [few()], config)  # compiled, so that the signal meets the kernel
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(Enough):
        backend.dispatch(source, [LONG], config)
    assert handled == [signal.SIGALRM]
    (out,) = backend.dispatch(source, [few()], config)
    assert np.frombuffer(out, np.uint64)[0] == spun(0, 3)


@needs_alarms
@pytest.mark.parametrize("config", [ONE, MANY], ids=["one workgroup", "many"])
def test_a_signal_handler_cannot_use_the_backend_that_it_interrupts(
    config, backend: CpuBackend, handled: list[object]
) -> None:
    """Its memory is in use. The kernel goes on, and another backend serves the handler."""
    other = CpuBackend()

    def handle(number: int, frame: object) -> None:
        for call in (
            lambda: backend.dispatch(TRIPLING, [few(5)], config),
            lambda: backend.dispatch(TRIPLING, [few(5)], config.replace(timeout=60.0)),
            lambda: backend.allocate_resident(8),
        ):
            with pytest.raises(DispatchFailed, match="a signal handler calls the backend"):
                call()
        (out,) = other.dispatch(TRIPLING, [few(5)], config)
        handled.append(int(np.frombuffer(out, np.uint64)[0]))

    backend.dispatch(TRIPLING, [few()], config)
    signal.signal(signal.SIGALRM, handle)
    deadline, rounds, last = time.monotonic() + 60, 50_000_000 if config is ONE else 4_000_000, config.grid_override[0]
    while not handled and time.monotonic() < deadline:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        (out,) = backend.dispatch(TRIPLING, [few(rounds)], config)
        assert np.frombuffer(out, np.uint64)[:last].tolist() == [tripled(n, rounds) for n in range(last)]
    assert handled[0] == tripled(0, 5)
    other.shutdown()


@needs_alarms
def test_a_signal_handler_that_shuts_the_backend_down_ends_it(backend: CpuBackend, handled: list[object]) -> None:
    """It is closed when the dispatch has ended."""
    backend.dispatch(SPINNING, [few()], MANY)
    signal.signal(signal.SIGALRM, lambda number, frame: backend.shutdown())
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    with pytest.raises(StaleHandle, match="it was shut down"):
        backend.dispatch(SPINNING, [LONG], MANY)
    with pytest.raises(StaleHandle, match="it was shut down"):
        backend.dispatch(SPINNING, [few()], MANY)


def test_the_end_of_the_device_ends_it(backend: CpuBackend) -> None:
    """Another thread brings it about, so other threads go on meanwhile."""
    backend.dispatch(SPINNING, [few()], ONE)
    timer = threading.Timer(0.1, backend.shutdown)
    timer.start()
    with pytest.raises(StaleHandle, match="it was shut down"):
        backend.dispatch(SPINNING, [LONG], ONE)
    timer.join()


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many workgroups each launch has run in the calling thread."""
    done: list[int] = []

    def begin(launch: CallerLaunch, address: int) -> None:
        right(launch, address)
        done.append(launch.done)

    right = CallerLaunch.begin
    monkeypatch.setattr(CallerLaunch, "begin", begin)
    return done


def test_what_is_left_of_a_long_one_goes_to_the_threads(
    backend: CpuBackend, done: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every workgroup runs once, in one thread or another; and most calls that follow go to the threads as a whole."""
    monkeypatch.setenv("VYRE_CPU_THREADS", "2")
    rounds = 2_000
    for _ in range(PASSED_OVER + 2):
        (out,) = backend.dispatch(SPINNING, [few(rounds)], MANY)
        assert np.frombuffer(out, np.uint64)[[0, 100, 4095]].tolist() == [spun(n, rounds) for n in (0, 100, 4095)]
    assert 0 < done[0] < 64
    assert done[1 : PASSED_OVER + 1] == [0] * PASSED_OVER
    assert done[PASSED_OVER + 1] > 0


def test_nothing_is_left_to_one_thread(backend: CpuBackend, done: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_CPU_THREADS", "1")
    for rounds in (0, 1, 2_000):
        (out,) = backend.dispatch(SPINNING, [few(rounds)], MANY)
        assert np.frombuffer(out, np.uint64)[[0, 100, 4095]].tolist() == [spun(n, rounds) for n in (0, 100, 4095)]
    assert done == [64] * 3


@pytest.mark.parametrize("source", [SPINNING, DIVERGING], ids=["uniform", "diverging"])
def test_chunks_are_counted_anew_after_each(source, backend: CpuBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """With chunks of few operations, so that there are many of them, which ask."""
    monkeypatch.setenv("VYRE_CACHE", "off")
    monkeypatch.setattr("vyre_driver_cpu.loops._CHUNK", 20)
    monkeypatch.setattr(caller, "HANDING_OVER_NS", caller.FOREVER)
    for rounds in (0, 1, 19, 20, 21, 1000):
        (out,) = backend.dispatch(source, [few(rounds)], ONE)
        more = 63 if source is DIVERGING else 0
        assert np.frombuffer(out, np.uint64)[63] == spun(63, rounds + more)
