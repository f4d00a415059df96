"""Running the suite against planted faults: each in a process of its own, until the first case that finds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from vyre_conform.address import Query
from vyre_conform.case import Case, Spec
from vyre_conform.cell import Cell
from vyre_conform.controls.fault import Fault, worker_id
from vyre_conform.controls.faults import FAULTS
from vyre_conform.judge import judge
from vyre_conform.oracle import Verdict, settle
from vyre_conform.outcome import Outcome, Raised
from vyre_conform.report import Kill
from vyre_conform.worker import ForkServers, NamedBy, Worker
from vyre_driver.cpus import usable_cpus

STALE = frozenset(("TypeError", "AttributeError", "NameError"))
"""What Python raises where a call or a name does not fit."""


class Cases:
    """Cases that are worked out and settled once for all faults, and the backends without a fault."""

    def __init__(self, specs: Sequence[Spec], seed: int) -> None:
        self.specs, self.seed = specs, seed
        self._settled: dict[Spec, tuple[Case, Verdict]] = {}
        self._settling = threading.Lock()
        self._right: dict[str, Worker] = {}
        self._asking = threading.Lock()
        self._workers = ExitStack()
        self._fork_servers = self._workers.enter_context(ForkServers("vyre_conform.controls.mutants"))
        self._hunting: set[Worker] = set()
        self._is_cancelled = False

    def of(self, spec: Spec) -> tuple[Case, Verdict]:
        """Give the case of a spec and what it must give, settled once."""
        with self._settling:
            if spec not in self._settled:
                case = spec.case(self.seed)
                self._settled[spec] = (case, settle(case))
            return self._settled[spec]

    def in_order_for(self, fault: Fault) -> Iterable[Spec]:
        """Near ones first, in the order of the queries."""
        near = [Query.parse(query) for query in fault.near.split()]

        def precedence(spec: Spec) -> int:
            return next((n for n, query in enumerate(near) if query.matches(spec.address)), len(near))

        return sorted(self.specs, key=precedence)

    def is_right_without(self, fault: Fault, case: Case, verdict: Verdict) -> bool:
        """Whether the same backend passes the case when nothing is planted: else its failure says nothing."""
        with self._asking:
            if fault.plant.right not in self._right:
                worker = self._workers.enter_context(Worker(worker_id(fault.plant.right), named_by=NamedBy.CALLER))
                self._right[fault.plant.right] = worker
            right = self._right[fault.plant.right]
            return _failed(right, case, verdict, right.ask(case.launch, 2)) is None

    @contextmanager
    def worker(self, fault: Fault) -> Iterator[Worker]:
        """The process of a faulty backend, which `cancel` ends."""
        with Worker(fault.backend, fault.seconds, named_by=NamedBy.CALLER, fork_servers=self._fork_servers) as worker:
            self._hunting.add(worker)
            if self._is_cancelled:
                worker.cancel()
            try:
                yield worker
            finally:
                self._hunting.discard(worker)

    def cancel(self) -> None:
        """From another thread: end all hunts; each raises `Cancelled`."""
        self._is_cancelled = True
        for worker in (*self._hunting, *self._right.values()):
            worker.cancel()

    def __enter__(self) -> Cases:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()


def hunt(fault: Fault, cases: Cases) -> Kill:
    """The first case that tells the faulty backend from a right one."""
    tried = 0
    with cases.worker(fault) as worker:
        hello = worker.start()
        if hello.problem:
            raise RuntimeError(f"the fault {fault.id} cannot be planted: {hello.problem}: {hello.fix}")
        for spec in cases.in_order_for(fault):
            case, verdict = cases.of(spec)
            if not verdict.is_settled:
                continue
            tried += 1
            outcome = worker.ask(case.launch, 2)
            if stale := _stale(outcome):
                return Kill(fault.id, fault.layer.value, fault.summary, None, f"it is stale: {stale}", tried)
            found = _failed(worker, case, verdict, outcome)
            if found is not None and cases.is_right_without(fault, case, verdict):
                how = f"{found.state.value}: {found.reason}"
                return Kill(fault.id, fault.layer.value, fault.summary, str(found.address), how, tried)
    return Kill(fault.id, fault.layer.value, fault.summary, None, "", tried)


def run_controls(
    specs: Sequence[Spec],
    seed: int,
    faults: Iterable[Fault] | None = None,
    *,
    jobs: int | None = None,
    watch: Callable[[Kill], None] = lambda kill: None,
) -> list[Kill]:
    """Hunt every planted fault with some cases, `jobs` at a time."""
    watching = threading.Lock()

    def one(fault: Fault) -> Kill:
        kill = hunt(fault, cases)
        with watching:
            watch(kill)
        return kill

    with Cases(specs, seed) as cases, ThreadPoolExecutor(jobs or usable_cpus()) as pool:
        try:
            return list(pool.map(one, FAULTS if faults is None else faults))
        except BaseException:
            cases.cancel()
            raise


def _failed(worker: Worker, case: Case, verdict: Verdict, outcome: Outcome) -> Cell | None:
    """The first cell of the case that should not be."""
    cells = judge(case, verdict, worker.backend, outcome)
    return next((cell for cell in cells if cell.state.is_bad), None)


def _stale(outcome: Outcome) -> str:
    """The error of a fault that is planted in something that has changed since: that it is seen shows nothing."""
    if isinstance(outcome, Raised) and STALE & {*outcome.classes} and "VyreError" not in outcome.classes:
        return outcome.message
    return ""
