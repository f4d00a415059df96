"""A backend of the engine that sums arrays in host memory, with a clock that says 1000 ns for each kernel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from vyre_driver.engine.backend import EngineBackend
from vyre_driver.testing.fake_port import FakePort
from vyre_foundation import program, u32
from vyre_foundation.ir.program import Program


def compute(plan, memory) -> None:
    """Sum, double or fill: what the outputs are does not matter here."""
    for name, view in memory.items():
        if name.startswith("out"):
            np.frombuffer(view, np.uint8)[:] = 1


@pytest.fixture
def summing() -> Program:
    with program("summing", workgroup_size=64) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] + b[p.global_id(0)]
    return p.build()


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    return {"a": np.arange(1024, dtype=np.uint32), "b": np.arange(1024, dtype=np.uint32)}


@pytest.fixture
def backend() -> Iterator[EngineBackend]:
    found = EngineBackend("fake", lambda: FakePort(compute))
    yield found
    found.shutdown()
