"""Which runtime a device belongs to."""

from __future__ import annotations

import pyopencl as cl


def is_cpu(device: cl.Device) -> bool:
    """Whether the device's memory is the host's."""
    return bool(device.type & cl.device_type.CPU)


def is_pocl(device: cl.Device) -> bool:
    """Whether PoCL runs the device."""
    return "PoCL" in device.platform.version
