"""Whether loops are right whose iterations depend on each other through memory."""

from __future__ import annotations

import numpy as np

from vyre_driver.errors import BackendUnavailable
from vyre_driver_opencl.proof.bench import ProbeDevice
from vyre_driver_opencl.quirks.compiler_options import VARIABLE, needed

ROW = 64
LOOPS = 2
_TEXT = f"""
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void prove(__global uint *x, __global const uint *ends) {{
    size_t first = get_global_id(0) * {LOOPS * ROW}ul;
    uint end = ends[get_global_id(0)];
    for (uint t = 2u; t < end; t++) x[first + t] = x[first + t - 2ul] + 1u;
    for (uint t = 4u; t < end; t++) x[first + {ROW}ul + t] = x[first + {ROW - 4}ul + t] + 1u;
}}
"""


def require_recurrences(backend: str, bench: ProbeDevice) -> None:
    """`BackendUnavailable` where the options that make them right were not read in this process."""
    if computes_recurrences(bench):
        return
    device = bench.queue.device
    reason = (
        "its compiler makes wrong code of loops that depend on themselves through memory; the option against that is "
        "read with the first context of a process, and something else has made one"
    )
    fix = (
        f"open the backend before anything else makes a context of {device.name.strip()!r}, start the process with "
        f"{VARIABLE}={' '.join(needed(device))!r}, or compile in other processes with VYRE_COMPILE_GUARD=always"
    )
    raise BackendUnavailable(backend, reason, fix=fix)


def computes_recurrences(bench: ProbeDevice) -> bool:
    """Run two, with distances of 2 and 4. Vectors that are longer than a distance give other values."""
    x, ends = np.zeros(LOOPS * ROW, np.uint32), np.array([ROW], np.uint32)
    bench.run(bench.prelude + _TEXT, (x,), (ends,), lanes=1)
    return bool(np.array_equal(x.reshape(LOOPS, ROW), [np.arange(ROW) // 2, np.arange(ROW) // 4]))
