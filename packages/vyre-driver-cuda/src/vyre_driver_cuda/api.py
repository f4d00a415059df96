"""The CUDA libraries, each imported late and by whoever needs it: none of them is there on every machine.

NVRTC compiles without a driver and without a GPU. Everything else needs both.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from vyre_driver.errors import BackendUnavailable

BACKEND = "cuda"
INSTALL = "pip install 'vyre-driver-cuda[cuda12]' (or [cuda13], as the driver is)"


@cache
def nvrtc() -> Any:
    """The bindings of NVRTC, with the library behind them."""
    try:
        from cuda.bindings import nvrtc as bindings
    except ImportError as error:
        raise BackendUnavailable(BACKEND, f"the compiler's bindings are missing ({error})", fix=INSTALL) from error
    try:
        status, *_ = bindings.nvrtcVersion()
    except Exception as error:  # each version of the bindings has an error of its own for a missing library
        reason = f"the compiler NVRTC can not be loaded ({_first_line(error)})"
        raise BackendUnavailable(BACKEND, reason, fix=INSTALL) from error
    if status != bindings.nvrtcResult.NVRTC_SUCCESS:
        raise BackendUnavailable(BACKEND, f"the compiler NVRTC does not answer ({status.name})", fix=INSTALL)
    return bindings


def nvrtc_version() -> str:
    """As in 12.9."""
    _, major, minor = nvrtc().nvrtcVersion()
    return f"{major}.{minor}"


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
