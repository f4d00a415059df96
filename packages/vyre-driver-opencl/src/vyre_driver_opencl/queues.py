"""The queues of a device: what launching costs in each, measured when the device is opened.

What a launch costs beside its work is nearly all waking a thread that works and being woken by it, on PoCL 25 to 50 µs.
A fill of four bytes pays the same and needs no compiler, so opening measures some of those.
"""

from __future__ import annotations

import time

import numpy as np
import pyopencl as cl

from vyre_driver.device.queue import Queue
from vyre_driver_opencl import about

SAMPLES = 7


class WorkQueue:
    """A queue of commands.

    If it `works_at_once`, the thread that enqueues does the work and returns when it is done.
    """

    __slots__ = ("commands", "device", "works_at_once")

    def __init__(self, context: cl.Context, device: cl.Device) -> None:
        self.device = device
        self.commands = cl.CommandQueue(context, device, cl.command_queue_properties.PROFILING_ENABLE)
        self.works_at_once = _kind(device) == "basic"


def queue_of(queue: WorkQueue) -> Queue:
    """The facts of a queue. Its launch cost is measured once in a process: a later one may have work in flight."""
    device = queue.device
    if device.int_ptr not in _launch_ns:
        _launch_ns[device.int_ptr] = _measured(queue.commands)
    return Queue(
        name=_kind(device),
        workers=device.max_compute_units,
        launch_ns=_launch_ns[device.int_ptr],
        is_interruptible=not queue.works_at_once,
    )


def _kind(device: cl.Device) -> str:
    name = device.name.strip()
    return name.partition("-")[0] if about.is_pocl(device) else name


_launch_ns: dict[int, float] = {}


def _measured(queue: cl.CommandQueue) -> float:
    """The median time of the least command and the wait for it."""
    cell = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4)
    times = []
    for _ in range(SAMPLES):
        started = time.perf_counter_ns()
        cl.enqueue_fill(queue, cell, np.zeros(1, np.uint8), 4)
        queue.finish()
        times.append(time.perf_counter_ns() - started)
    return float(sorted(times)[SAMPLES // 2])
