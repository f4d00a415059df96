import pytest

from vyre_driver.errors import BackendError, DeviceLost, DeviceOutOfMemory, DispatchFailed
from vyre_driver_opencl.about import platform
from vyre_driver_opencl.api import cl
from vyre_driver_opencl.devices import candidates
from vyre_driver_opencl.errors import code_of, from_status, text_of, translated


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
    record = cl._ErrorRecord(msg="no room", code=-4, routine="clCreateBuffer")
    with pytest.raises(DeviceOutOfMemory, match="123 bytes are needed"), translated(backend_id, requested=123):
        raise cl.MemoryError(record)


@pytest.mark.parametrize(
    ("code", "said", "text"),
    [
        (-54, "", "clEnqueueNDRangeKernel failed: INVALID_WORK_GROUP_SIZE"),
        (-9999, "a secret", "clEnqueueNDRangeKernel failed: -9999 - a secret"),
    ],
)
def test_an_error_is_read(code: int, said: str, text: str) -> None:
    error = cl.LogicError(cl._ErrorRecord(msg=said, code=code, routine="clEnqueueNDRangeKernel"))
    assert (code_of(error), text_of(error)) == (code, text)


def test_what_a_runtime_refuses_is_named(backend_id: str) -> None:
    with pytest.raises(cl.LogicError) as caught:
        platform(candidates(backend_id)[0].device).get_info(99_999)
    assert (code_of(caught.value), text_of(caught.value)) == (-30, "Platform.get_info failed: INVALID_VALUE")


def test_other_errors_pass(backend_id: str) -> None:
    with pytest.raises(KeyError), translated(backend_id):
        raise KeyError("mine")
