"""Kernels in host memory: loaded, given their arguments, and run to the end."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from cuda_emulation.compiler import loaded, runtime
from vyre_driver.device.profile import Extent

GUARD = 64
"""Bytes behind every allocation that no kernel may change."""
RUBBISH = 0xA5
REPORT = 500
MULTIPROCESSORS, MOST_THREADS, MOST_BLOCKS = 2, 1024, 16
"""Of the pretended GPU: how many there are, and what each holds at the same time."""


class KernelFault(Exception):
    """A kernel did what no kernel may do: the message says what, and `line` where, 0 if nobody knows."""


class Memory:
    """Bytes of the device that begin as rubbish, with a guard behind them."""

    __slots__ = ("_all", "bytes")

    def __init__(self, size: int) -> None:
        self._all = np.full(size + GUARD, RUBBISH, np.uint8)
        self.bytes = self._all[:size]

    @property
    def address(self) -> int:
        return self._all.ctypes.data

    @property
    def is_sound(self) -> bool:
        return bool((self._all[self.bytes.size :] == RUBBISH).all())


class _Three(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class _Launch(ctypes.Structure):
    _fields_ = [
        ("body", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("grid", _Three),
        ("block", _Three),
        ("shared", ctypes.c_void_p),
        ("shared_size", ctypes.c_ulonglong),
        ("has_barriers", ctypes.c_int),
        ("backwards", ctypes.c_int),
        ("is_cooperative", ctypes.c_int),
    ]


class Module:
    """Loaded code, with the bytes that it was loaded from."""

    def __init__(self, code: bytes) -> None:
        self.code = code
        runtime()  # before the code, which calls it
        self._library = loaded(code)
        start, size, kernels = (self._library[f"cuda_{name}"] for name in ("shared_start", "shared_size", "kernels"))
        start.restype, size.restype, kernels.restype = ctypes.c_void_p, ctypes.c_ulonglong, ctypes.c_char_p
        self._shared = (start(), size())
        names = [name.split(":") for name in kernels().decode().split()]
        self._waits = {name: waits == "1" for name, waits, _ in names}
        self.cooperative = frozenset(name for name, _, meets in names if meets == "1")
        self._bodies = {name: _address(self._library[f"cuda_body_{name}"]) for name in self._waits}

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(self._waits)

    def arguments(self, kernel: str) -> int:
        """How many a kernel takes."""
        return int(self._library[f"cuda_arguments_{kernel}"]())

    def run(self, kernel: str, grid: Extent, block: Extent, args: Sequence[Memory | int], **how: bool) -> None:
        """Run all blocks over these arguments. `how`: see `launch`."""
        values = (ctypes.c_uint64 * len(args))(*[a if isinstance(a, int) else a.address for a in args])
        places = (ctypes.c_void_p * len(args))(*[ctypes.addressof(values) + 8 * i for i in range(len(args))])
        self.launch(kernel, grid, block, ctypes.addressof(places), **how)
        for position, arg in enumerate(args):
            if isinstance(arg, Memory) and not arg.is_sound:
                raise KernelFault(f"{kernel}: something was written behind the end of argument {position}")

    def launch(
        self, kernel: str, grid: Extent, block: Extent, places: int, *, backwards: bool = False, together: bool = False
    ) -> None:
        """Run all blocks. `places` is the address of the addresses of the arguments, as CUDA's driver takes them.
        `backwards`: the last block and thread first, for order must not matter. `together`: blocks take turns, so that
        they can wait for each other."""
        sizes, waits = (_Three(*grid), _Three(*block)), self._waits[kernel]
        launch = _Launch(self._bodies[kernel], places, *sizes, *self._shared, waits, backwards, together)
        report = ctypes.create_string_buffer(REPORT)
        if runtime().cuda_run(ctypes.byref(launch), report, ctypes.c_ulonglong(REPORT)):
            raise KernelFault(f"{kernel}: {report.value.decode()}")


def occupancy(threads: int) -> int:
    """Blocks of so many threads that a multiprocessor of the pretended GPU holds."""
    return min(MOST_BLOCKS, MOST_THREADS // threads)


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value
