"""The tools beside the package are part of its tests; a function of the dialect over an array."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vyre_driver import acquire
from vyre_foundation import DType, call, f32, program

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))


@pytest.fixture
def results() -> Callable[..., npt.NDArray[np.uint8]]:
    """The bytes of ``math.name(*operands)`` on a reference backend."""

    def dispatch(
        name: str, *operands: npt.NDArray[Any], dtype: DType = f32, backend: str = "reference"
    ) -> npt.NDArray[np.uint8]:
        with program(name, 64) as p:
            first, *others = (f"x{n}" for n in range(len(operands)))
            sources = [p.read(first, dtype)]
            sources += [p.read(other, dtype, like=sources[0]) for other in others]
            out = p.write("out", dtype, like=sources[0])
            out[p.global_id(0)] = call(f"math.{name}", *(source[p.global_id(0)] for source in sources))
        (found,) = acquire(backend).dispatch(p.build(), list(operands))
        return np.frombuffer(found, np.uint8)

    return dispatch
