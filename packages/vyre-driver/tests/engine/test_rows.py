"""Workgroups in a row: what the port is asked to launch, and what the kernel is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.codegen.lower import legalize
from vyre_driver.engine.artifact import source_ahead
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.schedule import RUNS
from vyre_driver.legalization.target import Groups
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.target import generous_target
from vyre_foundation import Program, program, u32
from vyre_reference import vector

LOOPS = replace(generous_target(), groups=Groups.LOOPS)


@pytest.fixture(autouse=True)
def real_lowering(lowering: Callable[[Callable[..., Lowered]], None]) -> None:
    lowering(legalize)


def doubling() -> Program:
    with program("doubling", 4) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] * 2
    return p.build()


@pytest.mark.parametrize(
    ("groups", "launched", "told"),
    [(100, 17, [6, 100]), (97, 17, [6, 97]), (32, 16, [2, 32]), (31, 31, [1, 31])],
)
def test_a_launch_of_rows(groups: int, launched: int, told: list[int]) -> None:
    """16 rows at least for one worker; the last is shorter."""
    seen = []

    def evaluate(plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
        seen.append((plan.grid, np.frombuffer(memory[RUNS], np.uint32).tolist()))
        vector.evaluate(plan, memory)

    backend = EngineBackend("fake", lambda: FakePort(evaluate, spelled=LOOPS))
    x = np.arange(1, 501, dtype=np.uint32)
    (out,) = backend.dispatch(doubling(), [x], DispatchConfig(grid_override=(groups, 1, 1)))
    backend.shutdown()
    assert seen == [((launched, 1, 1), told)]
    assert np.frombuffer(out, np.uint32).tolist() == [2 * n if n <= 4 * groups else 0 for n in range(1, 501)]


def test_the_source_says_how_rows_are_launched(engine: Callable[..., SimpleNamespace]) -> None:
    text = source_ahead(engine(spelled=LOOPS).backend, doubling(), DEFAULT_CONFIG).decode()
    assert "// __runs: a row of 1 to 4096 workgroups, and how many the grid has on x; launched once a row\n" in text
