"""Host memory in place: where it is, and for how long."""

import gc
from weakref import ref

import numpy as np
import pytest

from vyre_driver_cpu.memory import ALIGNMENT, in_place


@pytest.mark.parametrize("is_writable", [True, False])
def test_bytes_are_used_where_they_are(is_writable):
    array = np.zeros(64, np.uint32)
    array.flags.writeable = is_writable
    found = in_place(array)
    assert found is not None
    assert found.address == array.ctypes.data
    owner = ref(array)
    del array
    gc.collect()
    assert owner() is not None
    del found
    gc.collect()
    assert owner() is None


@pytest.mark.parametrize("is_writable", [True, False])
def test_bytes_that_are_not_aligned_are_not(is_writable):
    whole = np.zeros(64 + ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % ALIGNMENT + 1
    part = whole[start : start + 8]
    part.flags.writeable = is_writable
    assert in_place(part) is None
