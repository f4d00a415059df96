import pytest

from vyre_driver.errors import BackendError, DeviceLost, DeviceOutOfMemory, DispatchFailed
from vyre_driver_cuda.errors import LOST, STICKY, from_status, status_of, translated


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


def test_what_nvidia_calls_the_end_of_a_process_is_the_loss_of_the_device() -> None:
    """Its own bindings say it of each status, in newer ones of more."""
    driver = pytest.importorskip("cuda.bindings.driver")
    words = {int(status): " ".join((status.__doc__ or "").split()) for status in driver.CUresult}
    if not any("process must be" in text for text in words.values()):
        pytest.skip("these bindings do not say it")
    final = {n for n, text in words.items() if "process must be terminated and relaunched" in text}
    assert final == STICKY.keys() & words.keys()
    assert len(final) > 8
    for number in LOST.keys() & words.keys():
        assert driver.CUresult(number).name == f"CUDA_ERROR_{LOST[number]}"


def test_a_loss_that_may_outlast_recovery_says_so() -> None:
    assert "start the process again" in from_status("cuda", 700, "").fix
    assert from_status("cuda", 214, "").fix == DeviceLost.remedy


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
