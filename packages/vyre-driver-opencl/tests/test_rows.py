"""Workgroups in a row on a device: launches that are large enough for rows, of which the last is shorter."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver import DispatchConfig, VyreBackend
from vyre_foundation import Program, constant, program, select, u32


def counting() -> Program:
    with program("counting", 64) as p:
        counts, i = p.read_write("counts", u32), p.global_id(0)
        counts[i] = counts[i] + select((i > 0) & (i < 6400), constant(u32, 1), 100) + p.num_workgroups(0) * 1000
    return p.build()


@pytest.mark.parametrize("groups", [1, 31, 64, 97, 131, 1001])
def test_no_invocation_is_lost_and_none_is_added(groups: int, backend: VyreBackend) -> None:
    given, n = np.arange(70_000, dtype=np.uint32), 64 * groups
    expected = given.copy()
    inside = (given[:n] > 0) & (given[:n] < 6400)
    expected[:n] += np.where(inside, 1, 100).astype(np.uint32) + groups * 1000
    config = DispatchConfig(grid_override=(groups, 1, 1))
    got = backend.dispatch_arrays(counting(), {"counts": given}, config)["counts"]
    assert (got == expected).all()
