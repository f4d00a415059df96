"""Canaries beside the memory of a device: a byte that is written to on either side of it is found."""

from collections.abc import Callable

import numpy as np
import pytest

from vyre_conform.oracle import EVALUATORS
from vyre_conform.worker.canary import CanaryDied, guarded_memory
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.device import Device
from vyre_driver.engine.port import Allocation
from vyre_driver.registry.backends import acquire
from vyre_driver.testing.fake_port import FakeMemory, FakePort


class SharingPort(FakePort):
    """A device that works in host memory, too."""

    def in_place(self, data: memoryview) -> FakeMemory:
        return FakeMemory(data, is_foreign=True)


@pytest.fixture
def backend():
    made = EngineBackend("fake", lambda: SharingPort(EVALUATORS["vector"]))
    yield made
    made.shutdown()


def written(device: Device, data: bytes, offset: int) -> Allocation:
    """Memory of 8 bytes, which is alive for as long as the result is."""
    memory = device.allocate(8)
    device.copy_in(memory, memoryview(data), offset)
    return memory


def within(device: Device) -> Allocation:
    return written(device, bytes(8), 0)


def behind(device: Device) -> Allocation:
    return written(device, b"x", 8)


def far_behind(device: Device) -> Allocation:
    return written(device, b"x", 100)


def in_what_was_freed(device: Device) -> None:
    memory = device.allocate(8)
    device.copy_in(memory, memoryview(b"x"), 8)
    device.free((memory,))


def piece(device: Device, first: int, size: int) -> np.ndarray:
    """16 bytes of the host that the device works in, with a part of what is around them."""
    whole = device.host_memory(32)
    device.adopt(whole[8:24])
    return whole[8 + first : 8 + first + size]


def in_the_piece(device: Device) -> None:
    piece(device, 0, 16)[:] = 1


def behind_the_piece(device: Device) -> None:
    piece(device, 16, 1)[:] = 1


def before_the_piece(device: Device) -> None:
    piece(device, -1, 1)[:] = 1


@pytest.mark.parametrize("work", [within, in_what_was_freed, in_the_piece])
def test_nothing_is_found_where_nothing_can_be_harmed(backend, work: Callable[[Device], object]) -> None:
    with guarded_memory(backend), backend.session() as device:
        held = work(device)
    del held


def test_memory_that_nothing_refers_to_is_freed_and_not_checked(backend) -> None:
    with guarded_memory(backend), backend.session() as device:
        behind(device)


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (behind, "bytes behind 8 bytes of the device's memory"),
        (far_behind, "bytes behind 8 bytes of the device's memory"),
        (behind_the_piece, "bytes behind 16 bytes of the device's memory"),
        (before_the_piece, "bytes before 16 bytes of the device's memory"),
    ],
)
def test_a_byte_beside_memory_is_found(backend, work: Callable[[Device], object], what: str) -> None:
    with pytest.raises(CanaryDied, match=what), guarded_memory(backend), backend.session() as device:
        held = work(device)
    del held


def failing(device: Device) -> None:
    held = behind(device)
    raise KeyError(held)


def test_it_is_found_where_the_dispatch_fails_too(backend) -> None:
    with pytest.raises(CanaryDied), guarded_memory(backend), backend.session() as device:
        failing(device)


def test_memory_is_as_it_was_afterwards(backend) -> None:
    with guarded_memory(backend):
        pass
    with backend.session() as device:
        assert device.host_memory(32).nbytes == 32
        assert len(device.allocate(8).memory.contents) == 8


def test_a_backend_without_an_engine_is_left_alone() -> None:
    with guarded_memory(acquire("reference")):
        pass
