"""OpenCL status numbers as the errors of every backend, each with what can be done about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyopencl as cl

from vyre_driver.errors import BackendError, DeviceLost, DeviceOutOfMemory, DispatchFailed

_NO_MEMORY = {
    -4: "MEM_OBJECT_ALLOCATION_FAILURE",
    -6: "OUT_OF_HOST_MEMORY",
    -61: "INVALID_BUFFER_SIZE",
}
_LOST = {
    -1: "DEVICE_NOT_FOUND",
    -2: "DEVICE_NOT_AVAILABLE",
    -34: "INVALID_CONTEXT",
    -36: "INVALID_COMMAND_QUEUE",
}
_REMEDIES = {
    -5: "use a smaller workgroup, less workgroup memory or smaller buffers",  # OUT_OF_RESOURCES
    -54: "use a smaller workgroup",  # INVALID_WORK_GROUP_SIZE
    -55: "use a smaller workgroup",  # INVALID_WORK_ITEM_SIZE
    -52: "report the program: the kernel was launched with an argument missing",  # INVALID_KERNEL_ARGS
}


class LaunchRefused(Exception):
    """The `status` with which the runtime refuses to enqueue a kernel."""

    def __init__(self, status: int) -> None:
        super().__init__(f"clEnqueueNDRangeKernel failed: {status_name(status)}")
        self.status = status


@contextmanager
def translated(backend: str, *, requested: int = 0) -> Iterator[None]:
    """Turn what the runtime raises inside of the block into a `BackendError`; `requested` are the bytes asked for."""
    try:
        yield
    except cl.Error as error:
        raise from_status(backend, error.code, str(error), requested=requested) from error
    except LaunchRefused as refused:
        raise from_status(backend, refused.status, str(refused)) from refused


def status_name(status: int) -> str:
    """The name of a status number, or the number."""
    return next((name for name, value in vars(cl.status_code).items() if value == status), str(status))


def from_status(backend: str, status: int, reason: str, *, requested: int = 0) -> BackendError:
    """The error for a status number of the runtime; `reason` are the runtime's own words."""
    if status in _NO_MEMORY:
        return DeviceOutOfMemory(requested)
    if status in _LOST:
        return DeviceLost(backend, reason)
    return DispatchFailed(reason, backend=backend, status=status, fix=_REMEDIES.get(status, ""))
