"""Copies beside kernels: which stream each piece of work goes to, what waits for what, and that no bytes are wrong.

`trace` has the work as the port enqueued it, by stream: 0 is that of launches, others are made when they are needed.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from cuda_emulation.fake_cupy import FakeCupy
from cuda_emulation.rehearsal import RehearsedPort, opened
from hypothesis import given, settings, strategies as st

from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange
from vyre_driver.engine import pending
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.engine.pending import Deadline
from vyre_driver.errors import DispatchTimeout
from vyre_driver_cuda import memory as memory_module, port as port_module
from vyre_driver_cuda.memory import DeviceMemory
from vyre_driver_cuda.order import SELDOM
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

COUNT = 4
ONE, FOUR = (1, 1, 1), (COUNT, 1, 1)
IN, RECORD, OUT, WAIT = "in", "record", "out", "wait"


def stepping() -> Program:
    """``x = x * 3 + 1`` in place."""
    with program("stepping", workgroup_size=COUNT) as p:
        x = p.read_write("x", u32)
        i = p.global_id(0)
        x[i] = x[i] * 3 + 1
    return p.build()


@cache
def code() -> tuple[bytes, str]:
    """The program compiled, and the name of its kernel."""
    port = RehearsedPort(opened(FakeCupy()))
    unit = port.emit(lowered_for(port.target(), stepping().validate()))
    return port.compile(unit).cubin.to_bytes(), unit.kernels[0]


@pytest.fixture
def fake() -> FakeCupy:
    return FakeCupy()


class Stepper:
    """A port with one kernel, and memory by whole words."""

    def __init__(self, fake: FakeCupy) -> None:
        self.fake, self.port = fake, RehearsedPort(opened(fake))
        binary, self.kernel = code()
        self.module = self.port.load(binary)

    def memory(self) -> DeviceMemory:
        return self.port.allocate(4 * COUNT)

    def write(self, memory: DeviceMemory, value: int) -> None:
        self.port.copy_in(memory, np.full(COUNT, value, np.uint32).view(np.uint8).data)

    def step(self, memory: DeviceMemory) -> Any:
        return self.port.launch(self.module, self.kernel, ONE, FOUR, (memory, COUNT))

    def read(self, memory: DeviceMemory) -> int:
        out = np.zeros(COUNT, np.uint32)
        self.port.copy_out(memory, out.view(np.uint8).data)
        (value,) = set(out.tolist())
        return int(value)

    def traced(self) -> list[tuple[int, str]]:
        """What was enqueued since the last question."""
        found = [(stream, "step" if name.startswith("stepping") else name) for stream, name in self.fake.trace]
        self.fake.trace.clear()
        return found


@pytest.fixture
def stepper(fake: FakeCupy) -> Iterator[Stepper]:
    stepper = Stepper(fake)
    yield stepper
    stepper.port.close()


# ── one by one ──


def test_a_dispatch_alone_has_one_stream(stepper: Stepper, fake: FakeCupy) -> None:
    memory = stepper.memory()
    for value in range(3):
        stepper.write(memory, value)
        stepper.step(memory)
        assert stepper.read(memory) == 3 * value + 1
        assert stepper.traced() == [(0, IN), (0, RECORD), (0, "step"), (0, OUT), (0, RECORD)]
    assert len(fake.streams) == 1
    assert "streamWaitEvent" not in fake.log


# ── in flight ──


def test_copies_of_dispatches_in_flight_run_beside_kernels(stepper: Stepper, fake: FakeCupy) -> None:
    """The second one's bytes come while the first one's kernel runs, and the first one's go while the second's does."""
    first, second, third = (stepper.memory() for _ in range(3))
    stepper.write(first, 10)
    one = stepper.step(first)
    stepper.port.submit(one)
    assert stepper.traced() == [(0, IN), (0, RECORD), (0, "step"), (0, RECORD)]
    stepper.write(second, 20)
    two = stepper.step(second)
    stepper.port.submit(two)
    assert stepper.traced() == [(1, IN), (1, RECORD), (1, RECORD), (0, WAIT), (0, "step"), (0, RECORD)]
    assert stepper.port.wait(one)
    assert stepper.read(first) == 31
    assert stepper.traced() == [(2, OUT), (2, RECORD)]
    assert fake.under_way == 6  # all of the second dispatch: a copy and two events, a wait, a kernel, an event
    stepper.write(third, 30)
    three = stepper.step(third)
    assert stepper.traced() == [(1, IN), (1, RECORD), (1, RECORD), (0, WAIT), (0, "step")]
    assert stepper.port.wait(three)
    assert stepper.traced() == [(0, RECORD)]
    assert (stepper.read(second), stepper.read(third)) == (61, 91)
    assert stepper.traced() == [(0, OUT), (0, RECORD)] * 2  # nothing is under way any more
    assert len(fake.streams) == 3


def test_a_large_upload_does_not_wait_for_kernels_to_give_slots_back(
    fake: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is longer than all pinned memory: it goes on while the kernel has not even begun."""
    monkeypatch.setattr(memory_module, "usable_cpus", lambda: 4)
    stepper = Stepper(fake)
    pieces = memory_module.SHARED // memory_module.LARGE
    memory, one, other = stepper.memory(), *(stepper.port.allocate(memory_module.SHARED) for _ in range(2))
    stepper.step(memory)
    stepper.traced()
    stepper.port.copy_in(one, memoryview(bytes(memory_module.SHARED - 1)))
    assert stepper.traced() == [(1, IN), (1, RECORD)] * pieces
    stepper.port.copy_in(other, memoryview(bytes(memory_module.SHARED)))
    assert Counter(stepper.traced()) == {(1, IN): pieces, (1, RECORD): pieces + 1}
    assert len(next(iter(fake.streams.values())).work) == 1
    stepper.port.close()


