"""For the test suite of a backend: every case as a test id, judged in a process of its own.

from vyre_conform.testing import Conformance

class TestConformance(Conformance):
    backend = "mine"

`queries` choose cases, `fuzz` adds random programs, `known_gaps` names a file. ``pytest --vyre-backend=ID`` judges that
backend instead, and ``--vyre-cases=QUERY`` these cases. A backend that is an object, and not registered, is judged in
this process by `require`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from vyre_conform.address import Query
from vyre_conform.case import Size, Spec
from vyre_conform.cell import Cell, State
from vyre_conform.gaps import read_gaps
from vyre_conform.judge import forgive, judge, skip
from vyre_conform.oracle import settle
from vyre_conform.outcome import Outcome
from vyre_conform.suite import Suite
from vyre_conform.worker import Hello, NamedBy, Worker
from vyre_conform.worker.serve import run
from vyre_driver.backend.contract import VyreBackend


class Conformance:
    """The cases of the corpus as the tests of a class. A case that the backend does not support is skipped."""

    backend: ClassVar[str] = ""
    """The id of a registered backend, or ``package.module:REGISTRATION``."""
    queries: ClassVar[tuple[str, ...]] = ("*",)
    size: ClassVar[Size] = Size.CI
    fuzz: ClassVar[int] = 0
    seed: ClassVar[int] = 0
    seconds: ClassVar[float] = 60.0
    known_gaps: ClassVar[Path | None] = None
    _worker: ClassVar[Worker | None] = None
    _hello: ClassVar[Hello]

    @classmethod
    def pytest_generate_tests(cls, metafunc: pytest.Metafunc) -> None:
        """One test for each backend and case; the backend changes last, so that its process is started once."""
        if "vyre_spec" not in metafunc.fixturenames:
            return
        backends = metafunc.config.getoption("vyre_backends", []) or ([cls.backend] if cls.backend else [])
        queries = metafunc.config.getoption("vyre_cases", []) or cls.queries
        suite = Suite(queries=tuple(Query.parse(query) for query in queries), size=cls.size, fuzz=cls.fuzz)
        metafunc.parametrize("vyre_backend", backends, scope="class")
        metafunc.parametrize("vyre_spec", suite.specs(cls.seed), ids=str)

    @classmethod
    def teardown_class(cls) -> None:
        """End the process of the last backend."""
        if cls._worker is not None:
            cls._worker.stop()
            cls._worker = None

    @classmethod
    def _working(cls, backend: str) -> Worker:
        """The backend in its process, or a failure with the reason why it cannot run here."""
        if cls._worker is None or cls._worker.backend != backend:
            cls.teardown_class()
            cls._worker = Worker(backend, cls.seconds, named_by=NamedBy.CALLER)
            cls._hello = cls._worker.start()
        if cls._hello.problem:
            pytest.fail(f"{backend} cannot run here: {cls._hello.problem}. Fix: {cls._hello.fix}", pytrace=False)
        return cls._worker

    def test_case(self, vyre_backend: str, vyre_spec: Spec) -> None:
        """Every byte of every output, twice in a row."""
        worker = self._working(vyre_backend)
        cells = _judged(vyre_spec, vyre_backend, self.seed, lambda launch: worker.ask(launch, 2))
        if self.known_gaps is not None:
            gaps = read_gaps(self.known_gaps)
            cells = [forgive(cell, gaps) for cell in cells]
        _require_well(cells)
        if all(cell.state in (State.UNSUPPORTED, State.SKIPPED) for cell in cells):
            pytest.skip(cells[0].reason)
        if all(cell.state is State.XFAIL for cell in cells):
            pytest.xfail(cells[0].reason)


def cells(*queries: str, fuzz: int = 0, seed: int = 0) -> list[Spec]:
    """The cases that queries mean, and random programs."""
    return Suite(queries=tuple(Query.parse(query) for query in queries or ("*",)), fuzz=fuzz).specs(seed)


def require(backend: VyreBackend, spec: Spec, *, seed: int = 0, repeats: int = 2) -> State:
    """Judge one case on a backend in this process: a state that is not bad, or `AssertionError` with the difference."""
    found = _judged(spec, backend.id(), seed, lambda launch: run(backend, launch, repeats))
    _require_well(found)
    return found[0].state


def _judged(spec: Spec, backend: str, seed: int, execute: Any) -> list[Cell]:
    case = spec.case(seed)
    verdict = settle(case)
    if verdict.undecided:
        return skip(case, backend, verdict.why_not)
    if not verdict.is_settled:
        raise AssertionError(f"{case.address}: the opinions disagree: {verdict.mismatches}")
    outcome: Outcome = execute(case.launch)
    return judge(case, verdict, backend, outcome)


def _require_well(cells: list[Cell]) -> None:
    bad = [cell for cell in cells if cell.state.is_bad]
    if bad:
        more = f" (and {len(bad) - 1} cells more)" if len(bad) > 1 else ""
        raise AssertionError(f"{bad[0].address} on {bad[0].backend}: {bad[0].reason}{more}\n{bad[0].log}".rstrip())
