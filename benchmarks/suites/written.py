"""Kernels as people write them, one thread: `@vy.kernel` beside the same loops compiled by Numba.

A call takes NumPy arrays and gives a new one, for both. Every process is bound to the same core and counts its own CPU
time, as in the suite `core`. Before it is timed, each peer's result is compared with that of the loops, which Numba
compiles; Python runs them where Numba is not installed, which takes minutes at full size.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from harness import Case, Peer, Scale, Trial
from records import Record
from report import Table, figure
from written import PAIRS, Pair

TITLE = "Kernels as people write them"
CALLS = 50
OURS, NUMBA = "vyre", "Numba"
PEERS = {
    OURS: Peer(modules=("vyre", "vyre_driver_cpu"), environment={"VYRE_CPU_THREADS": "1"}),
    NUMBA: Peer(modules=("numba",), environment={"NUMBA_NUM_THREADS": "1"}),
}


def cases(scale: Scale) -> list[Case]:
    return [Case(name, pair.full if scale is Scale.FULL else pair.toy) for name, pair in PAIRS.items()]


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pair = PAIRS[case.name]
    arguments = pair.make(case.size)
    call = compiled(pair) if peer == NUMBA else pair.kernel.on("cpu")
    right = lambda: pair.agree(call(*arguments), wanted(pair, arguments))
    return {"": Trial(run=lambda: call(*arguments), is_right=right, clock=time.process_time)}


def compiled(pair: Pair) -> Callable[..., Any]:
    """The loops as Numba compiles them, with NumPy's meaning of a division by zero."""
    from numba import njit

    return njit(error_model="numpy")(pair.loops)  # type: ignore[no-any-return]


def wanted(pair: Pair, arguments: Sequence[Any]) -> Any:
    """The result of the loops."""
    try:
        loops = compiled(pair)
    except ModuleNotFoundError:
        loops = pair.loops
    with np.errstate(over="ignore"):  # arithmetic of integers wraps around
        return loops(*arguments)


def tables(records: Sequence[Record]) -> list[Table]:
    named = {(row["case"], row["peer"]): row["median"] for row in records if "median" in row}
    cases = dict.fromkeys(row["case"] for row in records)
    ratios = {
        case: named[case, NUMBA] / named[case, OURS] for case in cases if {(case, OURS), (case, NUMBA)} <= named.keys()
    }
    table = Table(("case",), [f"{OURS}, ms", f"{NUMBA}, ms", f"{NUMBA} ÷ {OURS}"])
    for case in cases:
        times = {f"{peer}, ms": figure(named[case, peer] * 1e3) for peer in PEERS if (case, peer) in named}
        table.rows[case,] = times | ({f"{NUMBA} ÷ {OURS}": f"{ratios[case]:.2f}"} if case in ratios else {})
    return [_headline(ratios), table.titled("CPU time of one thread, median; above 1 vyre is ahead")]


def _headline(ratios: dict[str, float]) -> Table:
    """The median of the ratios, and the cases that are behind, worst first."""
    table = Table(("of all cases",), [f"{NUMBA} ÷ {OURS}"])
    if ratios:
        table.rows[f"median of {len(ratios)}",] = {f"{NUMBA} ÷ {OURS}": f"{statistics.median(ratios.values()):.2f}"}
    for case in sorted((case for case in ratios if ratios[case] < 1), key=ratios.__getitem__):
        table.rows[f"behind: {case}",] = {f"{NUMBA} ÷ {OURS}": f"{ratios[case]:.2f}"}
    return table