def test_a_wait_for_one_dispatch_is_none_for_those_behind_it(stepper: Stepper, fake: FakeCupy) -> None:
    first, second = stepper.memory(), stepper.memory()
    marks = []
    for memory in (first, second):
        marks.append(stepper.step(memory))
        stepper.port.submit(marks[-1])
    assert stepper.port.wait(marks[0])
    assert fake.under_way == 2
    fake.patience = 1
    assert [stepper.port.query(marks[1]) for _ in range(2)] == [False, True]


# ── what stays in the row ──


def test_memory_that_kernels_use_is_written_behind_them(stepper: Stepper) -> None:
    memory = stepper.memory()
    stepper.write(memory, 1)
    stepper.step(memory)
    stepper.traced()
    stepper.write(memory, 2)
    stepper.step(memory)
    assert stepper.traced() == [(0, IN), (0, RECORD), (0, "step")]
    assert stepper.read(memory) == 7


def test_memory_that_kernels_use_is_read_behind_them(stepper: Stepper) -> None:
    memory = stepper.memory()
    stepper.write(memory, 1)
    stepper.step(memory)
    stepper.traced()
    assert stepper.read(memory) == 4
    assert stepper.traced() == [(0, OUT), (0, RECORD)]


@pytest.mark.parametrize("use", ["fill", "read", "write", "launch", "record", "replay"])
def test_everything_comes_after_an_upload_beside_it(stepper: Stepper, use: str) -> None:
    busy, memory = stepper.memory(), stepper.memory()
    recording = stepper.port.record(lambda: stepper.step(memory))
    stepper.port.wait(stepper.step(busy))
    stepper.step(busy)
    stepper.traced()
    stepper.write(memory, 5)
    assert stepper.traced() == [(1, IN), (1, RECORD)]
    expected = 5
    match use:
        case "fill":
            stepper.port.fill(memory, 0, 4)
            assert stepper.traced() == [(1, RECORD), (0, WAIT), (0, "fill")]
            return
        case "write":
            stepper.write(memory, 6)
            expected = 6
        case "launch":
            stepper.step(memory)
            expected = 16
        case "record":
            stepper.port.record(lambda: stepper.step(memory))
        case "replay":
            stepper.port.replay(recording)
            expected = 16
    assert stepper.read(memory) == expected
    assert stepper.traced()[:2] == [(1, RECORD), (0, WAIT)]


