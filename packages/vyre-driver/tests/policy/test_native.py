"""The device's own function is taken only for a budget, as measured, and where it is faster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vyre_driver.policy.native import ALL_ARGUMENTS, ANY_ERROR, Measured, judge_native

FAST = Measured(error=2, worst=7, arguments=ALL_ARGUMENTS, native_ps=300.0, exact_ps=2000.0)


@pytest.mark.parametrize(
    ("measured", "budget", "is_native", "reason"),
    [
        (FAST, 0, False, "the budget is 0"),
        (FAST, 1, False, "off by 2 of 1 allowed"),
        (FAST, 2, True, "off by 2 at most: 300 ps beside 2000 ps of the exact one"),
        (replace(FAST, error=0), 1, True, "off by 0 at most: 300 ps beside 2000 ps of the exact one"),
        (replace(FAST, native_ps=2000.0), 4, False, "not faster: 2000 ps beside 2000 ps of the exact one"),
        (replace(FAST, arguments=ALL_ARGUMENTS - 1), 4, False, "not measured over all arguments"),
        (None, ANY_ERROR - 1, False, "not measured over all arguments"),
        (None, ANY_ERROR, True, "not measured over all arguments"),
        (replace(FAST, error=ANY_ERROR), ANY_ERROR - 1, False, "off by 4294967295 of 4294967294 allowed"),
    ],
)
def test_verdicts(measured: Measured | None, budget: int, is_native: bool, reason: str) -> None:
    verdict = judge_native(measured, budget)
    assert (verdict.is_native, verdict.reason) == (is_native, reason)
