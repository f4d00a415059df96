"""The roofs of a device: the measured limits of bytes and operations per second.

Small programs run on the device: a sum of two arrays and a copy that fit in no cache, and long chains of
multiplications and additions of f32 without memory accesses. The rates are measured once for each device, and stored
under its identity.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.resources import Resource
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.observe.trace import KernelRun, Trace
from vyre_driver.pipeline.signature import DeviceSignature
from vyre_driver.plan.cost import work
from vyre_foundation.build import program
from vyre_foundation.dtype import f32
from vyre_foundation.ir.program import Program

METHOD = 1
"""Changes with the way of measuring: roofs that were measured in another are worth nothing."""
STREAM_BYTES = 2**26
"""Of each of three arrays: more than the caches of most devices."""
MEMORY_SHARE = 16
"""At most so small a part of the device's memory."""
CHAIN_INVOCATIONS = 2**16
CHAINS, STEPS = 8, 512
"""Values of one invocation that do not depend on each other, and the length of each chain."""
RUNS = 7
"""Of which the fastest counts: a roof is what the device can do."""


@dataclass(frozen=True, slots=True)
class Roofs:
    """The bytes per second of a device for large arrays, and its operations per second for chains of f32."""

    bytes_per_second: float
    operations_per_second: float

    def __str__(self) -> str:
        rates = f"{self.bytes_per_second / 1e9:.3g} GB/s, {self.operations_per_second / 1e9:.3g} Gop/s of f32"
        return f"{rates}; memory is the limit below {self.ridge:.2g} operations a byte"

    @property
    def ridge(self) -> float:
        """The operations for each byte above which arithmetic is the limit, not memory."""
        return self.operations_per_second / self.bytes_per_second


def roofs_of(backend: EngineBackend, *, measure: bool = True) -> Roofs | None:
    """Return the roofs of the device of a backend.

    Args:
        backend: A backend with resident memory. Its own device and caches are not used.
        measure: Whether to measure roofs that are not known, which takes about a second.

    Returns:
        The roofs; None if they are not known, or the device has no clock.
    """
    with backend.session() as device:
        workers = [queue.workers for queue in device.profile.queues]
        signature = DeviceSignature(device.profile.identity, f"roofs by method {METHOD} with workers {workers}")
        known = device.known.get(signature, _read)
        table, most = device.known, device.profile.global_memory_bytes
    if known is None and measure:
        known = measure_roofs(backend, most)
        if known is not None:
            table.put(signature, json.dumps(asdict(known)).encode())
    return known


def measure_roofs(backend: EngineBackend, memory_bytes: int | None = None) -> Roofs | None:
    """Measure the roofs now.

    Args:
        backend: The backend, which is not used itself: its device is opened a second time.
        memory_bytes: The memory of the device, if known.

    Returns:
        The roofs; None if the device has no clock.
    """
    size = STREAM_BYTES if memory_bytes is None else min(STREAM_BYTES, memory_bytes // MEMORY_SHARE)
    count = max(1024, size // 4)
    trace = Trace()
    watched = backend.traced(trace)
    try:
        _run(watched, stream(), [count, count, count])
        _run(watched, copying(), [count, count])
        streamed = _fastest(trace.kernels, "moved_bytes")
        trace.kernels.clear()
        _run(watched, chains(), [2, CHAIN_INVOCATIONS])
        chained = _fastest(trace.kernels, "operations")
    finally:
        watched.shutdown()
    if streamed is None or chained is None:
        return None
    return Roofs(streamed, chained)


def stream() -> Program:
    """A sum of two arrays: two reads and a write for each operation."""
    with program("stream", 256) as p:
        a, b = p.read("a", f32), p.read("b", f32)
        out = p.write("out", f32, like=a)
        i = p.global_id(0)
        out[i] = a[i] + b[i]
    return p.build()


def copying() -> Program:
    """A copy: one read for each write."""
    with program("copying", 256) as p:
        a = p.read("a", f32)
        out = p.write("out", f32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)]
    return p.build()


def chains() -> Program:
    """Chains of multiplications and additions, which stay near 1 whatever their length."""
    with program("chains", 256) as p:
        factors = p.read("factors", f32, 2)
        out = p.write("out", f32, CHAIN_INVOCATIONS)
        scale, step = p.let(factors[0]), p.let(factors[1])
        start = p.let(p.global_id(0).cast(f32) * 2.0**-16)
        values = [p.var(start + n / CHAINS) for n in range(CHAINS)]
        with p.range(0, STEPS):
            for value in values:
                value.set(value * scale + step)
        total = values[0] + values[1]
        for value in values[2:]:
            total = total + value
        out[p.global_id(0)] = total
    return p.build()


def _run(backend: EngineBackend, made: Program, counts: Sequence[int]) -> None:
    """Dispatch over resident memory, so that nothing but the kernels is timed."""
    resources: list[Resource] = []
    for buffer, count in zip(made.buffers, counts, strict=True):
        resources.append(backend.allocate_resident(4 * count))
        if buffer.is_input:
            value = [0.75, 0.25] if count == 2 else np.linspace(0, 1, count)
            backend.upload_resident(resources[-1], np.asarray(value, np.float32))
    for _ in range(RUNS):
        backend.dispatch_resident_timed(made, resources, DispatchConfig())
    for resource in resources:
        resource.end()


def _fastest(runs: Sequence[KernelRun], what: str) -> float | None:
    """The most of `what`, a field of `WorkCount`, that one of the runs has done in a second."""
    return max((_rate(run, what) for run in runs if run.device_ns and run.plan is not None), default=None)


def _rate(run: KernelRun, what: str) -> float:
    assert run.plan is not None
    assert run.device_ns
    return float(getattr(work(run.plan), what)) / run.device_ns * 1e9


def _read(cached: bytes) -> Roofs:
    found = json.loads(cached)
    roofs = Roofs(float(found["bytes_per_second"]), float(found["operations_per_second"]))
    if not (roofs.bytes_per_second > 0 and roofs.operations_per_second > 0):
        raise ValueError(f"{roofs} are no roofs")
    return roofs
