"""The reusable suite, on every stand-in that this distribution has."""

import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import InvalidInput, Trapped
from vyre_driver.testing.contract import BackendContract, refused, require
from vyre_driver.testing.full import FullBackend
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.witnesses import WITNESSES, doubling
from vyre_reference.vector import evaluate


class TestMock(BackendContract):
    """Every default."""

    ignores_timeouts = True
    states_its_ops = False

    def make(self) -> VyreBackend:
        return MockBackend(evaluate)


class TestFull(BackendContract):
    """Every override."""

    pipelines_forget = ignores_timeouts = True
    states_its_ops = False

    def make(self) -> VyreBackend:
        return FullBackend(evaluate)


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
