"""No case has a race: what a program with one computes is not defined, so it would prove nothing."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_conform.case import Size, Spec
from vyre_conform.cases import algorithms, specs
from vyre_driver import VyreBackend, acquire
from vyre_driver.observe.races import find_race

NOT_RUN = {"refusals", "indirect", "launches", "sessions", "entries"}
"""Their launches are refused, or are more than a program and its inputs."""

ELEMENTWISE = {"ops", "casts", "laws", "literals", "calls"}
"""Every invocation has an element of its own: thousands of programs alike."""


ACCESSED = {"memory", "period", "launch", "run"}
"""What decides where cases of one name access memory. Types and operations decide what is there, sizes how much."""

SPECS = [spec for spec in specs() if spec.address.group not in NOT_RUN | ELEMENTWISE]
SPECS += [spec for spec in algorithms.specs() if spec.size is Size.FULL]


def accessed(spec: Spec) -> tuple[object, ...]:
    """What is equal for cases with the same accesses."""
    return (spec.address.group, spec.address.name, *(key for key in spec.address.keys if key[0] in ACCESSED))


LARGEST = {accessed(spec): spec for spec in SPECS}
"""Of the cases with the same accesses the last, which is the largest. The others run with -m slow."""


@pytest.fixture(scope="module")
def backend() -> VyreBackend:
    return acquire("reference")


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(spec, marks=() if LARGEST[accessed(spec)] is spec else pytest.mark.slow, id=str(spec))
        for spec in SPECS
    ],
)
def test_no_case_races(spec: Spec, backend: VyreBackend) -> None:
    launch = spec.case().launch
    if launch.program.workgroup_volume == 1 and launch.grid == (1, 1, 1):
        pytest.skip("a single invocation cannot race")
    inputs = {buffer.name: buffer.dtype.numpy for buffer in launch.program.inputs}
    arrays = {name: np.frombuffer(launch.inputs[name], dtype) for name, dtype in inputs.items()}
    assert find_race(backend, launch.program, arrays, launch.config) is None
