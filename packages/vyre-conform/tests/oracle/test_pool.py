"""Opinions of several processes are those of one, in the same order, with the parts that were asked for."""

import pytest

from vyre_conform import State, Suite, prove
from vyre_conform.address import BadQuery, Query
from vyre_conform.cases import specs
from vyre_conform.oracle import pool
from vyre_conform.oracle.pool import settled
from vyre_conform.oracle.serve import work_out
from vyre_conform.suite import find, random_spec

QUERIES = [
    Query.parse(q) for q in ("traps:*", "ops:add:dtype=u8,values=s*", "ops:fma:dtype=f32,values=nan", "corpus:t*")
]


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cases are enough for two processes."""
    monkeypatch.setattr(pool, "LEAST_PER_PROCESS", 8)
    assert len(specs(QUERIES)) >= 16


def test_processes_change_nothing() -> None:
    chosen = [*specs(QUERIES), random_spec("narrow", 7)]
    alone, together = (list(settled(chosen, 3, 60.0, count)) for count in (1, 2))
    assert alone == together
    assert [len(case.parts) for case, _ in alone if case.address.name in ("add", "fma")] == [2, 1]


def test_a_run_in_several_processes_is_the_same_run() -> None:
    one, several = (prove(["reference"], Suite(queries=tuple(QUERIES)), jobs=jobs) for jobs in (1, 2))
    assert [(c.key, c.state, c.digests) for c in one.cells] == [(c.key, c.state, c.digests) for c in several.cells]
    assert {cell.state for cell in several.cells} == {State.PASS}
    assert one.coverage == several.coverage


def test_an_address_finds_its_case() -> None:
    found = work_out("traps:one", 0, 60.0)
    assert not isinstance(found, Exception)
    case, verdict = found
    assert str(case.address) == "traps:one"
    assert verdict.is_settled
    assert str(find("fuzz:traps:seed=12")) == "fuzz:traps:seed=12"
    assert str(find("ops:add:dtype=u8,all=rows")) == "ops:add:dtype=u8,all=rows"
    with pytest.raises(BadQuery, match="no case has the address ops:add"):
        find("ops:add")
