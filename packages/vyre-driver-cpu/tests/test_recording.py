"""Launches and fills that are kept ready: run again they do the same, in the calling thread and on the pool."""

import numpy as np
import pytest

from vyre_driver.engine.lowering import lowered_for
from vyre_driver.policy.queue import LONGEST_BLOCKING
from vyre_driver_cpu.launch import Module
from vyre_driver_cpu.port import CpuPort
from vyre_driver_cpu.probe import CALLER, THREADS
from vyre_foundation.text import parse
from vyre_foundation.validate import validate

PROGRAM = parse("""\
program steps workgroup(64, 1, 1) {
  read_write x: u32[4096] @0;
  read_write y: u32[4096] @1;

  y[global_id.x] = y[global_id.x] * 3 + x[global_id.x];
  x[global_id.x] = x[global_id.x] + 1;
}
""")
ONE = (1, 1, 1)


@pytest.fixture(params=[CALLER, THREADS], ids=["caller", "threads"])
def queue(request: pytest.FixtureRequest) -> int:
    return int(request.param)


class Steps:
    """A port with a kernel and memory, and what they should give."""

    def __init__(self, queue: int) -> None:
        self.port = CpuPort()
        lowered = lowered_for(self.port.target(), validate(PROGRAM))
        unit = self.port.emit(lowered)
        self.module: Module = self.port.compile(unit, queue)
        (self.kernel,) = unit.kernels
        self.memory = [self.port.allocate(4 * 4096) for _ in "xy"]
        (kernel,) = lowered.kernels
        bound = [b.name for b in kernel.program.buffers if b.binding is not None]
        self.runs = self.port.allocate(8)
        self.runs.bytes[:] = np.array([1, 64], np.uint32).view(np.uint8)
        self.args = [dict(zip("xy", self.memory, strict=True)).get(name, self.runs) for name in bound]
        for memory in self.memory:
            memory.bytes[:] = 0

    def launch(self, longest: float = 0.001) -> None:
        self.port.launch(self.module, self.kernel, (64, 1, 1), ONE, self.args, longest=longest)

    def read(self) -> list[int]:
        """The first element of each buffer, which is that of all."""
        found = []
        for memory in self.memory:
            out = np.empty(4096, np.uint32)
            self.port.copy_out(memory, memoryview(out).cast("B"))
            assert (out == out[0]).all()
            found.append(int(out[0]))
        return found


def expected(x: int, y: int, times: int) -> list[int]:
    for _ in range(times):
        x, y = x + 1, (y * 3 + x) % 2**32
    return [x, y]


def test_nothing_runs_while_it_is_recorded(queue: int) -> None:
    steps = Steps(queue)
    steps.port.record(lambda: [steps.launch() for _ in range(3)] and None)
    assert steps.read() == [0, 0]


@pytest.mark.parametrize("launches", [1, 2, 1000])
def test_a_replay_runs_everything_in_order(queue: int, launches: int) -> None:
    steps = Steps(queue)
    recording = steps.port.record(lambda: [steps.launch() for _ in range(launches)] and None)
    for times in (1, 2):
        assert steps.port.wait(steps.port.replay(recording), 60.0)
        assert steps.read() == expected(0, 0, launches * times)
    steps.port.forget(recording)


def test_fills_are_recorded(queue: int) -> None:
    steps = Steps(queue)

    def enqueue() -> None:
        steps.launch()
        steps.port.fill(steps.memory[0], 0x01, 4 * 4096)
        steps.launch()

    recording = steps.port.record(enqueue)
    for memory in steps.memory:
        memory.bytes[:] = 0
    assert steps.port.wait(steps.port.replay(recording), 60.0)
    assert steps.read() == expected(0x01010101, expected(0, 0, 1)[1], 1)


def test_a_forgotten_recording_may_be_in_flight(queue: int) -> None:
    steps = Steps(queue)
    recording = steps.port.record(lambda: [steps.launch() for _ in range(500)] and None)
    work = steps.port.replay(recording)
    steps.port.forget(recording)
    assert steps.port.wait(work, 60.0)
    assert steps.read() == expected(0, 0, 500)


def test_the_host_is_not_blocked_for_long() -> None:
    """A recording that may take long is run in parts, between which interrupts get through."""
    steps = Steps(CALLER)
    recording = steps.port.record(lambda: [steps.launch(LONGEST_BLOCKING / 2.5) for _ in range(7)] and None)
    assert [count for _, count in recording.spans()] == [2, 2, 2, 1]
    steps.port.replay(recording)
    assert steps.read() == expected(0, 0, 7)


def test_what_fails_records_nothing(queue: int) -> None:
    steps = Steps(queue)

    def enqueue() -> None:
        steps.launch()
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        steps.port.record(enqueue)
    steps.launch()
    assert steps.read() == expected(0, 0, 1)
