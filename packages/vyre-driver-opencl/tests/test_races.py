"""Programs that look for their own races, on an OpenCL device."""

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.observe.races import find_race
from vyre_foundation.build import program
from vyre_foundation.dtype import u32


@pytest.mark.parametrize("repaired", [False, True])
def test_a_missing_barrier_is_found(backend: VyreBackend, repaired: bool) -> None:
    """In workgroup memory, in one workgroup of many: the others read what they have written themselves."""
    with program("mirrored", 64) as p:
        x, out = p.read("x", u32), p.write("out", u32, 1 << 14)
        shared, lane, i = p.workgroup("shared", u32, 64), p.local_id(0), p.global_id(0)
        shared[lane] = x[i]
        if repaired:
            p.barrier()
        out[i] = shared[(lane + x[i]) % 64]
    x = np.zeros(1 << 14, np.uint32)
    x[5 * 64 + 7] = 3
    found = find_race(backend, p.build(), {"x": x}, DispatchConfig(grid_override=(256, 1, 1)))
    if repaired:
        assert found is None
        return
    assert found is not None
    assert (found.buffer, found.index) == ("shared", 10)
    assert found.accesses is not None
    assert {access.invocation for access in found.accesses} == {5 * 64 + 7, 5 * 64 + 10}
