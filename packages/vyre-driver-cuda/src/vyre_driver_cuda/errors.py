"""CUDA status numbers as the errors of every backend, each with what can be done about it.

The driver's numbers and the runtime's are the same where they matter here. After most failures of a kernel the context
refuses everything from then on: those are the loss of the device, of which recovery makes a new one, if CUDA lets it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vyre_driver.errors import BackendError, DeviceLost, DeviceOutOfMemory, DispatchFailed

OUT_OF_MEMORY = 2
STICKY = {
    226: "CONTAINED",
    700: "ILLEGAL_ADDRESS",
    702: "LAUNCH_TIMEOUT",
    714: "HARDWARE_STACK_ERROR",
    715: "ILLEGAL_INSTRUCTION",
    716: "MISALIGNED_ADDRESS",
    717: "INVALID_ADDRESS_SPACE",
    718: "INVALID_PC",
    719: "LAUNCH_FAILED",
    721: "TENSOR_MEMORY_LEAK",
    810: "MPS_CLIENT_TERMINATED",
    911: "EXTERNAL_DEVICE",
}
"""After these, says NVIDIA, nothing works any more before the process is started again."""
LOST = STICKY | {
    4: "DEINITIALIZED",
    46: "DEVICE_UNAVAILABLE",
    100: "NO_DEVICE",
    101: "INVALID_DEVICE",
    201: "INVALID_CONTEXT",
    214: "ECC_UNCORRECTABLE",
    220: "NVLINK_UNCORRECTABLE",
    709: "CONTEXT_IS_DESTROYED",
    710: "ASSERT",
    999: "UNKNOWN",
}
"""After these the device, or the context on it, is gone."""
_AGAIN = f"{DeviceLost.remedy}; where CUDA refuses that too, start the process again"
_REMEDIES = {
    1: "report the program: the kernel was launched with an argument that the device refuses",  # INVALID_VALUE
    9: "use a smaller workgroup",  # INVALID_CONFIGURATION
    200: "clear the pipeline store (`vyre cache clear`) and compile again",  # INVALID_IMAGE
    209: "clear the pipeline store (`vyre cache clear`) and compile for this GPU",  # NO_BINARY_FOR_GPU
    222: "update NVIDIA's driver, or install the extra for its generation",  # UNSUPPORTED_PTX_VERSION
    701: "use a smaller workgroup or less workgroup memory",  # LAUNCH_OUT_OF_RESOURCES
    720: "use fewer workgroups, or leave `cooperative` to the backend",  # COOPERATIVE_LAUNCH_TOO_LARGE
}


@contextmanager
def translated(backend: str, *, requested: int = 0) -> Iterator[None]:
    """Turn what CuPy raises inside of the block into a `BackendError`; `requested` are the bytes asked for."""
    try:
        yield
    except Exception as error:
        status = status_of(error)
        if status is None:
            raise
        raise from_status(backend, status, str(error), requested=requested) from error


def status_of(error: BaseException) -> int | None:
    """The status that an error of CuPy stands for; None for everything else."""
    kind = type(error)
    if kind.__module__.partition(".")[0] not in ("cupy", "cupy_backends"):
        return None
    if kind.__name__ == "OutOfMemoryError":
        return OUT_OF_MEMORY
    status = getattr(error, "status", None)
    return status if isinstance(status, int) else None


def from_status(backend: str, status: int, reason: str, *, requested: int = 0) -> BackendError:
    """The error for a status number of CUDA; `reason` are its own words."""
    if status == OUT_OF_MEMORY:
        return DeviceOutOfMemory(requested)
    if status in LOST:
        return DeviceLost(backend, reason, fix=_AGAIN if status in STICKY else "")
    return DispatchFailed(reason, backend=backend, status=status, fix=_REMEDIES.get(status, ""))
