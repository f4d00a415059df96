"""Where proofs run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vyre_driver_opencl.about import device_of
from vyre_driver_opencl.api import cl, new_kernel
from vyre_driver_opencl.compiler import build
from vyre_foundation.dtype import DType, f16, f32, f64
from vyre_foundation.record import record

AS_WORD = {f16: "as_ushort", f32: "as_uint", f64: "as_ulong"}
"""What shows the bits of a float; an integer is converted to `ulong`."""

Words = npt.NDArray[Any]


@record(frozen=True, slots=True)
class Bench:
    """A device with a queue; `prelude` starts every kernel's text, which is compiled with `options`."""

    context: cl.Context
    queue: cl.CommandQueue
    prelude: str
    options: tuple[str, ...]

    def run(self, text: str, results: Sequence[Words], operands: Iterable[Words] = (), *, lanes: int) -> None:
        """Build `text`, run its kernel `prove` over `lanes` work items in one group, and read its first arguments back.

        Raises `BuildFailed`, or the runtime's error.
        """
        kernel = new_kernel(build(self.context, device_of(self.queue), text, self.options), "prove")
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        buffers = [cl.Buffer(self.context, flags, hostbuf=array) for array in (*results, *operands)]
        for position, buffer in enumerate(buffers):
            kernel.set_arg(position, buffer)
        cl.enqueue_nd_range_kernel(self.queue, kernel, (lanes,), (lanes,))
        for result, buffer in zip(results, buffers, strict=False):
            cl._enqueue_read_buffer(self.queue, buffer, result)


def words(t: DType, patterns: Iterable[int]) -> Words:
    """Bits as an array of unsigned integers of the type's size."""
    return np.array(list(patterns), np.uint64).astype(f"u{t.size}")
