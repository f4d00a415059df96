"""Launches are searched for data races on the reference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vyre_conform.case import Launch
from vyre_driver import acquire
from vyre_driver.observe.races import Race, find_race


@pytest.fixture(scope="module")
def race_of() -> Callable[[Launch], Race | None]:
    """The race of a launch, or None, which a single invocation has without a search."""
    backend = acquire("reference")

    def find(launch: Launch) -> Race | None:
        if launch.program.workgroup_volume == 1 and launch.grid == (1, 1, 1):
            return None
        inputs = {buffer.name: buffer.dtype.numpy for buffer in launch.program.inputs}
        arrays = {name: np.frombuffer(launch.inputs[name], dtype) for name, dtype in inputs.items()}
        return find_race(backend, launch.program, arrays, launch.config)

    return find
