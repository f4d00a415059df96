from types import SimpleNamespace

import pyopencl as cl
import pytest

from vyre_driver.errors import BackendError, DeviceLost, DeviceOutOfMemory, DispatchFailed
from vyre_driver_opencl.errors import LaunchRefused, from_status, translated


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (-4, DeviceOutOfMemory),
        (-6, DeviceOutOfMemory),
        (-61, DeviceOutOfMemory),
        (-1, DeviceLost),
        (-2, DeviceLost),
        (-34, DeviceLost),
        (-36, DeviceLost),
        (-5, DispatchFailed),
        (-54, DispatchFailed),
        (-9999, DispatchFailed),
    ],
)
def test_every_status_is_an_error_with_a_remedy(status: int, kind: type[BackendError]) -> None:
    error = from_status("opencl", status, "the runtime said so", requested=64)
    assert type(error) is kind
    assert "Fix: " in str(error)


def test_the_text_names_backend_status_and_words_of_the_runtime() -> None:
    assert str(from_status("opencl", -54, "clEnqueueNDRangeKernel failed")) == (
        "the dispatch on opencl failed (status -54): clEnqueueNDRangeKernel failed. Fix: use a smaller workgroup"
    )


def test_what_the_runtime_raises_is_translated(backend_id: str) -> None:
    record = SimpleNamespace(code=lambda: -4, routine=lambda: "clCreateBuffer", what=lambda: "none")
    with pytest.raises(DeviceOutOfMemory, match="123 bytes are needed"), translated(backend_id, requested=123):
        raise cl.MemoryError(record)


def test_a_refused_launch_is_translated() -> None:
    refused = "clEnqueueNDRangeKernel failed: INVALID_WORK_GROUP_SIZE"
    with pytest.raises(DispatchFailed, match=refused), translated("opencl"):
        raise LaunchRefused(-54)


def test_other_errors_pass(backend_id: str) -> None:
    with pytest.raises(KeyError), translated(backend_id):
        raise KeyError("mine")
