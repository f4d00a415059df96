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


def is_of_another_type(spec: Spec) -> bool:
    """The recurrence `flow` is there for every type, with the same accesses."""
    return str(spec).startswith("recurrences:flow:") and "dtype=u32" not in str(spec)


SPECS = [spec for spec in specs() if str(spec).partition(":")[0] not in NOT_RUN | ELEMENTWISE]
SPECS = [spec for spec in SPECS if not is_of_another_type(spec)]
SPECS += [spec for spec in algorithms.specs() if spec.size is Size.FULL]


@pytest.fixture(scope="module")
def backend() -> VyreBackend:
    return acquire("reference")


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_no_case_races(spec: Spec, backend: VyreBackend) -> None:
    launch = spec.case().launch
    if launch.program.workgroup_volume == 1 and launch.grid == (1, 1, 1):
        pytest.skip("a single invocation cannot race")
    inputs = {buffer.name: buffer.dtype.numpy for buffer in launch.program.inputs}
    arrays = {name: np.frombuffer(launch.inputs[name], dtype) for name, dtype in inputs.items()}
    assert find_race(backend, launch.program, arrays, launch.config) is None
