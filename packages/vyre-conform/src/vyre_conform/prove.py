"""The run: cases are worked out here, one thread per backend asks its worker, cells come together in a report."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vyre_conform.case import Case
from vyre_conform.compare import describe, difference
from vyre_conform.minimise import minimise
from vyre_conform.oracle import Verdict, settle
from vyre_conform.outcome import Crashed, Outcome, Raised, TimedOut
from vyre_conform.report import Cell, Disagreement, Report, State
from vyre_conform.reproducer import write_reproducer
from vyre_conform.suite import Suite
from vyre_conform.worker import Hello, Worker

DISTRIBUTIONS = ("vyre-foundation", "vyre-driver", "vyre-reference", "vyre-conform")
AHEAD = 16
"""Cases that are worked out before the slowest backend asks for them."""
MINIMISE_SECONDS = 90.0
MAX_MINIMISED = 3
"""Failing random programs of one backend that are made smaller; more would take longer than the run."""


class Watch:
    """Who wants to know how far a run is; does nothing by itself."""

    def began(self, cases: int, backends: Sequence[Hello]) -> None:
        """The run has this many cases, on these backends."""

    def settled(self, case: Case, verdict: Verdict) -> None:
        """The opinions have been asked about a case."""

    def judged(self, cell: Cell) -> None:
        """A cell is there. Called from several threads, one call at a time."""


@dataclass(slots=True)
class _Bench:
    """One backend at work: its worker, its queue of settled cases, its thread."""

    worker: Worker
    hello: Hello
    cases: queue.Queue[tuple[Case, Verdict] | None] = field(default_factory=lambda: queue.Queue(AHEAD))
    thread: threading.Thread | None = None
    minimised: int = 0
    error: Exception | None = None
    """What went wrong in the suite itself."""


def prove(
    backends: Sequence[str],
    suite: Suite | None = None,
    seed: int = 0,
    *,
    watch: Watch | None = None,
    reproducers: Path | None = None,
) -> Report:
    """Judge backends by id, each in a process of its own, over the cases of `suite`.

    A failing random program is made smaller and, if `reproducers` names a folder, written there.
    """
    return _Proof(suite or Suite(), seed, watch or Watch(), reproducers).run(backends)


class _Proof:
    def __init__(self, suite: Suite, seed: int, watch: Watch, reproducers: Path | None) -> None:
        self.suite, self.seed, self.watch, self.reproducers = suite, seed, watch, reproducers
        self.lock = threading.Lock()
        queries = [query.text for query in suite.queries]
        self.report = Report(seed=seed, queries=queries, versions=_versions())

    def run(self, backends: Sequence[str]) -> Report:
        started = time.perf_counter()
        specs = self.suite.specs(self.seed)
        benches = [self._open(backend) for backend in backends]
        self.report.backends = [bench.hello for bench in benches]
        self.report.cases = len(specs)
        self.watch.began(len(specs), self.report.backends)
        working = [bench for bench in benches if not bench.hello.problem]
        for bench in working:
            bench.thread = threading.Thread(target=self._work, args=(bench,), daemon=True)
            bench.thread.start()
        for spec in specs:
            self._hand_out(spec.case(self.seed), working)
        for bench in working:
            bench.cases.put(None)
        for bench in working:
            assert bench.thread is not None
            bench.thread.join()
        for bench in working:
            if bench.error is not None:
                raise bench.error
        order = {spec.address: n for n, spec in enumerate(specs)}
        self.report.cells.sort(key=lambda cell: (order[cell.address], list(backends).index(cell.backend)))
        self.report.seconds = time.perf_counter() - started
        return self.report

    def _open(self, backend: str) -> _Bench:
        worker = Worker(backend, self.suite.seconds)
        hello = worker.start()
        if hello.problem:
            worker.stop()
        return _Bench(worker, hello)

    def _hand_out(self, case: Case, benches: Sequence[_Bench]) -> None:
        """Settle a case and queue it for every backend."""
        verdict = settle(case, seconds=self.suite.seconds)
        for opinion, quarrel in verdict.disagreements.items():
            self.report.disagreements.append(Disagreement(case.address, opinion, quarrel))
        with self.lock:
            self.watch.settled(case, verdict)
        for bench in benches:
            bench.cases.put((case, verdict))

    def _work(self, bench: _Bench) -> None:
        """Judge cases until there are no more. After an error of the suite itself the rest is taken and dropped, so
        that nobody waits for this backend."""
        with bench.worker:
            while (item := bench.cases.get()) is not None:
                if bench.error is None:
                    try:
                        self._note(self._judge(bench, *item))
                    except Exception as error:
                        bench.error = error

    def _note(self, cell: Cell) -> None:
        with self.lock:
            self.report.cells.append(cell)
            self.watch.judged(cell)

    def _judge(self, bench: _Bench, case: Case, verdict: Verdict) -> Cell:
        backend = bench.worker.backend
        if not verdict.is_settled:
            reason = "the opinions about this case disagree: " + ", ".join(verdict.disagreements)
            return Cell(address=case.address, backend=backend, state=State.SKIPPED, reason=reason)
        started = time.perf_counter()
        outcome = bench.worker.ask(case.launch, self.suite.repeats)
        cell = judge(case, verdict, backend, outcome, time.perf_counter() - started)
        if cell.state.is_bad and case.address.group == "fuzz":
            cell = self._reproduce(bench, case, cell)
        return self._forgive(cell)

    def _reproduce(self, bench: _Bench, case: Case, cell: Cell) -> Cell:
        """The least program that fails in the same way, in a file of its own."""
        launch = case.launch
        if bench.minimised < MAX_MINIMISED:
            bench.minimised += 1
            launch = minimise(launch, bench.worker, cell.state, seconds=MINIMISE_SECONDS)
        if self.reproducers is None:
            return cell
        return replace(cell, reproducer=str(write_reproducer(self.reproducers, launch, cell)))

    def _forgive(self, cell: Cell) -> Cell:
        """Known gaps may fail, and must."""
        gap = self.suite.gap(cell.address)
        if gap is None:
            return cell
        if cell.state.is_bad:
            return replace(cell, state=State.XFAIL, reason=f"{gap.reason} ({cell.reason})")
        if cell.state is State.PASS:
            return replace(cell, state=State.FAIL, reason=f"it passes: strike the known gap {gap.query.text!r}")
        return cell


def judge(case: Case, verdict: Verdict, backend: str, outcome: Outcome, seconds: float = 0.0) -> Cell:
    """The cell of an outcome."""
    found = difference(case.launch, verdict.expected, outcome)
    if found is None:
        return Cell(address=case.address, backend=backend, state=State.PASS, seconds=seconds)
    state, reason, log = State.FAIL, str(found), ""
    match outcome:
        case Crashed(words=words):
            state, reason, log = State.CRASHED, describe(outcome), words
        case TimedOut():
            state, reason = State.TIMEOUT, describe(outcome)
        case Raised() if outcome.error == "UnsupportedFeature":
            state, reason = State.UNSUPPORTED, outcome.message
        case Raised() if outcome.error == "DispatchTimeout":
            state, reason = State.TIMEOUT, outcome.message
    return Cell(
        address=case.address,
        backend=backend,
        state=state,
        reason=reason,
        output=found.output,
        index=found.index,
        got=found.got,
        expected=found.expected,
        differing=found.count,
        log=log,
        seconds=seconds,
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in DISTRIBUTIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
