"""The CUDA libraries, each imported when it is needed: none of them is there on every machine.

NVRTC compiles without a driver and without a GPU. Everything else needs both. What is missing is said in one form: a
`BackendUnavailable` with the reason and what would help.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.util import find_spec
from typing import Any

from vyre_driver.errors import BackendUnavailable

BACKEND = "cuda"
DRIVER = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
"""The library that NVIDIA's driver brings."""
INSTALL = "pip install 'vyre-driver-cuda[cuda12]', or [cuda13] for a driver from 580 on"
NO_DRIVER = "install NVIDIA's driver; without one `vyre compile --target cuda:sm_90` still makes code for a named GPU"


@cache
def nvrtc() -> Any:
    """The bindings of the compiler, with the library behind them."""
    try:
        from cuda.bindings import nvrtc as bindings
    except ImportError as error:
        raise _missing(f"the bindings of the compiler NVRTC are not installed ({error})") from error
    try:
        status, *_ = bindings.nvrtcVersion()
    except Exception as error:  # each release of the bindings has an error of its own for a missing library
        raise _missing(f"the compiler NVRTC cannot be loaded ({_first_line(error)})") from error
    if status != bindings.nvrtcResult.NVRTC_SUCCESS:
        raise _missing(f"the compiler NVRTC does not answer ({status.name})")
    return bindings


def nvrtc_version() -> str:
    """As in 12.9."""
    _, major, minor = nvrtc().nvrtcVersion()
    return f"{major}.{minor}"


@cache
def cupy() -> Any:
    """CuPy, which launches; it imports where there is no GPU too."""
    require_cupy()
    import cupy as module

    return module


def require_cupy() -> None:
    """Refuse where CuPy is not installed, without importing it."""
    if find_spec("cupy") is None:
        raise _missing("CuPy, which launches, is not installed")


def device_count() -> int:
    """How many GPUs the driver sees, at least one."""
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError as error:
        reason = f"there is no NVIDIA driver: {DRIVER} cannot be loaded"
        raise BackendUnavailable(BACKEND, reason, fix=NO_DRIVER) from error
    count = ctypes.c_int(0)
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status or not count.value:
        status_text = f" (status {status} of the CUDA driver)" if status else ""
        fix = "look at `nvidia-smi` and at CUDA_VISIBLE_DEVICES"
        raise BackendUnavailable(BACKEND, f"NVIDIA's driver sees no GPU{status_text}", fix=fix)
    return count.value


def _missing(reason: str) -> BackendUnavailable:
    return BackendUnavailable(BACKEND, reason, fix=INSTALL)


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
