"""One backend at work: workers that share a queue of settled cases, each asked by a thread of its own.

Cases of one program follow one another, and go to one worker: another would compile the program again.

Random programs are many and each is new to the compiler, which takes long to start: several of them are compiled
together before they are launched. Whatever then goes wrong is asked for again in a new process, where the program
stands alone, so that a cell is its own.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from vyre_conform.case import Case
from vyre_conform.cell import Cell, State
from vyre_conform.compare import describe
from vyre_conform.host import checkout
from vyre_conform.judge import forgive, judge, skip
from vyre_conform.minimise import minimise
from vyre_conform.oracle import Verdict
from vyre_conform.outcome import Crashed, Outcome, Returned, TimedOut
from vyre_conform.reproducer import write_reproducer
from vyre_conform.suite import Suite
from vyre_conform.worker import Cancelled, Hello, NamedBy, Worker

QUEUED = 16
"""Cases that are worked out before the slowest backend asks for them."""
COMPILED_AT_ONCE = 20
"""Random programs that are compiled together."""
POLL = 0.2
"""Seconds after which an idle thread looks whether the bench was cancelled."""
MINIMISE_SECONDS = 90.0
MAX_MINIMISED = 3
"""Failing random programs of one backend that are made smaller; more would take longer than the run."""
ALONE = "compiled alone it passes"

Item = tuple[Case, Verdict]


@dataclass(slots=True)
class CaseRunner:
    """`reproducers` is the folder for failing random programs, if they are wanted."""

    backend: str
    hello: Hello
    workers: list[Worker]
    suite: Suite
    reproducers: Path | None
    error: Exception | None = None
    """What went wrong in the suite itself."""
    _cases: queue.Queue[list[Item] | None] = field(default_factory=lambda: queue.Queue(QUEUED))
    """Cases of one program."""
    _alike: list[Item] = field(default_factory=list)
    """Those of the last program that was put, which may have more."""
    _threads: list[threading.Thread] = field(default_factory=list)
    _minimised: int = 0
    _is_cancelled: bool = False

    @classmethod
    def opened(cls, backend: str, suite: Suite, workers: int, reproducers: Path | None, stack: ExitStack) -> CaseRunner:
        """A backend in `workers` processes; `stack` ends them. The first has started, and said whether it can run."""
        opened = [stack.enter_context(Worker(backend, suite.seconds, named_by=NamedBy.CALLER)) for _ in range(workers)]
        hello = opened[0].start()
        return cls(backend, replace(hello, sources=checkout(hello.packages.split())), opened, suite, reproducers)

    def begin(self, note: Callable[[Cell], None]) -> None:
        """Judge what is put, and tell `note`, which several threads call."""
        self._threads = [threading.Thread(target=self._work, args=(w, note), daemon=True) for w in self.workers]
        for thread in self._threads:
            thread.start()

    def put(self, case: Case, verdict: Verdict) -> None:
        """One more case; waits while there are many."""
        if self._alike and _compiled(self._alike[0][0]) != _compiled(case):
            self._put_alike()
        self._alike.append((case, verdict))

    def _put_alike(self) -> None:
        self._cases.put(self._alike)
        self._alike = []

    def no_more(self) -> None:
        """All cases were put."""
        if self._alike:
            self._put_alike()
        for _ in self._threads:
            self._cases.put(None)

    def cancel(self) -> None:
        """End the processes, and drop what is not judged yet."""
        self._is_cancelled = True
        for worker in self.workers:
            worker.cancel()

    def join(self) -> None:
        """Wait until everything is judged."""
        for thread in self._threads:
            thread.join()

    def _work(self, worker: Worker, note: Callable[[Cell], None]) -> None:
        """Judge cases until there are no more.

        After an error of the suite itself the rest is taken and dropped, so that nothing waits for this backend.
        """
        more = True
        while more:
            items, more = self._next()
            if self.error is None:
                try:
                    for cell in self._judged(worker, items):
                        note(cell)
                except Cancelled:
                    pass
                except Exception as error:
                    self.error = error

    def _next(self) -> tuple[list[Item], bool]:
        """The cases of one program, or several random programs; and whether more may come."""
        items: list[Item] = []
        while len(items) < COMPILED_AT_ONCE:
            taken = self._taken()
            if taken is None:
                return items, False
            items += taken
            if not _is_random(taken[0][0]):
                break
        return items, True

    def _taken(self) -> list[Item] | None:
        """What was put next; None if there is nothing more, or the bench was cancelled."""
        while not self._is_cancelled:
            with suppress(queue.Empty):
                return self._cases.get(timeout=POLL)
        return None

    def _judged(self, worker: Worker, items: Sequence[Item]) -> list[Cell]:
        programs = [case.launch.program for case, verdict in items if verdict.is_settled and _is_random(case)]
        if len(programs) < 2:
            return [cell for item in items for cell in self._judge(worker, *item)]
        started = time.perf_counter()
        prepared = worker.prepare(programs)
        share = (time.perf_counter() - started) / len(programs)
        cells = [cell for item in items for cell in self._judge(worker, *item, share, is_prepared=True)]
        if not isinstance(prepared, Returned) and not any(cell.state.is_bad for cell in cells):
            cells[-1] = _failed_at_once(cells, prepared)
        return cells

    def _judge(
        self, worker: Worker, case: Case, verdict: Verdict, share: float = 0.0, *, is_prepared: bool = False
    ) -> list[Cell]:
        """The cells of a case; `share` are the seconds that its compilation took, if it was not alone in that."""
        if not verdict.is_settled:
            return skip(case, self.backend, verdict.why_not)
        cells = list(self._asked(worker, case, verdict, share))
        if _is_random(case) and any(cell.state.is_bad for cell in cells):
            cells = self._looked_into(worker, case, verdict, cells, is_prepared=is_prepared)
        return [forgive(cell, self.suite.gaps) for cell in cells]

    def _asked(self, worker: Worker, case: Case, verdict: Verdict, share: float = 0.0) -> Iterator[Cell]:
        started = time.perf_counter()
        outcome = worker.ask(case.launch, self.suite.repeats)
        yield from judge(case, verdict, self.backend, outcome, time.perf_counter() - started + share)

    def _looked_into(
        self, worker: Worker, case: Case, verdict: Verdict, cells: list[Cell], *, is_prepared: bool
    ) -> list[Cell]:
        """A failing random program: whether it also fails alone, and the least one that fails in the same way."""
        if is_prepared:
            worker.stop()
            alone = list(self._asked(worker, case, verdict))
            if not any(cell.state.is_bad for cell in alone):
                cells = [replace(cell, reason=f"{cell.reason}; {ALONE}") for cell in cells]
                return [self._written(case, cell) for cell in cells]
            cells = alone
        return [self._reproduced(worker, case, cell) for cell in cells]

    def _reproduced(self, worker: Worker, case: Case, cell: Cell) -> Cell:
        launch = case.launch
        if self._minimised < MAX_MINIMISED:
            self._minimised += 1
            launch = minimise(launch, worker, cell.state, seconds=MINIMISE_SECONDS)
        return self._written(replace(case, launch=launch), cell)

    def _written(self, case: Case, cell: Cell) -> Cell:
        """With the program in a file of its own."""
        if self.reproducers is None:
            return cell
        return replace(cell, reproducer=str(write_reproducer(self.reproducers, case.launch, cell)))


def _is_random(case: Case) -> bool:
    return case.address.group == "fuzz"


def _compiled(case: Case) -> tuple[str, str]:
    """What is equal for cases of which a worker compiles the program once. Other ways in do more than that."""
    return case.launch.entry, case.launch.program.fingerprint()


def _failed_at_once(cells: Sequence[Cell], outcome: Outcome) -> Cell:
    """The last of cells that are all well, though compiling them together was not."""
    state, words = State.FAIL, ""
    match outcome:
        case Crashed(words=words):
            state = State.CRASHED
        case TimedOut():
            state = State.TIMEOUT
    with_it = "\n".join(str(cell.address) for cell in cells[:-1])
    reason = f"{describe(outcome)}, when it was compiled together with {len(cells) - 1} others; {ALONE}"
    return replace(cells[-1], state=state, reason=reason, log=f"{words}\ntogether with\n{with_it}".strip())
