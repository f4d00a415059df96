"""What the code for a device depends on: the device, its driver, its compiler, and what the environment tells them."""

from __future__ import annotations

import os

import pyopencl as cl

from vyre_driver_opencl.quirks.compiler_options import withheld

_SETTINGS = ("POCL_", "CL_CONFIG_")
_HARMLESS = (
    *("POCL_CACHE_DIR", "POCL_DEBUG", "POCL_DEVICES", "POCL_KERNEL_CACHE", "POCL_MAX_PTHREAD_COUNT"),
    *("POCL_PATH", "POCL_TRACING"),
)
"""Runtimes read variables that begin so, and those change the code that their compilers make, but for these."""


def device_identity(backend: str, device: cl.Device) -> tuple[str, str, str, str, str]:
    """Backend, device, vendor, driver and compiler, as in `DeviceProfile.identity`."""
    known = (device.platform.version.strip(), *withheld(device))
    compiler = " ".join(filter(None, (*known, *_settings())))
    asked = (cl.device_info.VENDOR, cl.device_info.VERSION, cl.device_info.DRIVER_VERSION)
    vendor, version, driver = (str(device.get_info(one)).strip() for one in asked)
    return backend, device.name.strip(), vendor, f"{version} {driver}", compiler


def _settings() -> list[str]:
    return sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith(_SETTINGS) and not name.startswith(_HARMLESS)
    )
