"""The run: opinions settle cases, benches judge backends by them, cells come together in a run.

What is judged is written to the run's file at once, so an interrupted run goes on with the cells that are missing.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

from vyre_conform.address import Query
from vyre_conform.bench import CaseRunner
from vyre_conform.case import Case, Size, Spec
from vyre_conform.cell import Cell, OracleMismatch, Undecided
from vyre_conform.digest import digest_of
from vyre_conform.gaps import gaps_of
from vyre_conform.host import code_digest, git_facts, host_facts, versions
from vyre_conform.oracle import Verdict
from vyre_conform.oracle.pool import settled
from vyre_conform.run import (
    Journal,
    Run,
    RunsDiffer,
    Task,
    header,
    new_journal,
    read_run,
    reopen,
    require_new,
)
from vyre_conform.suite import Suite
from vyre_conform.worker import Hello


class Watch:
    """Who wants to know how far a run is; does nothing by itself."""

    def began(self, cases: int, cells: int, backends: Sequence[Hello]) -> None:
        """The run has this many cases, with this many cells on each of these backends."""

    def settled(self, case: Case, verdict: Verdict) -> None:
        """The opinions have been asked about a case."""

    def judged(self, cell: Cell) -> None:
        """A cell is there. Called from several threads, one call at a time."""


def prove(
    backends: Sequence[str],
    suite: Suite | None = None,
    seed: int = 0,
    *,
    watch: Watch | None = None,
    reproducers: Path | None = None,
    journal: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    jobs: int = 1,
) -> Run:
    """Judge backends by id, each in processes of its own, over the cases of `suite`.

    A failing random program is made smaller and, if `reproducers` names a folder, written there. `journal` is the file
    of the run; with `resume` a run that is there goes on, if it is the same; with `overwrite` it is replaced; without
    either, `RunsDiffer` refuses one that has cells. `jobs` processes work out what cases must give, and up to
    as many of each backend run them: one that compiles takes far longer than one that does not.
    """
    if journal is not None and not resume and not overwrite:
        require_new(journal)
    return _Proof(suite or Suite(), seed, watch or Watch(), reproducers, jobs).run(backends, journal, resume)


def task_of(suite: Suite, seed: int) -> Task:
    """What a run of `suite` is about."""
    whole = [str(address) for spec in suite.whole(seed) for address in spec.cells]
    return Task(
        seed=seed,
        queries=tuple(query.text for query in suite.queries),
        size=suite.size.name.lower(),
        fuzz=suite.programs,
        repeats=suite.repeats,
        seconds=suite.seconds,
        corpus=digest_of(*(text.encode() for text in whole)),
        cells=len(whole),
        gaps=tuple(gap.row for gap in suite.gaps),
        versions=versions(),
        code=code_digest(),
        shard=suite.shard,
    )


def suite_of(task: Task) -> Suite:
    """The suite that a task is about: the inverse of `task_of`, for the same version of the corpus."""
    return Suite(
        queries=tuple(Query.parse(query) for query in task.queries),
        size=Size[task.size.upper()],
        fuzz=task.fuzz,
        seconds=task.seconds,
        repeats=task.repeats,
        gaps=gaps_of(task.gaps),
        shard=task.shard,
    )


LEAST_PER_WORKER = 8
"""Cases that pay for the start of one more process of a backend."""


class _Proof:
    def __init__(self, suite: Suite, seed: int, watch: Watch, reproducers: Path | None, jobs: int) -> None:
        self.suite, self.seed, self.watch, self.reproducers, self.jobs = suite, seed, watch, reproducers, jobs
        self.lock = threading.Lock()
        self.coverage: Counter[tuple[str, ...]] = Counter()
        """Of this session; what a resumed run had before stands in its file."""

    def run(self, backends: Sequence[str], path: Path | None, resume: bool) -> Run:
        started = time.perf_counter()
        specs = self.suite.specs(self.seed)
        task = task_of(self.suite, self.seed)
        workers = max(1, min(self.jobs, len(specs) // LEAST_PER_WORKER))
        with ExitStack() as stack:
            benches = [CaseRunner.opened(backend, self.suite, workers, self.reproducers, stack) for backend in backends]
            hellos = [bench.hello for bench in benches]
            self.result, self.journal = _begin(task, hellos, path, resume)
            earlier = self.result.seconds
            try:
                self.watch.began(len(specs), sum(len(spec.cells) for spec in specs), hellos)
                self._work_through(specs, benches)
            finally:
                self.result.seconds = earlier + time.perf_counter() - started
                self._finish(specs, list(backends), any(bench.error for bench in benches))
        for bench in benches:
            if bench.error is not None:
                raise bench.error
        return self.result

    def _finish(self, specs: Sequence[Spec], backends: list[str], broken: bool) -> None:
        """Note whether all cells are there, and put them in corpus order."""
        working = [hello for hello in self.result.backends if not hello.problem]
        wanted = sum(len(spec.cells) for spec in specs) * len(working)
        self.result.is_complete = not broken and 0 < wanted == len(self.result.cells)
        if self.coverage:
            self.journal.write({"coverage": {".".join(kind): n for kind, n in sorted(self.coverage.items())}})
            self.result.coverage.update(self.coverage)
        self.journal.write({"complete" if self.result.is_complete else "paused": round(self.result.seconds, 3)})
        self.journal.close()
        self.result.digest = self.journal.digest
        order = {address: n for n, address in enumerate(a for spec in specs for a in spec.cells)}
        self.result.cells.sort(key=lambda cell: (order[cell.address], backends.index(cell.backend)))

    def _work_through(self, specs: Sequence[Spec], benches: Sequence[CaseRunner]) -> None:
        working = [bench for bench in benches if not bench.hello.problem]
        for bench in working:
            bench.begin(self._note)
        done = Counter(cell.key for cell in self.result.cells)
        left = [spec for spec in specs if any((str(a), b.backend) not in done for a in spec.cells for b in working)]
        known = {mismatch.address for mismatch in self.result.mismatches}
        try:
            for case, verdict in settled(left, self.seed, self.suite.seconds, self.jobs):
                if case.address not in known:
                    self._note_verdict(case, verdict)
                if verdict.undecided:
                    continue
                for bench in working:
                    if (missing := _missing(case, bench.backend, done)) is not None:
                        bench.put(missing, verdict)
            for bench in working:
                bench.no_more()
            for bench in working:
                bench.join()
        except BaseException:
            for bench in working:
                bench.cancel()
            for bench in working:
                bench.join()
            raise

    def _note_verdict(self, case: Case, verdict: Verdict) -> None:
        with self.lock:
            for opinion, why in verdict.undecided.items():
                late = Undecided(case.address, opinion, why)
                self.result.undecided[case.address] = late
                self.journal.write({"undecided": late.to_json()})
            if not verdict.undecided and self.result.undecided.pop(case.address, None) is not None:
                self.journal.write({"decided": str(case.address)})
            for opinion, words in verdict.mismatches.items():
                mismatch = OracleMismatch(case.address, opinion, words)
                self.result.mismatches.append(mismatch)
                self.journal.write({"mismatch": mismatch.to_json()})
            if not verdict.undecided:  # else it is asked about again, and counted then
                self.coverage.update(verdict.coverage)
            self.watch.settled(case, verdict)

    def _note(self, cell: Cell) -> None:
        with self.lock:
            self.result.cells.append(cell)
            self.journal.write({"cell": cell.to_json()})
            self.watch.judged(cell)


def _begin(task: Task, hellos: list[Hello], path: Path | None, resume: bool) -> tuple[Run, Journal]:
    """A new run, or the one in the file if it is about the same."""
    if resume and path is not None and path.exists():
        run = read_run(path)
        if run.task != task or run.backends != hellos:
            fix = "finish it with the options and backends that began it, or write to another file"
            raise RunsDiffer(f"the run in {path.name} is not this one", fix=fix)
        return run, reopen(path, run)
    run = Run(task=task, host=host_facts(), sources=git_facts(), backends=hellos)
    journal = new_journal(path)
    journal.write(header(run))
    for hello in hellos:
        journal.write({"backend": asdict(hello)})
    return run, journal


def _missing(case: Case, backend: str, done: Counter[tuple[str, str]]) -> Case | None:
    """What is left of a case on a backend, None if nothing is."""
    if not case.parts:
        return None if (str(case.address), backend) in done else case
    parts = tuple(part for part in case.parts if (str(part.address), backend) not in done)
    return replace(case, parts=parts) if parts else None
