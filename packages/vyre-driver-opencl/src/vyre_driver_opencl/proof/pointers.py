"""Whether kernels may be given plain addresses of host memory that was not registered with the runtime.

Runtimes for CPUs report it or not; some that do not take them all the same, and save the objects around the memory.
"""

from __future__ import annotations

import numpy as np
import pyopencl as cl

from vyre_driver_opencl.compiler import BuildFailed, build
from vyre_driver_opencl.proof.bench import ProbeDevice

LANES = 1000
_TEXT = "__kernel void prove(__global const uint *x, __global uint *y) { size_t i = get_global_id(0); y[i] += x[i]; }\n"


def prove_pointers(bench: ProbeDevice) -> bool:
    """Add in place, over memory that begins inside of an allocation, twice in different places."""
    try:
        kernel = cl.Kernel(build(bench.context, bench.queue.device, _TEXT, bench.options), "prove")
        return all(_adds(bench, kernel, start) for start in (0, 4))
    except (BuildFailed, cl.Error):
        return False


def _adds(bench: ProbeDevice, kernel: cl.Kernel, start: int) -> bool:
    x, y = np.arange(LANES + start, dtype=np.uint32)[start:], np.full(LANES + start, 7, np.uint32)[start:]
    for position, pointer in enumerate((cl.SVM(x), cl.SVM(y))):
        kernel.set_arg(position, pointer)
    cl.enqueue_nd_range_kernel(bench.queue, kernel, (LANES,), None)
    bench.queue.finish()
    return bool(np.array_equal(y, x + np.uint32(7)))
