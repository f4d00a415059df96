"""The reusable suite, on every stand-in that this distribution has."""

import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import InvalidInput, Trapped
from vyre_driver.testing.contract import BackendContract, refused, require
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.witnesses import WITNESSES, doubling, evaluate_witness


class TestMock(BackendContract):
    """Every default."""

    ignores_demands = True

    def make(self) -> VyreBackend:
        return MockBackend(evaluate_witness)


class TestFull(BackendContract):
    """Every override."""

    ignores_demands = pipelines_forget = True

    def make(self) -> VyreBackend:
        return FullBackend(evaluate_witness)


def test_a_wrong_result_is_found() -> None:
    witness = doubling(3)
    right = [memoryview(data) for data in witness.expected]
    require(right, witness)
    for wrong in ([], [right[0][:-1]], [*right, *right], [memoryview(bytes(12))]):
        with pytest.raises(AssertionError):
            require(wrong, witness)


def test_an_error_of_another_kind_gets_through() -> None:
    def fail() -> None:
        raise Trapped("x", 1, 2)

    assert refused(Trapped, fail).trap_code == 1
    with pytest.raises(Trapped):
        refused(InvalidInput, fail)
    with pytest.raises(AssertionError, match="nothing was raised"):
        refused(Trapped, lambda: None)


def test_witnesses_are_valid_and_proven_deterministic() -> None:
    for witness in WITNESSES:
        assert witness.program.validate().determinism.is_deterministic
