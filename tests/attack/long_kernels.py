"""What children of the attack suite run: kernels that take as long as they are told, and writes that must not be seen.

A child imports this module by its path. `Long` is a program whose kernel fills its output again and again, so that
every write after its memory was freed lands in memory that belongs to something else by then: `Witnesses` are arrays
that take the place of freed memory, and must stay zero.
"""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

import vyre as vy
from vyre_driver import DispatchConfig, acquire

WORDS = 1 << 14
BYTES = 4 * WORDS
SOON = 0.1
"""Seconds: a timeout that passes while the kernel runs."""


def filling() -> Any:
    """Fills `out` as often as `rounds` says, with other words in each round."""
    with vy.program("filling", workgroup_size=1) as p:
        rounds, out = p.read("rounds", vy.u32, 1), p.read_write("out", vy.u32, WORDS)
        with p.if_(p.global_id(0) == 0), p.range(0, rounds[0]) as r, p.range(0, WORDS) as i:
            out[i] = out[i] * 3 + (r | 1)
    return p.build()


def scaling() -> Any:
    """Small work, whose result is known."""
    with vy.program("scaling", workgroup_size=64) as p:
        x = p.read("x", vy.u32)
        out = p.write("out", vy.u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 3 + 1
    return p.build()


GIVEN = np.arange(1000, dtype=np.uint32)
EXPECTED = (GIVEN * 3 + 1).tobytes()


def words(value: int) -> np.ndarray:
    return np.full(1, value, np.uint32)


class Long:
    """`filling`, and the number of rounds that take as many seconds as a test wants."""

    def __init__(self, backend: str, seconds: float) -> None:
        self.backend = backend
        self.program = filling()
        with_one = acquire(backend)
        for _ in range(3):
            started = time.perf_counter()
            with_one.dispatch(self.program, [words(500), np.ones(WORDS, np.uint32)])
            taken = time.perf_counter() - started
        with_one.shutdown()
        self.seconds = seconds
        self.rounds = words(min(2**32 - 1, int(500 * seconds / taken)))

    def given(self) -> list[np.ndarray]:
        return [self.rounds, np.ones(WORDS, np.uint32)]


SOON_CONFIG = DispatchConfig(timeout=SOON)


class Witnesses:
    """Arrays where freed memory was. They must be zero for as long as a kernel may still write."""

    def __init__(self, count: int = 60) -> None:
        gc.collect()
        sizes = (BYTES, BYTES + 64, BYTES + 4095)  # of outputs, rooms, and pages
        self.arrays = [np.zeros(size, np.uint8) for _ in range(count) for size in sizes]

    def check(self, seconds: float, what: str) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            changed = sum(int(array.any()) for array in self.arrays)
            assert not changed, f"{what}: {changed} arrays of others were changed"
