"""Where proofs run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from vyre_driver.engine.pending import AsyncCall, WaitLimit
from vyre_driver_opencl import aside
from vyre_driver_opencl.compiler import build
from vyre_driver_opencl.errors import LaunchRefused
from vyre_foundation.dtype import DType, f16, f32, f64

AS_WORD = {f16: "as_ushort", f32: "as_uint", f64: "as_ulong"}
"""What shows the bits of a float; an integer is converted to `ulong`."""

Words = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ProbeDevice:
    """A device with a queue; `prelude` starts every kernel's text, which is compiled with `options`."""

    context: cl.Context
    queue: cl.CommandQueue
    prelude: str
    options: tuple[str, ...]

    def run(self, text: str, results: Sequence[Words], operands: Iterable[Words] = (), *, lanes: int) -> None:
        """Build `text`, run its kernel `prove` over `lanes` work items in one group, and read its first arguments back.

        Raises `BuildFailed`, or the runtime's error. An interrupt gets through at once; it leaves a compiler running.
        """
        wait_limit = WaitLimit()
        kernel = cl.Kernel(build(self.context, self.queue.device, text, self.options, wait_limit), "prove")
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffers = [cl.Buffer(self.context, flags, hostbuf=array) for array in (*results, *operands)]
        for position, buffer in enumerate(buffers):
            kernel.set_arg(position, buffer)
        launch = partial(aside.enqueue, self.queue, kernel, (lanes,), (lanes,))
        given = AsyncCall(launch).result(wait_limit, "a proof")
        if isinstance(given, int):
            raise LaunchRefused(given)
        for result, buffer in zip(results, buffers, strict=False):
            cl.enqueue_copy(self.queue, result, buffer)


def words(t: DType, patterns: Iterable[int]) -> Words:
    """Bits as an array of unsigned integers of the type's size."""
    return np.array(list(patterns), np.uint64).astype(f"u{t.size}")
