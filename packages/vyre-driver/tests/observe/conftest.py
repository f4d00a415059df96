"""A small program and a backend that computes it, for everything that watches backends."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.testing.full import FullBackend
from vyre_foundation import program, u32
from vyre_foundation.ir.program import Program


@pytest.fixture
def doubling() -> Program:
    with program("doubling", workgroup_size=4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] * 2
    return p.build()


@pytest.fixture
def words() -> bytes:
    return np.arange(6, dtype=np.uint32).tobytes()


def double(plan, memory) -> None:
    np.frombuffer(memory["out"], np.uint32)[:] = 2 * np.frombuffer(memory["a"], np.uint32)


@pytest.fixture
def backend() -> VyreBackend:
    return FullBackend(double)
