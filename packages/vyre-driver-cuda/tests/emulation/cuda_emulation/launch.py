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
    ]


class Module:
    """Loaded code, with the bytes that it was loaded from."""

    def __init__(self, code: bytes, kernels: Sequence[str], waiting: frozenset[str]) -> None:
        self.code, self.kernels, self.waiting = code, tuple(kernels), waiting
        runtime()  # before the code, which calls it
        self._library = loaded(code)
        start, size = self._library.cuda_shared_start, self._library.cuda_shared_size
        start.restype, size.restype = ctypes.c_void_p, ctypes.c_ulonglong
        self._shared = (start(), size())
        self._bodies = {name: _address(self._library[f"cuda_body_{name}"]) for name in kernels}

    def run(
        self, kernel: str, grid: Extent, block: Extent, args: Sequence[Memory | int], *, backwards: bool = False
    ) -> None:
        """Run all blocks. `backwards`: the last block and thread first, for order must not matter."""
        values = (ctypes.c_uint64 * len(args))(*[a if isinstance(a, int) else a.address for a in args])
        places = (ctypes.c_void_p * len(args))(*[ctypes.addressof(values) + 8 * i for i in range(len(args))])
        launch = _Launch(
            self._bodies[kernel], ctypes.addressof(places), _Three(*grid), _Three(*block), *self._shared,
            kernel in self.waiting, backwards,
        )  # fmt: skip
        report = ctypes.create_string_buffer(REPORT)
        if runtime().cuda_run(ctypes.byref(launch), report, ctypes.c_ulonglong(REPORT)):
            raise KernelFault(f"{kernel}: {report.value.decode()}")
        for position, arg in enumerate(args):
            if isinstance(arg, Memory) and not arg.is_sound:
                raise KernelFault(f"{kernel}: something was written behind the end of argument {position}")


def _address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value
