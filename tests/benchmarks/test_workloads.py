"""Every workload's program gives the wanted result, at toy size, where a result means something: on the reference."""

import sys
from pathlib import Path

import numpy as np
import pytest

from vyre_driver import DispatchConfig, acquire

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from workloads import WORKLOADS


@pytest.mark.parametrize("name", WORKLOADS)
def test_program_gives_what_is_wanted(name: str) -> None:
    workload = WORKLOADS[name]
    work = workload.make(workload.toy)
    config = DispatchConfig(grid_override=work.grid)
    (result,) = acquire("reference").dispatch(work.program, list(work.inputs.values()), config)
    assert work.is_met_by(np.frombuffer(result, work.wanted.dtype))


@pytest.mark.parametrize("name", WORKLOADS)
def test_wrong_bytes_are_not_what_is_wanted(name: str) -> None:
    workload = WORKLOADS[name]
    work = workload.make(workload.toy)
    assert not work.is_met_by(np.full_like(work.wanted, 77))
