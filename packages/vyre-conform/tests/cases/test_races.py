"""No case has a race: what a program with one computes is not defined, so it would prove nothing.

Those of algorithms are in `test_algorithms.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vyre_conform.case import Launch, Spec
from vyre_conform.cases import specs
from vyre_driver.observe.races import Race

NOT_RUN = {"refusals", "indirect", "launches", "sessions", "entries"}
"""Their launches are refused, or are more than a program and its inputs."""

ELEMENTWISE = {"ops", "casts", "laws", "literals", "calls"}
"""Every invocation has an element of its own: thousands of programs alike."""


ACCESSED = {"memory", "period", "launch", "run"}
"""What decides where cases of one name access memory. Types and operations decide what is there, sizes how much."""

SPECS = [spec for spec in specs() if spec.address.group not in NOT_RUN | ELEMENTWISE | {"algorithms"}]


def accessed(spec: Spec) -> tuple[object, ...]:
    """What is equal for cases with the same accesses."""
    return (spec.address.group, spec.address.name, *(key for key in spec.address.keys if key[0] in ACCESSED))


LARGEST = {accessed(spec): spec for spec in SPECS}
"""Of the cases with the same accesses the last, which is the largest. The others run with -m slow."""


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec, marks=() if LARGEST[accessed(spec)] is spec else pytest.mark.slow, id=str(spec))
        for spec in SPECS
    ],
)
def test_no_case_races(spec: Spec, race_of: Callable[[Launch], Race | None]) -> None:
    assert race_of(spec.case().launch) is None
