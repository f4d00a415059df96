"""One core or all: the same bytes; and a backend that looks at its cores is found."""

import os

import pytest

from vyre_conform.address import Query
from vyre_conform.cases import specs
from vyre_conform.determinism import confined, core_counts, deviations
from vyre_conform.worker import NamedBy, Worker

CASES = specs([Query.parse(q) for q in ("barriers:reverse:group=64", "corpus:tickets", "grid:two_phases")])


def test_the_reference_does_not_care() -> None:
    assert deviations("reference", CASES, repeats=2) == []


@pytest.mark.usefixtures("backends")
def test_a_backend_that_depends_on_its_cores_is_found() -> None:
    if core_counts()[-1] == 1:
        pytest.skip("there is one core")
    found = deviations("backends:COUNTS_CORES", specs([Query.parse("grid:two_phases")]), counts=(1, 2), repeats=1)
    assert [(deviation.case, deviation.cores) for deviation in found] == [("grid:two_phases", 2)]
    assert str(found[0].difference).startswith("out[0]: got ")


@pytest.mark.usefixtures("backends")
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system cannot confine processes")
def test_a_confined_worker_has_that_many_cores() -> None:
    with Worker("backends:COUNTS_CORES", named_by=NamedBy.CALLER, command=confined(1)) as worker:
        assert worker.start().facts["device"] == "1 cores"
