"""Opinions in processes of their own: the textbook evaluator is slow, and a machine has several cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from vyre_conform.case import Case, Spec
from vyre_conform.oracle.verdict import Verdict, settle

AHEAD = 8
"""Cases for each process that are worked out before the first of them is taken."""


def settled(specs: Sequence[Spec], seed: int, seconds: float, processes: int = 1) -> Iterator[tuple[Case, Verdict]]:
    """Each case and the verdict on it, in order. With several processes the specs have to be those of the corpus."""
    if processes <= 1:
        for spec in specs:
            case = spec.case(seed)
            yield case, settle(case, seconds=seconds)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting: deque[tuple[Spec, Future[tuple[Case, Verdict]]]] = deque()
        for spec in specs:
            waiting.append((spec, pool.submit(work_out, str(spec.address), seed, seconds)))
            if len(waiting) > processes * AHEAD:
                yield _taken(*waiting.popleft())
        while waiting:
            yield _taken(*waiting.popleft())


def work_out(address: str, seed: int, seconds: float) -> tuple[Case, Verdict]:
    """The case of an address, and the verdict on it; runs in the pool."""
    from vyre_conform.suite import find

    case = find(address).case(seed)
    return case, settle(case, seconds=seconds)


def _taken(spec: Spec, future: Future[tuple[Case, Verdict]]) -> tuple[Case, Verdict]:
    """A result, with those of its parts that the spec means."""
    case, verdict = future.result()
    return replace(case, parts=tuple(part for part in case.parts if part.address in spec.parts)), verdict
