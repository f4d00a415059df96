"""A kernel that runs can be ended: by a timeout, by Ctrl-C, wherever in its loops it is."""

import _thread
import ctypes
import threading
import time

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import DispatchTimeout
from vyre_driver.testing.interrupts import interrupted_everywhere
from vyre_driver_cpu.backend import CpuBackend
from vyre_driver_cpu.runtime import native
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse

LONG = 1 << 40
"""More iterations than a test can wait for."""
SOON = 20.0
"""Seconds after which a test that should take milliseconds is wrong."""


def spinning(body: str, workgroup: int = 64) -> Program:
    return parse(f"""\
program spinning workgroup({workgroup}, 1, 1) {{
  read n: u64[] @0;
  write out: u64[4096] @1;

  var x = u64(global_id.x);
{body}
  out[global_id.x] = x;
}}
""")


# fmt: off
LOOPS = {
    "alone":   "  for k in 0..n[0] { x = (x ^ k) * 7; }",
    "nested":  "  for k in 0..n[0] { for j in 0..n[0] { x = (x ^ j) * 7 + k; } }",
    "steps":   "  for k in 0..n[0] step 3 { if k % 5 == 4 { continue; } x = (x ^ k) * 7; }",
    "barrier": "  for k in 0..n[0] { x = (x ^ k) * 7; barrier workgroup; }",
    "own end": "  for k in u64(global_id.x)..n[0] { x = (x ^ k) * 7; }",
}
# fmt: on


# fmt: off
ENDING = {
    "breaks":     "  for k in 0..n[0] { if k % 9 == 8 { break; } x = (x ^ k) * 7; }",
    "own break":  "  for k in 0..n[0] { if k > u64(global_id.x) % 5 { break; } x = (x ^ k) * 7; }",
    "signed":     "  for k in i32(0) - 20..i32(n[0]) - 20 { x = (x ^ u64(k)) * 7; }",
    "8 bits":     "  for k in i8(0) - i8(40)..i8(n[0]) - i8(30) step 2 { x = (x ^ u64(k)) * 7; }",
    "again":      "  for j in 0..u64(9) { for k in j..n[0] { x = (x ^ k) * 7; } }",
}
# fmt: on


@pytest.mark.parametrize("name", [*LOOPS, *ENDING])
@pytest.mark.parametrize("workgroup", [1, 64])
def test_loops_in_chunks_count_the_same(name: str, workgroup: int, agree, monkeypatch: pytest.MonkeyPatch) -> None:
    """With chunks of few operations, so that there are many of them."""
    monkeypatch.setattr("vyre_driver_cpu.loops._CHUNK", 20)
    monkeypatch.setenv("VYRE_CACHE", "off")
    one = DispatchConfig(grid_override=(2, 1, 1))
    for n in (0, 1, 7, 50):
        agree(spinning({**LOOPS, **ENDING}[name], workgroup), [np.array([n], np.uint64)], one)


ROWS = parse("""\
program rows workgroup(256, 1, 1) {
  read ends: u32[] @0;
  write out: u32[256] @1;

  var x = global_id.x;
  for k in global_id.x..ends[global_id.x] { x = (x ^ k) * 7; if x == 1 { break; } }
  out[global_id.x] = x;
}
""")


