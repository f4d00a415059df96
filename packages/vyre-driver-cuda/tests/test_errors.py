import pytest

from vyre_driver.errors import BackendError, DeviceLost, DeviceOutOfMemory, DispatchFailed
from vyre_driver_cuda.errors import from_status, status_of, translated


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (2, DeviceOutOfMemory),
        (700, DeviceLost),
        (716, DeviceLost),
        (719, DeviceLost),
        (999, DeviceLost),
        (1, DispatchFailed),
        (209, DispatchFailed),
        (701, DispatchFailed),
        (123456, DispatchFailed),
    ],
)
def test_every_status_is_an_error_with_a_remedy(status: int, kind: type[BackendError]) -> None:
    error = from_status("cuda", status, "the driver said so", requested=64)
    assert type(error) is kind
    assert "Fix: " in str(error)


def test_the_text_names_backend_status_and_words_of_the_driver() -> None:
    error = from_status("cuda", 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch")
    assert str(error).startswith(
        "the dispatch on cuda failed (status 701): "
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch"
    )
    assert error.fix == "use a smaller workgroup or less workgroup memory"


class DriverError(RuntimeError):
    """As CuPy's errors are: with a status, in a module of its own."""

    def __init__(self, status: int) -> None:
        super().__init__(f"CUDA_ERROR_NUMBER_{status}")
        self.status = status


class OutOfMemoryError(MemoryError):
    """As CuPy's pool raises it, without a status."""


DriverError.__module__ = "cupy_backends.cuda.api.driver"
OutOfMemoryError.__module__ = "cupy.cuda.memory"


def test_the_errors_of_cupy_are_translated() -> None:
    with pytest.raises(DeviceLost, match="CUDA_ERROR_NUMBER_719"), translated("cuda"):
        raise DriverError(719)
    with pytest.raises(DeviceOutOfMemory) as caught, translated("cuda", requested=1 << 40):
        raise OutOfMemoryError("Out of memory allocating")
    assert caught.value.fields["requested"] == 1 << 40


def test_everything_else_passes() -> None:
    assert status_of(ValueError("2")) is None
    with pytest.raises(KeyError), translated("cuda"):
        raise KeyError("a")
