"""Opinions in processes of their own: the textbook evaluator is slow, and a machine has several cores."""

from __future__ import annotations

import pickle
import queue
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from vyre_conform.case import Case, Spec
from vyre_conform.oracle.evaluators import EVALUATORS
from vyre_conform.oracle.verdict import Verdict, settle
from vyre_conform.worker.child import Child, NoAnswer
from vyre_conform.worker.protocol import Closed
from vyre_driver import process

QUEUED_PER_PROCESS = 8
"""Cases for each process that are worked out before the first of them is taken."""
LEAST_PER_PROCESS = 32
"""Cases that pay for the start of a process."""
START_SECONDS = 120.0
"""What a process may take beyond the seconds of its evaluators: to start, to build a case, to answer."""


def settled(specs: Sequence[Spec], seed: int, seconds: float, processes: int = 1) -> Iterator[tuple[Case, Verdict]]:
    """Each case and the verdict on it, in order. With several processes the specs have to be those of the corpus."""
    processes = min(processes, len(specs) // LEAST_PER_PROCESS)
    if processes <= 1:
        for spec in specs:
            case = spec.case(seed)
            yield case, settle(case, seconds=seconds)
        return
    with _Pool(processes, seed, seconds) as pool:
        waiting: deque[tuple[Spec, Future[tuple[Case, Verdict]]]] = deque()
        for spec in specs:
            waiting.append((spec, pool.submit(spec)))
            if len(waiting) > processes * QUEUED_PER_PROCESS:
                yield _taken(*waiting.popleft())
        while waiting:
            yield _taken(*waiting.popleft())


class _Pool:
    """Processes, each asked by a thread."""

    def __init__(self, processes: int, seed: int, seconds: float) -> None:
        self._seed, self._seconds = seed, seconds
        self._threads = ThreadPoolExecutor(processes)
        self._idle: queue.SimpleQueue[_Opinions] = queue.SimpleQueue()
        self._all = [_Opinions() for _ in range(processes)]
        for opinions in self._all:
            self._idle.put(opinions)

    def submit(self, spec: Spec) -> Future[tuple[Case, Verdict]]:
        return self._threads.submit(self._work, spec)

    def _work(self, spec: Spec) -> tuple[Case, Verdict]:
        opinions = self._idle.get()
        try:
            return opinions.ask(spec, self._seed, self._seconds)
        finally:
            self._idle.put(opinions)

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever is not taken by now is not wanted any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for opinions in self._all:
            opinions.cancel()
        self._threads.shutdown(wait=True)
        for opinions in self._all:
            opinions.stop()


class _Opinions:
    """All evaluators in one process, which is started when it is asked first, and again when it has died."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._cancelled = threading.Event()

    def ask(self, spec: Spec, seed: int, seconds: float) -> tuple[Case, Verdict]:
        if self._cancelled.is_set():
            return _undecided(spec, seed, "it was cancelled")
        if self._child is None:
            self._child = Child(process.python("-m", "vyre_conform.oracle"), process.environment())
            if self._cancelled.is_set():
                self._child.kill()
        try:
            self._child.send({"case": str(spec.address), "seed": seed, "seconds": seconds})
            _, (answer,) = self._child.receive(START_SECONDS + len(EVALUATORS) * seconds)
        except (Closed, NoAnswer) as error:
            if isinstance(error, NoAnswer):
                self._child.kill()
            died = self._child.death()
            self.stop()
            last = died.words.rpartition("\n")[2]
            return _undecided(spec, seed, f"the process of the evaluators ended: {died.how} {last}".rstrip())
        found: tuple[Case, Verdict] | Exception = pickle.loads(answer)  # noqa: S301 - of our own child
        if isinstance(found, Exception):
            raise found
        return found

    def cancel(self) -> None:
        """From another thread: end what is under way."""
        self._cancelled.set()
        if (child := self._child) is not None:
            child.kill()

    def stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.stop()


def _undecided(spec: Spec, seed: int, why: str) -> tuple[Case, Verdict]:
    case = spec.case(seed)
    return case, Verdict(case.expected, {}, undecided={"evaluators": why})


def _taken(spec: Spec, future: Future[tuple[Case, Verdict]]) -> tuple[Case, Verdict]:
    """A result, with those of its parts that the spec means."""
    case, verdict = future.result()
    return replace(case, parts=tuple(part for part in case.parts if part.address in spec.parts)), verdict
