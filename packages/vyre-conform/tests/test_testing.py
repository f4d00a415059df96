"""The helper for the test suites of vendors."""

import pytest

from vyre_conform import State
from vyre_conform.case import Spec
from vyre_conform.testing import cells, require
from vyre_driver.testing.mock import MockBackend
from vyre_reference.vector import evaluate

CELLS = cells("traps:*", "indirect:*", fuzz=4)


@pytest.mark.parametrize("spec", CELLS, ids=str)
def test_a_right_backend_conforms(spec: Spec) -> None:
    assert require(MockBackend(evaluate), spec) is State.PASS


def test_a_wrong_backend_does_not() -> None:
    def off_by_one(plan: object, memory: dict[str, bytearray], **rest: object) -> None:
        evaluate(plan, memory, **rest)  # type: ignore[arg-type]
        memory["out"][0] ^= 1

    (spec,) = cells("memory:bool_bytes")
    with pytest.raises(AssertionError, match=r"^memory:bool_bytes on mock: out\[0\]"):
        require(MockBackend(off_by_one), spec)  # type: ignore[arg-type]
