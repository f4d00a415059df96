"""Canaries: bytes around memory that must not be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.device import Device
from vyre_driver.engine.port import Allocation
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Buffer

if TYPE_CHECKING:
    import numpy.typing as npt

PAD = 256
"""Bytes on either side of a buffer."""
CANARY = 0xA5
CANARIES = bytes([CANARY]) * PAD


class CanaryDied(VyreError):
    """Something outside of a buffer was written to."""

    code = "E1206"


class GuardedBytes:
    """Bytes with canaries on both sides."""

    def __init__(self, data: bytes) -> None:
        self.all = bytearray(CANARIES + data + CANARIES)
        self.inside = memoryview(self.all)[PAD : PAD + len(data)]

    def check(self, name: str) -> None:
        """Raise an error if the bytes beside the memory have changed."""
        size = len(self.inside)
        for side, pad in (("before", self.all[:PAD]), ("after", self.all[PAD + size :])):
            if pad != CANARIES:
                raise CanaryDied(f"bytes {side} {name!r} were written to", fix="find the access that is not checked")


@contextmanager
def guarded_memory(backend: VyreBackend) -> Iterator[None]:
    """Canaries beside all memory that an engine allocates meanwhile, checked at the end. Other backends have none."""
    if not isinstance(backend, EngineBackend):
        yield
        return
    with backend.session() as device:
        memory = _GuardedMemory(device)
    with memory.allocated():
        try:
            yield
        finally:
            with backend.session():  # which frees what nothing refers to any more: it is not checked
                memory.check()


class _GuardedMemory:
    """Memory of a device that is larger than what was asked for, with canaries in the rest."""

    def __init__(self, device: Device) -> None:
        self._device, self._port = device, device.port
        self._allocate, self._free, self._adopt = device.port.allocate, device.port.free, device.adopt
        self._behind: dict[int, tuple[Any, int]] = {}  # by identity: memory, and the bytes before its canaries
        self._around: list[npt.NDArray[np.uint8]] = []  # pieces of larger arrays

    @contextmanager
    def allocated(self) -> Iterator[None]:
        """Let the device have such memory."""
        with (
            _replaced(self._port, allocate=self.allocate, free=self.free),
            _replaced(self._device, host_memory=self.host_memory, adopt=self.adopt),
        ):
            yield

    def allocate(self, size: int) -> Any:
        """Memory of the port."""
        memory = self._allocate(size + PAD)
        self._port.copy_in(memory, memoryview(CANARIES), size)
        self._behind[id(memory)] = memory, size
        return memory

    def free(self, memory: Any) -> None:
        """Give memory of the port back."""
        self._behind.pop(id(memory), None)
        self._free(memory)

    def host_memory(self, size: int) -> npt.NDArray[np.uint8]:
        """Memory of the host, for `adopt`."""
        return np.full(PAD + size + PAD, CANARY, np.uint8)[PAD : PAD + size]

    def adopt(self, contents: npt.NDArray[np.uint8]) -> Allocation:
        """A piece of such memory."""
        self._around.append(contents)
        return self._adopt(contents)

    def check(self) -> None:
        """Raise an error if a canary has changed."""
        for memory, size in self._behind.values():
            behind = bytearray(PAD)
            self._port.copy_out(memory, memoryview(behind), size)
            _require_canaries("behind", size, behind)
        for piece in self._around:
            whole = piece.base
            assert isinstance(whole, np.ndarray)
            start = piece.ctypes.data - whole.ctypes.data
            _require_canaries("before", piece.nbytes, whole[:start].tobytes())
            _require_canaries("behind", piece.nbytes, whole[start + piece.nbytes :].tobytes())


@contextmanager
def _replaced(owner: object, **methods: Any) -> Iterator[None]:
    """Let an object have other methods than its class meanwhile."""
    before = {name: vars(owner)[name] for name in methods if name in vars(owner)}
    vars(owner).update(methods)
    try:
        yield
    finally:
        for name in methods:
            del vars(owner)[name]
        vars(owner).update(before)


def _require_canaries(side: str, size: int, found: bytes | bytearray) -> None:
    if found != bytes([CANARY]) * len(found):
        what = f"bytes {side} {size} bytes of the device's memory were written to"
        raise CanaryDied(what, fix="find the access that is not checked")


def foul(data: bytearray) -> bytes:
    """What a caller writes over memory that must no longer be read."""
    return bytes([CANARY]) * len(data)


def names_of(buffers: Sequence[Buffer]) -> list[str]:
    """The names of buffers, in their order."""
    return [buffer.name for buffer in buffers]
