"""OpenCL without vyre, on the very device that vyre's backend opens: what a careful and a careless caller get."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from vyre_driver_opencl.opened import open_device

NATIVE = Path(__file__).parent / "native"
ROUNDED = "#pragma OPENCL FP_CONTRACT OFF\n"
"""Products and sums are rounded one by one, as the language wants it."""
PAGE = 4096


class Device:
    """A context with a queue that takes times, and the program of `native/DOMAIN.cl`."""

    def __init__(self, domain: str, backend: str = "opencl", **constants: int) -> None:
        opened = open_device(backend)
        self.context = cl.Context([opened.device])
        self.queue = cl.CommandQueue(self.context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        source = ROUNDED + (NATIVE / f"{domain}.cl").read_text("utf-8")
        self.program = cl.Program(self.context, source).build([f"-D{name}={n}" for name, n in constants.items()])
        self.shares_memory = bool(opened.device.type & cl.device_type.CPU)

    def kernel(self, name: str, *arguments: Any) -> cl.Kernel:
        """A kernel object with its arguments bound. It does not keep them alive."""
        made = cl.Kernel(self.program, name)
        made.set_args(*arguments)
        return made

    def upload(self, array: npt.NDArray[Any]) -> cl.Buffer:
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.context, flags, hostbuf=array)

    def room(self, size: int) -> cl.Buffer:
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size)

    def in_place(self, array: npt.NDArray[Any]) -> cl.Buffer:
        """The memory of an array as a buffer."""
        return cl.Buffer(self.context, cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR, hostbuf=array)

    def download(self, buffer: cl.Buffer, into: npt.NDArray[Any]) -> npt.NDArray[Any]:
        cl.enqueue_copy(self.queue, into, buffer)
        return into


def on_a_page(like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Room for an array, which begins on a page."""
    raw = np.empty(like.nbytes + PAGE, np.uint8)
    start = -raw.ctypes.data % PAGE
    return raw[start : start + like.nbytes].view(like.dtype)
