"""An opinion that does not come in time decides nothing, and disagrees with nothing."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vyre_conform import Query, Suite, prove, read_run
from vyre_conform.case import Case, Spec as CaseSpec
from vyre_conform.oracle import evaluators, settle, verdict
from vyre_conform.oracle.pool import settled
from vyre_conform.run import Exit, merge
from vyre_conform.suite import find
from vyre_conform.testing import require
from vyre_driver.errors import DispatchTimeout
from vyre_driver.registry.backends import acquire

SUITE = Suite(queries=(Query.parse("traps:*"),))


def case(address: str) -> Case:
    return find(address).case()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Makes an evaluator run out of time over one program."""

    def make(name: str, program: str) -> None:
        right = evaluators.EVALUATORS[name]

        def evaluate(plan: Any, memory: Any, **options: Any) -> None:
            if plan.program.name == program:
                raise DispatchTimeout(60.0, "the evaluation", backend="reference")
            right(plan, memory, **options)

        monkeypatch.setattr(verdict, "EVALUATORS", {**evaluators.EVALUATORS, name: evaluate})

    return make


@pytest.mark.parametrize("name", ["scalar", "vector", "optimized"])
def test_it_is_undecided(name: str, slow: Callable[[str, str], None]) -> None:
    one = case("programs:sha256")
    slow(name, one.launch.program.name)
    found = settle(one)
    assert found.undecided == {name: "no answer within 60 s"}
    assert found.mismatches == {}
    assert not found.is_settled
    assert found.why_not == f"undecided, {name}: no answer within 60 s"


def test_a_random_program_is_decided_by_no_opinion_alone(slow: Callable[[str, str], None]) -> None:
    one = case("fuzz:narrow:seed=4")
    slow("scalar", one.launch.program.name)
    assert settle(one).mismatches == {}
    assert settle(one).undecided == {"scalar": "no answer within 60 s"}


def test_a_budget_of_time_that_is_really_spent() -> None:
    found = settle(case("programs:sha256"), seconds=1e-6)
    assert set(found.undecided) == {"scalar", "vector", "optimized"}
    assert found.mismatches == {}


def test_a_run_is_not_complete_and_goes_on(slow: Callable[[str, str], None], tmp_path: Path) -> None:
    path, late = tmp_path / "run.jsonl", case("traps:one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verdict, "EVALUATORS", verdict.EVALUATORS)
        slow("vector", late.launch.program.name)
        found = prove(["reference"], SUITE, journal=path)
        assert found.exit is Exit.INCOMPLETE
        assert not found.is_complete
        assert found.mismatches == []
        named = {str(address) for address in found.undecided}
        assert "traps:one" in named
        assert named.isdisjoint(str(cell.address) for cell in found.cells)
        assert read_run(path).undecided == found.undecided
    verdict.EVALUATORS = evaluators.EVALUATORS
    found = prove(["reference"], SUITE, journal=path, resume=True)
    assert (found.exit, found.is_complete, found.undecided) == (Exit.PROVEN, True, {})
    assert read_run(path).undecided == {}
    assert merge([found]).is_complete


def test_a_test_of_it_is_skipped(slow: Callable[[str, str], None]) -> None:
    spec = find("traps:one")
    slow("vector", spec.case().launch.program.name)
    from vyre_conform.cell import State

    assert require(acquire("reference"), spec) is State.SKIPPED


def test_evaluators_that_end_are_undecided_and_others_take_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is killed over one case, by whatever runs out of memory here."""
    specs: list[CaseSpec] = [find("traps:one"), find("traps:none"), find("ops:add:dtype=u8")]
    import vyre_conform.oracle.pool as pool

    class Kills(pool._Opinions):
        def ask(self, spec: CaseSpec, seed: int, seconds: float) -> Any:
            if str(spec.address) == "traps:none" and self._child is not None:
                self._child.kill()
                time.sleep(0.1)
            return super().ask(spec, seed, seconds)

    monkeypatch.setattr(pool, "_Opinions", Kills)
    monkeypatch.setattr(pool, "QUEUED_PER_PROCESS", 0)
    found = {str(one.address): verdict for one, verdict in settled(specs * 2, 0, 60.0, 2)}
    assert found["traps:one"].is_settled
    assert found["ops:add:dtype=u8"].is_settled
    ended = found["traps:none"]
    assert ended.is_settled or "the process of the evaluators ended: signal SIGKILL" in ended.undecided["evaluators"]