def test_freed_memory_is_still_used_by_what_used_it(stepper: Stepper, monkeypatch: pytest.MonkeyPatch) -> None:
    """CuPy's pool gives memory away at once, while the work that used it is under way."""
    memory = stepper.memory()
    pointer = memory.holder
    stepper.step(memory)
    stepper.port.free(memory)
    monkeypatch.setattr(stepper.port._pool, "malloc", lambda size: pointer)
    again = stepper.memory()
    stepper.traced()
    stepper.write(again, 9)
    assert stepper.traced() == [(0, IN), (0, RECORD)]
    assert stepper.read(again) == 9


def test_a_recording_uses_its_memory_whenever_it_is_replayed(stepper: Stepper) -> None:
    memory, other = stepper.memory(), stepper.memory()
    recording = stepper.port.record(lambda: stepper.step(memory))
    stepper.write(memory, 1)
    assert stepper.port.wait(stepper.port.replay(recording))
    stepper.port.replay(recording)
    stepper.traced()
    stepper.write(other, 2)
    stepper.write(memory, 3)
    assert stepper.traced() == [(1, IN), (1, RECORD), (1, RECORD), (0, WAIT), (0, IN), (0, RECORD)]
    assert stepper.read(memory) == 3


# ── through the engine ──


def test_the_engine_pipelines_dispatches(fake: FakeCupy) -> None:
    """Three in flight, as many as there are dispatches: nothing of one waits for the kernel of another."""
    backend = EngineBackend("cuda-rehearsal", lambda: RehearsedPort(opened(fake)))
    source, words = stepping(), [np.full(COUNT, value, np.uint32) for value in range(6)]
    pending = [backend.dispatch_async(source, [words[n]]) for n in range(3)]
    fake.trace.clear()
    for n in range(3):
        (out,) = pending[n].await_result()
        assert np.frombuffer(out, np.uint32).tolist() == [3 * n + 1] * COUNT
        pending.append(backend.dispatch_async(source, [words[n + 3]]))
    names = [(stream, "step" if name.startswith("stepping") else name) for stream, name in fake.trace]
    upload_and_launch = [(1, IN), (1, RECORD), (1, RECORD), (0, WAIT), (0, "step"), (0, RECORD)]
    assert names == [(2, OUT), (2, RECORD), *upload_and_launch] * 3
    for n in range(3, 6):
        assert np.frombuffer(pending[n].await_result()[0], np.uint32).tolist() == [3 * n + 1] * COUNT
    backend.shutdown()


def test_resident_memory_is_filled_beside_kernels_that_do_not_use_it(fake: FakeCupy) -> None:
    backend = EngineBackend("cuda-rehearsal", lambda: RehearsedPort(opened(fake)))
    source, x = stepping(), np.full(COUNT, 1, np.uint32)
    resource = backend.allocate_resident(x.nbytes)
    backend.dispatch(source, [x])  # the zeros are there then
    pending = backend.dispatch_async(source, [x])
    fake.trace.clear()
    backend.upload_resident(resource, x)
    assert fake.trace == [(1, IN), (1, RECORD)]
    steps = [ResidentDispatchStep(program=source, resources=(resource,))] * 3
    ranges, got = [ResidentReadRange(resource=resource, byte_offset=0, byte_len=x.nbytes)], np.zeros_like(x)
    for expected in (40, 1093):
        backend.dispatch_resident_sequence_read_ranges_into(steps, ranges, [got])
        assert got.tolist() == [expected] * COUNT
    assert np.frombuffer(pending.await_result()[0], np.uint32).tolist() == [4] * COUNT
    backend.shutdown()


# ── any order ──

SLOTS = 3
CALLS = ("write", "step", "read", "fill", "submit", "wait", "query", "free", "record", "replay")


