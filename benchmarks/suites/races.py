"""Race detectors: invocations a second of a launch in which nothing races, which is when a detector has most to do.

The scalar detector gets as many invocations as it can take in a moment, the others all. Compilation is not timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import programs
from harness import Case, Peer, Scale, Trial
from programs import GROUP
from records import Record
from report import Table, pivot, rate

from vyre_driver import DispatchConfig, acquire
from vyre_driver.observe.races import find_race
from vyre_foundation import Program
from vyre_reference import detect_races

TITLE = "Race detectors"
CALLS = 20
PEERS = {
    "vyre, the program itself": Peer(modules=("vyre_driver_cpu",)),
    "vyre, one access at a time": Peer(modules=("vyre_reference",)),
    "vyre, no detector": Peer(modules=("vyre_driver_cpu",)),
}
PROGRAMS: dict[str, Callable[[int], Program]] = {
    "xor": lambda groups: programs.xor(),
    "workgroup reduction": programs.reduction,
    "histogram": lambda groups: programs.histogram(),
    "histogram, result used": lambda groups: programs.ranks(),
}
PATIENCE = 0.1
"""Seconds of a run beyond which the size for the scalar detector is no longer raised."""


def cases(scale: Scale) -> list[Case]:
    return [Case(name, 2**20 if scale is Scale.FULL else GROUP) for name in PROGRAMS]


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    match peer:
        case "vyre, one access at a time":
            size = GROUP
            while size < case.size and _seconds(_trial(_scalar, case.name, size)) < PATIENCE:
                size = min(case.size, 4 * size)
            return {"": _trial(_scalar, case.name, size)}
        case "vyre, the program itself":
            return {"": _trial(partial(find_race, acquire("cpu")), case.name, case.size)}
        case _:
            return {"": _trial(acquire("cpu").dispatch_arrays, case.name, case.size)}


def _seconds(trial: Trial) -> float:
    started = time.perf_counter()
    trial.run()
    return time.perf_counter() - started


def _scalar(program: Program, arrays: dict[str, Any], config: DispatchConfig) -> None:
    detect_races(program, arrays, config)


def _trial(detect: Callable[[Program, dict[str, Any], DispatchConfig], object], name: str, size: int) -> Trial:
    groups = size // GROUP
    program, config = PROGRAMS[name](groups), DispatchConfig(grid_override=(groups, 1, 1))
    arrays: dict[str, Any] = {program.inputs[0].name: programs.words(size)}
    arrays |= {b.name: np.zeros(b.count, b.dtype.numpy) for b in program.inputs[1:] if isinstance(b.count, int)}
    return Trial(run=lambda: detect(program, arrays, config), amount=float(size))


def tables(records: Sequence[Record]) -> list[Table]:
    shown = pivot(records, rows=("peer",), columns=("case",), show=partial(rate, scale=1e-6))
    return [shown.titled("million invocations a second")]
