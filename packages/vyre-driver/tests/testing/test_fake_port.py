"""The fake port notices when the engine breaks the port's contract."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vyre_driver.legalization.lowered import Kernel, Lowered
from vyre_driver.legalization.schedule import KernelLaunch
from vyre_driver.testing.fake_port import FakePort, InjectedError
from vyre_foundation.build import program
from vyre_foundation.dtype import u16
from vyre_foundation.ir.program import Program


def masking() -> Program:
    with program("masking", 2) as p:
        x = p.read_write("x", u16)
        x[p.global_id(0)] = x[p.global_id(0)] & 0x7F7F
    return p.build()


def lowered(source: Program) -> Lowered:
    return Lowered(
        source=source,
        kernels=(Kernel("k", source, ("x",)),),
        schedule=(KernelLaunch(0),),
        buffers={"x": source.buffers[0]},
    )


@pytest.fixture
def port() -> FakePort:
    def evaluate(plan: Any, memory: Any) -> None:
        memory["x"][:] = bytes(value & 0x7F for value in memory["x"])

    return FakePort(evaluate)


def test_memory_begins_as_rubbish_and_keeps_what_is_written(port: FakePort) -> None:
    memory = port.allocate(4)
    out = memoryview(bytearray(2))
    port.copy_out(memory, out, 2)
    assert bytes(out) == b"\xa5\xa5"
    port.fill(memory, 7, 3)
    port.copy_in(memory, memoryview(b"\1\2"), 1)
    assert bytes(memory.contents) == b"\7\1\2\xa5"


def test_a_launch_runs_the_evaluator_over_memory_by_name(port: FakePort) -> None:
    unit = port.emit(lowered(masking()))
    module = port.compile(unit)
    memory = port.allocate(8)
    port.copy_in(memory, memoryview(b"\x81\x82\3\4"))
    event = port.launch(module, unit.kernels[0], (1, 1, 1), (2, 1, 1), (memory, 2), timed=True)
    assert port.wait(event)
    assert port.query(event)
    assert port.elapsed(event) == 1000
    assert bytes(memory.contents[:5]) == b"\1\2\3\4\xa5"  # two elements were bound


@pytest.mark.parametrize(
    "misuse",
    [
        lambda port, memory: port.allocate(0),
        lambda port, memory: port.fill(memory, 0, 5),
        lambda port, memory: port.copy_in(memory, memoryview(b"")),
        lambda port, memory: port.copy_in(memory, memoryview(b"12"), 3),
        lambda port, memory: port.copy_out(memory, memoryview(bytearray(4)), -1),
        lambda port, memory: [port.free(memory), port.free(memory)],
        lambda port, memory: [port.free(memory), port.fill(memory, 0, 1)],
        lambda port, memory: [port.close(), port.allocate(1)],
    ],
)
def test_misuse_is_noticed(port: FakePort, misuse: Callable[..., object]) -> None:
    memory = port.allocate(4)
    with pytest.raises(AssertionError):
        misuse(port, memory)


def test_an_endless_wait_is_noticed(port: FakePort) -> None:
    port.hangs = True
    unit = port.emit(lowered(masking()))
    event = port.launch(port.compile(unit), unit.kernels[0], (1, 1, 1), (2, 1, 1), (port.allocate(2), 1))
    assert not port.wait(event, timeout=1.0)
    assert not port.query(event)
    with pytest.raises(AssertionError, match="the engine would wait for ever"):
        port.wait(event)


def test_faults_come_when_they_are_due(port: FakePort) -> None:
    port.faults = [InjectedError("allocate", RuntimeError("full"), nth=2)]
    port.allocate(1)
    with pytest.raises(RuntimeError, match="full"):
        port.allocate(1)
    port.allocate(1)
    assert port.count("allocate") == 3
    assert len(port.live) == 2


def test_a_lazy_device_works_when_it_is_waited_for(port: FakePort) -> None:
    port.is_lazy = True
    memory = port.allocate(4)
    port.copy_in(memory, memoryview(b"\x81\x82\x83\x84"))
    unit = port.emit(lowered(masking()))
    first, second = (port.launch(port.compile(unit), "entry_0", (1, 1, 1), (2, 1, 1), (memory, 2)) for _ in "12")
    assert bytes(memory.contents) == b"\xa5\xa5\xa5\xa5"
    port.work(2)
    assert bytes(memory.contents) == b"\1\2\3\4"
    assert port.query(first)
    assert not port.query(second)
    port.fill(memory, 9, 4)
    assert port.wait(second)
    assert bytes(memory.contents) == b"\1\2\3\4"
    port.copy_out(memory, out := memoryview(bytearray(4)))
    assert bytes(out) == b"\t\t\t\t"


def test_a_recording_runs_when_it_is_replayed(port: FakePort) -> None:
    port.records = True
    memory = port.allocate(4)
    module = port.compile(port.emit(lowered(masking())))

    def enqueue() -> None:
        port.fill(memory, 0x81, 4)
        port.launch(module, "entry_0", (1, 1, 1), (2, 1, 1), (memory, 2))

    recording = port.record(enqueue)
    assert bytes(memory.contents) == b"\xa5\xa5\xa5\xa5"
    for _ in range(2):
        assert port.wait(port.replay(recording))
        assert bytes(memory.contents) == b"\1\1\1\1"
        port.fill(memory, 0, 4)
    port.forget(recording)
    assert port.recordings == set()
    with pytest.raises(AssertionError, match="a forgotten recording was replayed"):
        port.replay(recording)


def test_foreign_arrays_are_used_where_they_are(port: FakePort) -> None:
    array = np.arange(4, dtype=np.uint8)
    memory = port.wrap(array)
    assert memory is not None
    port.fill(memory, 7, 2)
    assert array.tolist() == [7, 7, 2, 3]
    assert port.wrap(array[::2]) is None
    assert port.wrap([1]) is None