@settings(max_examples=80, deadline=None)
@given(
    hurried=st.sets(st.integers(0, 2)),
    calls=st.lists(st.tuples(st.sampled_from(CALLS), st.integers(0, SLOTS - 1)), min_size=10, max_size=40),
)
def test_whatever_is_called_bytes_are_those_of_one_row(hurried: set[int], calls: list[tuple[str, int]]) -> None:
    """Each stream does its work at once, or as late as it may. Freed memory is the next to be allocated."""
    fake = FakeCupy(hurried=frozenset(hurried))
    stepper = Stepper(fake)
    port, pool = stepper.port, [port_memory.holder for port_memory in (stepper.memory() for _ in range(SLOTS))]
    port._pool.malloc = lambda size: pool.pop()
    memories, values, marks = [stepper.memory() for _ in range(SLOTS)], [0] * SLOTS, [None] * SLOTS
    recordings: dict[int, Any] = {}
    for memory in memories:
        stepper.write(memory, 0)
        assert stepper.read(memory) == 0
    for number, (call, n) in enumerate(calls):
        memory = memories[n]
        match call:
            case "write":
                stepper.write(memory, number)
                values[n] = number
            case "step":
                marks[n] = stepper.step(memory)
                values[n] = values[n] * 3 + 1
            case "read":
                assert stepper.read(memory) == values[n] % 2**32
            case "fill":
                port.fill(memory, 1, 4 * COUNT)
                values[n] = 0x01010101
            case "submit" if marks[n] is not None:
                port.submit(marks[n])
            case "wait" if marks[n] is not None:
                assert port.wait(marks[n])
            case "query" if marks[n] is not None:
                assert port.query(marks[n])
            case "free":
                recordings.pop(n, None)
                pool.append(memory.holder)
                port.free(memory)
                memories[n] = stepper.memory()
                stepper.write(memories[n], number)
                values[n] = number
            case "record":
                recordings[n] = port.record(lambda memory=memory: stepper.step(memory))
            case "replay" if n in recordings:
                marks[n] = port.replay(recordings[n])
                values[n] = values[n] * 3 + 1
    assert [stepper.read(memory) for memory in memories] == [value % 2**32 for value in values]
    port.close()


# ── lifetimes ──


def sweep() -> None:
    """As often as calls of backends do it until the GPU is asked."""
    for _ in range(SELDOM + 1):
        pending.sweep()
    gc.collect()


def test_what_work_uses_lives_until_it_has_ended(stepper: Stepper, fake: FakeCupy) -> None:
    """Whatever the port is told to free, and whatever forgets it."""
    fake.patience = 10**9
    memory = stepper.memory()
    stepper.write(memory, 1)
    stepper.step(memory)
    held = weakref.ref(memory.holder)
    stepper.module.kernels[stepper.kernel].bind((stepper.memory(), COUNT))
    del memory
    sweep()
    assert held() is not None
    fake.patience = 0
    sweep()
    assert held() is None


def test_a_port_that_is_dropped_keeps_what_runs(fake: FakeCupy) -> None:
    fake.patience = 10**9
    stepper = Stepper(fake)
    memory = stepper.memory()
    stepper.write(memory, 1)
    stepper.step(memory)
    order = weakref.ref(stepper.port._order)
    del stepper
    sweep()
    assert order() is not None
    fake.patience = 0
    sweep()
    assert order() is None


def test_work_without_an_end_is_left_when_the_port_closes(
    stepper: Stepper, fake: FakeCupy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_module, "CLOSING", 0.01)
    fake.patience = 10**9
    stepper.step(stepper.memory())
    fake.log.clear()
    stepper.port.close()
    assert "free_blocks" not in fake.log  # which would wait
    assert "streamSynchronize" not in fake.log
    fake.patience = 0


def test_waits_end_with_the_patience_of_the_engine(stepper: Stepper, fake: FakeCupy) -> None:
    fake.patience = 10**9
    memory = stepper.memory()
    event = stepper.step(memory)
    stepper.port.wait_limit.deadline = Deadline(0.01, "mine")
    for wait in (lambda: stepper.port.wait(event), lambda: stepper.read(memory), lambda: stepper.port.finish()):
        with pytest.raises(DispatchTimeout):
            wait()
    stepper.port.wait_limit.deadline = None
    fake.patience = 0
    assert stepper.port.finish()
