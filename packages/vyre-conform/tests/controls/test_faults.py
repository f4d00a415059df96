"""A suite that can not fail proves nothing: every planted fault is found."""

import pytest

from vyre_conform.address import Query
from vyre_conform.controls import FAULTS, Fault, hunt
from vyre_conform.controls.hunt import Cases
from vyre_conform.oracle.evaluators import EVALUATORS, evaluate_case
from vyre_conform.suite import Suite

CASES = Cases(Suite().specs(0), 0)


def test_there_are_many_faults_with_names_of_their_own() -> None:
    assert len(FAULTS) >= 60
    assert len({fault.id for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_a_planted_fault_is_killed(fault: Fault) -> None:
    kill = hunt(fault, CASES)
    assert kill.by is not None
    assert any(Query.parse(query).matches(spec.address) for query in fault.near.split() for spec in CASES.specs)


def test_a_right_backend_survives() -> None:
    right = Fault("none", "no fault", lambda: lambda launch: evaluate_case(launch, EVALUATORS["vector"]))
    few = Cases(Suite(queries=(Query.parse("control:*"), Query.parse("traps:*"))).specs(0), 0)
    assert hunt(right, few).by is None
