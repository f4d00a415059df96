"""Host memory in place: where it is, and for how long."""

import gc
from types import SimpleNamespace
from weakref import ref

import numpy as np
import pytest

from vyre_driver.engine.pending import WaitLimit
from vyre_driver_cpu.launch import Arguments
from vyre_driver_cpu.memory import ALIGNMENT, HostMemory, in_place
from vyre_driver_cpu.order import Order


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


def test_memory_whose_last_work_has_ended_keeps_no_other_memory():
    """That of small inputs is used by many launches, and outlives the arrays of each."""
    small, large = HostMemory(np.zeros(8, np.uint8)), HostMemory(np.zeros(4096, np.uint8))
    order, arguments = Order(WaitLimit()), Arguments((small, large), (1, 1, 1))
    threads = SimpleNamespace(submit=lambda jobs: None, has_ended=lambda jobs: True)
    order.submit(threads, object(), (small, large), arguments, arguments.cancel)
    contents = ref(large.bytes)
    del large, arguments
    assert not order.sweep()
    gc.collect()
    assert small.last is not None
    assert contents() is None


@pytest.mark.parametrize("size", [1, 1000, 100_000, 1 << 20])
def test_new_memory_is_zero_without_a_fill(size, backend):
    fills = backend.backend_metric_snapshot()["fills"]
    for _ in range(5):  # what the allocator reuses has other contents
        handle = backend.allocate_resident(size)
        assert not any(backend.download_resident(handle))
        backend.upload_resident(handle, np.full(size, 255, np.uint8))
        backend.free_resident(handle)
    assert backend.backend_metric_snapshot()["fills"] == fills
