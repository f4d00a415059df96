"""One job on one backend: compiled, run, timed, and compared with the oracle."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from blake3 import blake3

from vyre.demo.job import Array, Job
from vyre_driver import VyreBackend, compile


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one run gave. Times are seconds; `kernel_s` is the device's own clock, None where it has none.

    `digest` is BLAKE3 over the outputs in binding order. `agrees` tells whether every output byte equals the oracle's.
    """

    job: str
    backend: str
    oracle: str
    input_bytes: int
    compile_s: float
    kernel_s: float | None
    wall_s: float
    oracle_s: float
    digest: str
    agrees: bool
    outputs: Mapping[str, Array]


def measure(job: Job, backend: VyreBackend) -> Measurement:
    """Compile the job's program, run it, and compare what it gives with the job's oracle.

    A device runs it twice: runtimes finish compiling at the first launch, and that belongs to `compile_s`.
    """
    inputs = [np.ascontiguousarray(job.inputs[b.name]).view(np.uint8).data for b in job.program.inputs]
    started = time.perf_counter()
    with compile(backend, job.program, job.config) as pipeline:
        compiled = time.perf_counter()
        result = pipeline.dispatch_timed(inputs)
        compile_s = compiled - started
        if result.device_ns is not None:
            first_ns, result = result.wall_ns, pipeline.dispatch_timed(inputs)
            compile_s += max(0, first_ns - result.wall_ns) * 1e-9
    outputs = {
        b.name: np.frombuffer(view, b.dtype.numpy) for b, view in zip(job.program.outputs, result.outputs, strict=True)
    }
    started = time.perf_counter()
    expected = job.oracle()
    oracle_s = time.perf_counter() - started
    return Measurement(
        job=job.name,
        backend=backend.id(),
        oracle=job.oracle_name,
        input_bytes=job.input_bytes,
        compile_s=compile_s,
        kernel_s=None if result.device_ns is None else result.device_ns * 1e-9,
        wall_s=result.wall_ns * 1e-9,
        oracle_s=oracle_s,
        digest=blake3(b"".join(bytes(view) for view in result.outputs)).hexdigest(),
        agrees=all(np.array_equal(outputs[name], array) for name, array in expected.items()),
        outputs=outputs,
    )
