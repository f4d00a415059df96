"""Launches are searched for data races on the reference."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

from vyre_conform.case import Launch
from vyre_conform.oracle.evaluators import plan_case
from vyre_driver import acquire
from vyre_driver.errors import Trapped
from vyre_driver.observe.races import Race, find_race
from vyre_reference import detect_races

FEW = 16
"""Invocations for which the scalar evaluator finds a race sooner than a program that looks for its own."""


@pytest.fixture(scope="module")
def race_of() -> Callable[[Launch], Race | None]:
    """The race of a launch, or None, which a single invocation has without a search. That of few is a `DataRace`."""
    backend = acquire("reference")

    def find(launch: Launch) -> Race | None:
        plan = plan_case(launch)
        invocations = plan.num_workgroups * plan.program.workgroup_volume
        if invocations == 1:
            return None
        inputs = {buffer.name: buffer.dtype.numpy for buffer in launch.program.inputs}
        arrays = {name: np.frombuffer(launch.inputs[name], dtype) for name, dtype in inputs.items()}
        if invocations <= FEW:
            with suppress(Trapped):  # after the run
                detect_races(launch.program, arrays, launch.config)
            return None
        return find_race(backend, launch.program, arrays, launch.config)

    return find
