"""Atomics of many workgroups on the same elements, for so long that workers meet there.

Small launches end before a second worker has begun, and then an update that is no atomic is right too.
"""

from __future__ import annotations

import time

import numpy as np

from vyre_conform.worker.claiming import NotExercised, require
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import UnsupportedFeature
from vyre_foundation.build import Value, constant, program, select
from vyre_foundation.dtype import DType, i32, i64, u32, u64
from vyre_foundation.ir.program import Program

GROUP, GROUPS = 8, 64
COUNT = GROUP * GROUPS
MOST = 30_000
"""Iterations of a launch, after which no longer one follows."""
LONG = 0.06
"""Seconds that a launch may take before there are no more iterations."""
OPS = ("add", "xor", "exchange", "compare_exchange", "or", "max", "min")
"""Each has the element of its position, but "or", which sets bits that "and" clears: each invocation has its own."""
BITS = 16
"""Where the bits begin: on a line of the cache of their own."""
CELLS = BITS + COUNT // 32
SEEN = ("or", "max", "min")
"""Where an invocation sees by the next old value that its last update is lost."""


def contended_atomics(backend: VyreBackend) -> None:
    """No update is lost where all invocations update one element, for more and more iterations."""
    refused: list[str] = []
    types = (u32, i32, u64, i64)
    for dtype in types:
        contended, iterations = _contended(dtype), 1
        try:
            _require_right(backend, contended, dtype, iterations)  # the first dispatch compiles
        except UnsupportedFeature as error:
            refused.append(error.message)
            continue
        began = time.perf_counter()
        while iterations < MOST and time.perf_counter() - began < LONG:
            began, iterations = time.perf_counter(), iterations * 8 + 1
            _require_right(backend, contended, dtype, iterations)
    if len(refused) == len(types):
        raise NotExercised(f"it refuses such launches: {refused[0]}", fix="let it have atomics")


def _contended(dtype: DType) -> Program:
    with program(f"contended_{dtype}", GROUP) as p:
        iterations, cells = p.uniform("iterations", u32, 1), p.read_write("cells", dtype, CELLS)
        found_by_each = p.write("found", dtype, COUNT * (2 + len(SEEN)))
        i = p.let(p.global_id(0))
        mine, last = p.var((i + 1).cast(dtype)), p.var(constant(dtype, 0))
        wins = p.var(constant(dtype, 0))
        broken = {op: p.var(constant(dtype, 0)) for op in SEEN}
        group = p.let(p.workgroup_id(0))
        bit = p.let((constant(u32, 1) << (group % 32)).cast(dtype))
        word = p.let(BITS + group // 32 * GROUP + p.local_id(0))
        with p.range(0, iterations[0]) as n:
            set_before = cells.atomic_or(word, bit) & bit
            cells.atomic_add(OPS.index("add"), 1)
            cells.atomic_xor(OPS.index("xor"), (i + 1).cast(dtype))
            mine.set(cells.atomic_exchange(OPS.index("exchange"), mine))
            found = cells.atomic_compare_exchange(OPS.index("compare_exchange"), last, last + 1)
            wins.set(wins + (found == last).cast(dtype))
            last.set(select(found == last, last + 1, found))
            value: Value = p.let((n * COUNT + i).cast(dtype))
            below = p.let(constant(dtype, COUNT * MOST * 9) - value)
            highest, lowest = cells.atomic_max(OPS.index("max"), value), cells.atomic_min(OPS.index("min"), below)
            set_after = cells.atomic_and(word, ~bit) & bit
            broken["or"].set(broken["or"] + ((set_before != 0) | (set_after == 0)).cast(dtype))
            with p.if_(n > 0):
                broken["max"].set(broken["max"] + (highest < value - COUNT).cast(dtype))
                broken["min"].set(broken["min"] + (lowest > below + COUNT).cast(dtype))
        for row, result in enumerate((mine, wins, *broken.values())):
            found_by_each[row * COUNT + i] = result
    return p.build()


def _require_right(backend: VyreBackend, contended: Program, dtype: DType, iterations: int) -> None:
    """`iterations` is odd, so that the bits that are flipped in all of them are those of the last one."""
    start = np.zeros(CELLS, dtype.numpy)
    start[OPS.index("min")] = np.iinfo(dtype.numpy).max
    inputs = [np.array([iterations], np.uint32).tobytes(), start.tobytes()]
    config = DispatchConfig(grid_override=(GROUPS, 1, 1))
    left, found = (np.frombuffer(bytes(out), dtype.numpy) for out in backend.dispatch(contended, inputs, config))
    cells: dict[str, int] = dict(zip(OPS, left.tolist(), strict=False))
    held, won, *bad = found.reshape(-1, COUNT)
    tokens = [*held.tolist(), cells["exchange"]]
    wrong = {op: bool(row.any()) for op, row in zip(SEEN, bad, strict=True)} | {
        "add": cells["add"] != COUNT * iterations,
        "xor": cells["xor"] != np.bitwise_xor.reduce(np.arange(1, COUNT + 1)),
        "exchange": sorted(tokens) != list(range(COUNT + 1)),
        "compare_exchange": int(won.sum(dtype=dtype.numpy)) != cells["compare_exchange"],
    }
    lost = ", ".join("or, and" if op == "or" else op for op in OPS if wrong[op])
    require(not lost, f"{iterations} iterations of {COUNT} invocations lose updates of {dtype} by atomic {lost}")
