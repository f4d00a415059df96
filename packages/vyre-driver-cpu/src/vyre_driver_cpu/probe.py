"""The facts of a CPU that the engine plans with."""

from __future__ import annotations

from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver.device.queue import Queue
from vyre_driver_cpu.cpu import Cpu, memory_bytes
from vyre_driver_cpu.identity import device_identity
from vyre_driver_cpu.runtime import thread_count
from vyre_driver_cpu.spelling import Spellings
from vyre_foundation.dtype import f16

MOST = 4096
"""Invocations of a workgroup."""
STACK = 1024 * 1024
"""Bytes of memory that a workgroup may have, on the stack of its thread."""
_CALL_NS, _WAKE_NS = 1_000, 25_000
"""What a launch costs in the calling thread, and where threads have to be woken: first guesses, which measured launches
replace."""
QUEUES = ("caller", "threads")
CALLER, THREADS = 0, 1
"""The positions of the queues."""


def profile(cpu: Cpu, spellings: Spellings) -> DeviceProfile:
    """Everything that is known of a CPU without running anything."""
    backend, device, vendor, driver, compiler = device_identity(cpu)
    threads = thread_count()
    memory = memory_bytes()
    return DeviceProfile(
        backend=backend,
        device=device,
        vendor=vendor,
        driver_version=driver,
        compiler=compiler,
        supports_f16=f16 in spellings.arithmetic,
        supports_f64=True,
        supports_int64=True,
        supports_atomic64=True,
        supports_trap_propagation=True,
        supports_async_compute=True,
        supports_device_timestamps=True,
        has_mul_high=True,
        timing_quality=DeviceTimingQuality.DEVICE_TIMESTAMPS,
        max_native_int_width=64,
        max_workgroup_size=(MOST, MOST, MOST),
        max_invocations_per_workgroup=MOST,
        max_shared_memory_bytes=STACK,
        max_storage_buffer_binding_size=memory,
        global_memory_bytes=memory,
        compute_units=threads,
        ideal_vector_pack_bits=cpu.vector_bits,
        queues=(
            Queue(name=QUEUES[CALLER], workers=1, launch_ns=_CALL_NS, is_interruptible=False),
            Queue(name=QUEUES[THREADS], workers=threads, launch_ns=_WAKE_NS),
        ),
    )
