"""Random programs in shards, against the reference. They run without a cluster: what is judged is the split."""

import pytest
from sharded_inline import sharded

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.testing.agreement import outcome
from vyre_foundation.testing import EVERYTHING, addressing, generate
from vyre_foundation.testing.generator import GeneratedProgram
from vyre_reference import ReferenceBackend


def is_split(drawn: GeneratedProgram, most: int) -> bool:
    config = DispatchConfig(grid_override=drawn.grid, fixpoint_iterations=drawn.iterations)
    inputs = [drawn.inputs[buffer.name] for buffer in drawn.program.inputs]
    found = sharded(drawn.program, inputs, config, most)
    if found is not None:
        assert found == outcome(ReferenceBackend(), drawn.program, inputs, config)
    return found is not None


def test_random_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_DASK_BACKEND", "reference")
    assert sum(is_split(generate(seed, EVERYTHING), 2 + seed % 3) for seed in range(24)) >= 5


def test_random_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_DASK_BACKEND", "reference")
    assert sum(is_split(addressing(seed), 2 + seed % 3) for seed in range(24)) >= 10
