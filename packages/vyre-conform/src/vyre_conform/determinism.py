"""Determinism: the same launch in processes that may use one core, two, or all of them, again and again.

Runtimes that compute on the host take as many threads as they have cores, and share out workgroups by luck. What a
program computes depends on neither. Devices of their own are asked several times all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vyre_conform.case import Case, Exactly, Spec
from vyre_conform.compare import Difference, difference
from vyre_conform.oracle import settle
from vyre_conform.outcome import Outcome
from vyre_conform.worker import NamedBy, Worker
from vyre_driver import process
from vyre_driver.cpus import usable_cpus

REPEATS = 4
_CONFINED = """
import os, runpy, sys
os.sched_setaffinity(0, [int(core) for core in sys.argv.pop(1).split(",")])
runpy.run_module("vyre_conform.worker", run_name="__main__")
"""


@dataclass(frozen=True, slots=True)
class Deviation:
    """A case that did not give what it must, and how many cores the process had."""

    case: str
    cores: int
    difference: Difference


def core_counts() -> tuple[int, ...]:
    """How many cores processes are given here; no choice where the system cannot confine them."""
    available = usable_cpus()
    if not hasattr(os, "sched_getaffinity"):
        return (available,)
    return tuple(sorted({1, min(2, available), available}))


def deviations(
    backend: str, specs: Iterable[Spec], *, counts: Sequence[int] | None = None, repeats: int = REPEATS
) -> list[Deviation]:
    """Give what deviates, over all numbers of cores.

    Cases with a result that the schedule decides are compared as sets; those about which the opinions have not agreed
    are passed over.
    """
    verdicts = [(case, settle(case)) for case in (spec.case(0) for spec in specs)]
    settled = [(case, verdict.expected) for case, verdict in verdicts if verdict.is_settled]
    found = []
    for cores in core_counts() if counts is None else counts:
        with Worker(backend, command=confined(cores), named_by=NamedBy.CALLER) as worker:
            for case, expected in settled:
                wrong = difference(case.launch, expected, _asked(worker, case, expected, repeats))
                if wrong is not None:
                    found.append(Deviation(str(case.address), cores, wrong))
    return found


def _asked(worker: Worker, case: Case, expected: object, repeats: int) -> Outcome:
    """Repeated, unless repetitions may differ."""
    may_differ = isinstance(expected, Exactly) and bool(expected.unordered)
    return worker.ask(case.launch, 1 if may_differ else repeats)


def confined(cores: int) -> tuple[str, ...]:
    """The command of a worker that may use the first `cores` cores of those that this process has."""
    if not hasattr(os, "sched_getaffinity"):
        return tuple(process.python("-m", "vyre_conform.worker"))
    mine = sorted(os.sched_getaffinity(0))[:cores]
    return tuple(process.python("-c", _CONFINED, ",".join(map(str, mine))))
