"""Dispatches of several Python threads beside those of one: each takes an array and gives a fresh one.

Each invocation runs a loop over one word. The number of steps is a constant of the program, or an input. The time of a
dispatch is that from the common start of all threads to the last end, divided by the number of dispatches.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import programs
from harness import Case, Peer, Scale, Trial
from programs import GROUP, U32
from records import Record
from report import Table, pivot, ratio, spread

TITLE = "Python threads"
CALLS = 5
THREADS = 8
SECONDS = 0.2
"""About what a run takes."""
PEERS = {
    "vyre, CPU": Peer(modules=("vyre", "vyre_driver_cpu")),
    "vyre, CPU, one worker": Peer(modules=("vyre", "vyre_driver_cpu"), environment={"VYRE_CPU_THREADS": "1"}),
    "NumPy": Peer(modules=("numpy",)),
    "Numba": Peer(modules=("numba",)),
}
BASE = ("vyre, CPU, one worker", "1 thread")
SHAPES = {
    "1 Ki words × 1": (2**10, 1),
    "16 Ki words × 10": (2**14, 10),
    "1 workgroup × 20 000": (GROUP, 20_000),
    "1 workgroup × 1 000 000 by data": (GROUP, 1_000_000),
    "16 Ki words × 100": (2**14, 100),
    "1 Mi words × 100": (2**20, 100),
}
"""Words and steps."""

Call = Callable[[], U32]


def cases(scale: Scale) -> list[Case]:
    if scale is Scale.TOY:
        return [Case("1 Ki words × 1", GROUP)]
    return [Case(name, words) for name, (words, _) in SHAPES.items()]


def takes_part(peer: str, case: Case) -> bool:
    return peer != "NumPy" or SHAPES[case.name][1] <= 100


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    steps, x = SHAPES[case.name][1], programs.words(case.size)
    make: Callable[[U32, int], Call]
    match peer:
        case "NumPy":
            make = _numpy
        case "Numba":
            make = _numba
        case _:
            make = partial(_vyre, by_data=case.name.endswith("by data"))
    call = make(x, steps)
    right = call()
    return {f"{n} thread{'s' * (n > 1)}": _together(call, n, right) for n in (1, 2, THREADS)}


def _together(call: Call, count: int, right: U32) -> Trial:
    started = time.perf_counter()
    call()
    each = min(5_000, max(1, int(SECONDS / (time.perf_counter() - started) / count)))
    results: list[U32] = []

    def run() -> float:
        results.clear()
        begins: list[float] = []
        ends: list[float] = []
        start = threading.Barrier(count)

        def work() -> None:
            for _ in range(10):
                call()
            start.wait()
            begins.append(time.perf_counter())
            for _ in range(each):
                result = call()
            ends.append(time.perf_counter())
            results.append(result)

        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return (max(ends) - min(begins)) / (each * count)

    def is_right() -> bool:
        run()
        return len(results) == count and all(np.array_equal(result, right) for result in results)

    return Trial(run=run, is_right=is_right)


def _vyre(x: U32, steps: int, *, by_data: bool) -> Call:
    import vyre
    from vyre_driver import acquire

    @vyre.kernel(workgroup_size=GROUP)
    def mixed(x: vyre.Array[vyre.u32, "n"], steps: vyre.u32) -> vyre.Array[vyre.u32, "n"]:  # noqa: F821, UP037
        s = x[vyre.index()] + 0
        for k in range(steps if by_data else vyre.u32(fixed)):
            s = (s ^ k) * 7
        return s

    fixed = steps
    backend, program = acquire("cpu"), mixed.program
    names, given = [b.name for b in program.inputs], (x, np.array([steps], np.uint32))
    arrays: dict[str, Any] = dict(zip(names, given, strict=False))  # without the steps, where the program knows them
    return lambda: backend.dispatch_arrays(program, arrays)["out"]


def _numpy(x: U32, steps: int) -> Call:
    def mixed() -> U32:
        s = x
        for k in range(steps):
            s = (s ^ np.uint32(k)) * np.uint32(7)
        return s

    return mixed


def _numba(x: U32, steps: int) -> Call:
    from numba import njit

    @njit(nogil=True)
    def mix(x, out, steps):  # type: ignore[no-untyped-def]
        for i in range(x.size):
            s = x[i]
            for k in range(steps):
                s = np.uint32((s ^ np.uint32(k)) * np.uint32(7))
            out[i] = s

    def mixed() -> U32:
        out = np.empty_like(x)
        mix(x, out, steps)
        return out

    return mixed


def tables(records: Sequence[Record]) -> list[Table]:
    rows, columns = ("peer", "variant"), ("case",)
    times = pivot(records, rows=rows, columns=columns, show=partial(spread, scale=1e6))
    one = {row["case"]: row for row in records if (row["peer"], row["variant"]) == BASE}
    rates = pivot(records, rows=rows, columns=columns, show=lambda row: ratio(one.get(row["case"]), row))
    return [
        times.titled("µs a dispatch, median (quartiles)"),
        rates.titled("Dispatches a second, beside those of one thread on one core"),
    ]
