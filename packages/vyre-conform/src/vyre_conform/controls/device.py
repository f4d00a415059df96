"""Faults of a device: transfers, allocations and launches that do less than they were asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from vyre_conform.controls.engine import on_port, over
from vyre_conform.controls.fault import Fault, Layer
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import DeviceOutOfMemory
from vyre_driver.testing.fake_port import FakeEvent, FakeMemory, FakePort

Right = Callable[..., Any]


def _whole_words(right: Right) -> Right:
    """Only whole words are copied in; of less than a word all is."""

    def copy_in(port: Any, memory: Any, data: memoryview, offset: int = 0) -> None:
        right(port, memory, data[: data.nbytes // 4 * 4] if data.nbytes > 4 else data, offset)

    return copy_in


def _short_fill(right: Right) -> Right:
    """The last bytes are not set."""
    return lambda port, memory, byte, size: right(port, memory, byte, size // 16 * 16) if size >= 16 else None


def _short_readback(right: Right) -> Right:
    """What is beyond a page is not read back."""

    def copy_out(port: Any, memory: Any, into: memoryview, offset: int = 0) -> None:
        right(port, memory, into[:4096], offset)
        into[4096:] = bytes(into[4096:].nbytes)

    return copy_out


def _late(right: Right) -> Right:
    """A launch begins when somebody waits for it, and reading does not wait."""
    pending: list[Callable[[], Any]] = []

    def launch(port: Any, *operands: Any, **options: Any) -> Any:
        for run in pending:
            run()
        pending[:] = [lambda: right(port, *operands, **options)]
        return FakeEvent(bool(options.get("timed")))

    return launch


def _transposed(right: Right) -> Right:
    def launch(port: Any, module: Any, kernel: str, grid: Any, *rest: Any, **options: Any) -> Any:
        return right(port, module, kernel, (grid[0], grid[2], grid[1]), *rest, **options)

    return launch


def _few_groups(right: Right) -> Right:
    """Workgroups beyond an undocumented limit do not run."""

    def launch(port: Any, module: Any, kernel: str, grid: Any, *rest: Any, **options: Any) -> Any:
        return right(port, module, kernel, (min(grid[0], 16), grid[1], grid[2]), *rest, **options)

    return launch


def _aliased(right: Right) -> Right:
    """Two allocations of one size are the same memory."""
    by_size: dict[int, Any] = {}

    def allocate(port: Any, size: int) -> Any:
        found = by_size.get(size)
        if found is None or not found.is_live:
            found = by_size[size] = right(port, size)
        return found

    return allocate


class KeepingPort(FakePort):
    """A device of 64 MiB to which freed memory does not come back."""

    def allocate(self, size: int) -> FakeMemory:
        if size + sum(len(memory.contents) for memory in self.live) > 64 << 20:
            raise DeviceOutOfMemory(size)
        return super().allocate(size)

    def free(self, memory: FakeMemory) -> None:
        """Nothing."""


class BoastingPort(FakePort):
    """A device whose profile claims grid barriers, which its target does not spell."""

    def probe(self) -> DeviceProfile:
        return replace(super().probe(), supports_grid_sync=True)


_fault = partial(Fault, Layer.DEVICE)

# fmt: off
FAULTS = (
    _fault("copy-in-words", "only whole words are copied to the device",
           on_port("copy_in", _whole_words), "memory:gather_long"),
    _fault("fill-short", "the last bytes of memory are not cleared",
           on_port("fill", _short_fill), "memory:untouched_outputs memory:* atomics:*"),
    _fault("readback-page", "what is beyond 4096 bytes is not read back",
           on_port("copy_out", _short_readback), "ops:add"),
    _fault("launch-late", "results are read before the launch has run",
           on_port("launch", _late), "ops:add"),
    _fault("grid-transposed", "y and z of the grid are swapped",
           on_port("launch", _transposed), "ids:*"),
    _fault("grid-limited", "workgroups beyond the 16th do not run",
           on_port("launch", _few_groups), "ops:add"),
    _fault("memory-shared", "two buffers of one size share their memory",
           on_port("allocate", _aliased), "ops:sub"),
    _fault("memory-kept", "memory that is freed is not given back",
           over(KeepingPort), "claims:freed_memory"),
    _fault("barriers-boasted", "a profile claims grid barriers that the target does not spell",
           over(BoastingPort), "claims:profile_agrees"),
)
# fmt: on
