"""Typed dispatch over every type: arrays of the caller are used in place."""

import numpy as np
import pytest

import vyre_foundation as vy
from vyre_driver import acquire
from vyre_foundation.dtype import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_type(dtype):
    with vy.program("copy", workgroup_size=64) as p:
        x = p.read("x", dtype)
        out = p.write("out", dtype, like=x)
        out[p.global_id(0)] = x[p.global_id(0)]
    given = np.arange(1000).astype(dtype.numpy)
    found = acquire("cpu").dispatch_arrays(p.build(), {"x": given})["out"]
    assert found.dtype == given.dtype
    assert found.tobytes() == given.tobytes()
