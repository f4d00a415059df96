"""Random programs are compiled together, and each cell is its own all the same."""

from pathlib import Path
from threading import Barrier
from typing import Any, cast

import pytest

from vyre_conform import Run, State, Suite, prove
from vyre_conform.address import Query
from vyre_conform.bench import COMPILED_AT_ONCE, CaseRunner
from vyre_conform.case import Launch
from vyre_conform.cell import Cell
from vyre_conform.oracle import Verdict
from vyre_conform.outcome import Outcome, Raised, Returned
from vyre_conform.suite import random_specs
from vyre_conform.worker import Hello, NamedBy, Worker
from vyre_foundation.ir.program import Program

pytestmark = pytest.mark.usefixtures("backends", "forked")
SIX = Suite(queries=(), fuzz=6, repeats=1)


def proven(name: str, suite: Suite = SIX, reproducers: Path | None = None) -> Run:
    return prove([f"backends:{name}"], suite, seed=5, reproducers=reproducers)


def test_programs_that_are_well_together() -> None:
    """More than are taken at once, so that the last ones are fewer."""
    run = proven("RIGHT", Suite(queries=(), fuzz=COMPILED_AT_ONCE + 3, repeats=1))
    assert len(run.cells) == COMPILED_AT_ONCE + 3
    assert {cell.state for cell in run.cells} == {State.PASS}
    assert run.is_complete


def test_a_compiler_that_dies_over_several_programs_fails_one_cell_of_them() -> None:
    *well, last = proven("DIES_TOGETHER").cells
    assert {cell.state for cell in well} == {State.PASS}
    assert last.state is State.CRASHED
    words = "the process ended: signal SIGABRT, when it was compiled together with 5 others; compiled alone it passes"
    assert last.reason == words
    assert last.log.startswith("too much at once")
    assert last.log.splitlines()[-5:] == [str(cell.address) for cell in well]


def test_a_compiler_that_does_not_come_back_fails_one_cell() -> None:
    """It may take as long as all of their launches."""
    *well, last = proven("WAITS_TOGETHER", Suite(queries=(), fuzz=2, repeats=1, seconds=2.0)).cells
    assert {cell.state for cell in well} == {State.PASS}
    assert (last.state, last.reason.partition(",")[0]) == (State.TIMEOUT, "nothing came within 4 s")


def test_an_error_that_is_not_typed_is_a_failure() -> None:
    *well, last = proven("RAISES_TOGETHER").cells
    assert {cell.state for cell in well} == {State.PASS}
    assert (last.state, last.reason.partition(",")[0]) == (State.FAIL, "it raised KeyError: 'not a typed error'")


def test_what_is_wrong_only_together_says_so(tmp_path: Path) -> None:
    run = proven("LIES_TOGETHER", Suite(queries=(), fuzz=2, repeats=1), reproducers=tmp_path)
    first, second = run.cells
    assert first.state is State.FAIL
    assert first.reason.endswith("; compiled alone it passes")
    assert Path(first.reproducer).read_text("utf-8").startswith(f"# {first.address} on backends:LIES_TOGETHER: ")
    assert second.state is State.PASS, "it is judged in the process that was started for the first"


def test_a_program_that_is_refused_leaves_the_others_together() -> None:
    launches = [spec.case().launch for spec in random_specs(12, 0)]
    with_subgroups = [launch.program.subgroup_size is not None for launch in launches]
    assert 0 < sum(with_subgroups) < 12
    with Worker("backends:REFUSES_TOGETHER", named_by=NamedBy.CALLER) as worker:
        assert worker.prepare([launch.program for launch in launches]) == Returned(())
        outcomes = [worker.ask(launch) for launch in launches]
    raised = [isinstance(outcome, Raised) and "not compiled before" in outcome.message for outcome in outcomes]
    assert raised == with_subgroups


class Asked:
    """A worker that begins when another does, and returns nothing."""

    def __init__(self, all_begin: Barrier) -> None:
        self.programs: list[Program] = []
        self._all_begin = all_begin

    def ask(self, launch: Launch, repeats: int) -> Outcome:
        if not self.programs:
            self._all_begin.wait()
        self.programs.append(launch.program)
        return Returned(())


def test_cases_of_one_program_go_to_one_worker() -> None:
    types = ("i16", "u32", "u64", "f32")
    specs = Suite(queries=tuple(Query.parse(f"ops:add:dtype={dtype},*") for dtype in types)).specs(0)
    all_begin, cells = Barrier(2), cast("list[Cell]", [])
    workers = [Asked(all_begin), Asked(all_begin)]
    runner = CaseRunner("asked", Hello("asked"), cast("list[Any]", workers), Suite(), None)
    runner.begin(cells.append)
    for spec in specs:
        case = spec.case()
        runner.put(case, Verdict(case.expected, {}))
    runner.no_more()
    runner.join()
    assert len(cells) == sum(len(spec.cells) for spec in specs)
    first, second = (set(worker.programs) for worker in workers)
    assert not first & second
    assert len(first | second) == len(types) < len(specs)