@pytest.mark.parametrize(
    ("chunk", "each", "questions"),
    [(100, 40, 102), (40, 40, 255), (39, 40, 262), (20000, 40, 0), (10239, 40, 1), (10240, 40, 0)],
)
def test_short_loops_do_not_ask_each_time(
    chunk: int, each: int, questions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question comes after as many iterations of all rows as a chunk has.

    Rows are not counted that are so short that 256 of them are no more than a chunk.
    """
    asked = 0

    def ask(host: int) -> int:
        nonlocal asked
        asked += 1
        return 0

    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(ask)
    monkeypatch.setitem(native().addresses, "ask", ctypes.cast(function, ctypes.c_void_p).value)
    monkeypatch.setattr("vyre_driver_cpu.statements.chunk_of", lambda loop: None if loop.trip_count else chunk)
    monkeypatch.setenv("VYRE_CACHE", "off")
    first = np.arange(256, dtype=np.uint32)
    backend = CpuBackend()
    try:
        (out,) = backend.dispatch(ROWS, [first + np.uint32(each)], DispatchConfig(grid_override=(1, 1, 1)))
    finally:
        backend.shutdown()
    wanted = first.copy()
    for k in range(each):
        wanted = (wanted ^ (first + np.uint32(k))) * np.uint32(7)
    np.testing.assert_array_equal(np.frombuffer(out, np.uint32), wanted)
    assert asked == questions
    assert questions == ((256 * each - 1) // chunk if each > chunk // 256 else 0)


@pytest.mark.parametrize("name", LOOPS)
def test_a_timeout_ends_the_kernel(name: str) -> None:
    backend = CpuBackend()
    try:
        program, config = spinning(LOOPS[name]), DispatchConfig(grid_override=(64, 1, 1))
        backend.dispatch(program, [np.array([3], np.uint64)], config)  # compiled, so that the kernel meets the timeout
        started = time.monotonic()
        with pytest.raises(DispatchTimeout, match="the kernels"):
            backend.dispatch(program, [np.array([LONG], np.uint64)], config.replace(timeout=0.2))
        backend.flush()
        assert time.monotonic() - started < SOON
    finally:
        backend.shutdown()


def test_an_interrupt_ends_the_kernel() -> None:
    backend = CpuBackend()
    try:
        program, few, many = spinning(LOOPS["alone"]), np.array([3], np.uint64), np.array([LONG], np.uint64)
        config = DispatchConfig(grid_override=(64, 1, 1))
        backend.dispatch(program, [few], config)  # compiled, so that the interrupt meets the kernel
        started = time.monotonic()
        timer = threading.Timer(0.2, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            backend.dispatch(program, [many], config)
        backend.flush()
        assert time.monotonic() - started < SOON
        (out,) = backend.dispatch(program, [few], config)
        assert np.frombuffer(out, np.uint64)[1] == ((((1 * 7) ^ 1) * 7) ^ 2) * 7
    finally:
        backend.shutdown()


def test_an_interrupt_anywhere_of_a_launch_of_threads_leaves_nothing_to_wait_for() -> None:
    """What the threads were not given yet never ends. Waits for it, and for its memory, would not either."""
    backend = CpuBackend()
    try:
        program, config = spinning(LOOPS["alone"]), DispatchConfig(grid_override=(64, 1, 1))
        given = [np.array([300], np.uint64)]
        (expected,) = backend.dispatch(program, given, config)
        for _ in interrupted_everywhere(lambda: backend.dispatch_async(program, given, config).await_result(SOON)):
            with backend.session() as device:
                assert device.port.finish(SOON)
            (out,) = backend.dispatch(program, given, config)
            assert bytes(out) == bytes(expected)
    finally:
        backend.shutdown()


def test_another_dispatch_in_flight_is_left_alone() -> None:
    """A timeout cancels its own launch."""
    backend = CpuBackend()
    try:
        config = DispatchConfig(grid_override=(64, 1, 1))
        iterations = 200_000
        program = spinning(LOOPS["alone"])
        backend.dispatch(program, [np.array([3], np.uint64)], config)
        pending = backend.dispatch_async(program, [np.array([iterations], np.uint64)], config)
        with pytest.raises(DispatchTimeout):
            backend.dispatch(program, [np.array([LONG], np.uint64)], config.replace(timeout=0.2))
        (out,) = pending.await_result(60.0)
        expected = 5
        for k in range(iterations):
            expected = (expected ^ k) * 7 % 2**64
        assert np.frombuffer(out, np.uint64)[5] == expected
    finally:
        backend.shutdown()
