"""Random programs, valid and free of races by construction, against the reference."""

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.testing import EVERYTHING, generate


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(n, marks=pytest.mark.slow) for n in range(5, 48))])
def test_a_random_program(agree, seed: int) -> None:
    drawn = generate(seed, EVERYTHING)
    config = DispatchConfig(grid_override=drawn.grid, fixpoint_iterations=drawn.iterations)
    agree(drawn.program, [drawn.inputs[buffer.name] for buffer in drawn.program.inputs], config)
