"""What the code for a device depends on: the GPU's architecture, the driver that loads it, the compiler."""

from __future__ import annotations

from vyre_driver_cuda.api import BACKEND, nvrtc_version
from vyre_driver_cuda.architecture import Architecture

VENDOR = "NVIDIA"


def device_identity(device: str, architecture: Architecture, driver: str) -> tuple[str, str, str, str, str]:
    """Backend, device, vendor, driver and compiler, as in `DeviceProfile.identity`."""
    return BACKEND, device, VENDOR, driver, compiler_identity(architecture)


def compiler_identity(architecture: Architecture) -> str:
    """What makes the code, and for what: as in ``NVRTC 12.9 sm_90``. No environment variable changes its code."""
    return f"NVRTC {nvrtc_version()} {architecture}"
