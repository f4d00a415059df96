"""Conditions that a loop compares at its entry."""

import sys
from collections.abc import Callable
from types import FrameType

import pytest

from vyre_driver.vectorization.versioning.bound import Bound, Less, conjunction, number
from vyre_foundation.dtype import u64
from vyre_foundation.ir.expr import Expr, Local

X, LENGTH = Local("x", u64), Local("length", u64)


def below(limit: Bound, offset: int = 0) -> Less:
    """The claim ``x + offset < limit``."""
    return Less(Bound(plus=X, plus_high=10**6, offset=offset), limit)


def variable(high: int) -> Bound:
    return Bound(plus=LENGTH, plus_high=high)


@pytest.mark.parametrize(
    ("claims", "needed"),
    [
        ([below(number(7)), below(number(5)), below(number(9))], [below(number(5))]),
        ([below(number(7)), below(variable(7))], [below(variable(7))]),
        ([below(number(6)), below(variable(7))], [below(number(6)), below(variable(7))]),
        ([below(number(7), 3), below(variable(7), 2)], [below(number(7), 3), below(variable(7), 2)]),
        ([below(number(7), 2), below(variable(9), 4), below(variable(6), 3)], [below(variable(9), 4)]),
        ([below(number(5), 2), below(variable(6), 3), below(variable(5), 1)],
         [below(number(5), 2), below(variable(6), 3)]),
    ],
)  # fmt: skip
def test_what_a_claim_about_a_variable_limit_implies_is_not_asked(claims: list[Less], needed: list[Less]) -> None:
    assert conjunction(claims) is conjunction(needed)


def test_the_work_for_many_claims_is_in_proportion_to_them() -> None:
    def calls(count: int) -> int:
        claims = [claim for n in range(count) for claim in (below(number(n), n), below(variable(n + 1), n))]
        return calls_of(lambda: conjunction(claims))

    assert calls(400) < 6 * calls(100)


def calls_of(function: Callable[[], Expr]) -> int:
    """How many calls of Python functions a function makes: a measure that does not depend on the machine."""
    found = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal found
        found += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found
