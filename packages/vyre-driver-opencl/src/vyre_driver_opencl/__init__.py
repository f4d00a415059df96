"""The OpenCL backend of vyre, with an embedded CPU runtime."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from vyre_driver.backend.registration import Availability, BackendRegistration

if TYPE_CHECKING:
    from vyre_driver.backend.contract import VyreBackend

__all__ = ["registration", "registration_intel"]

__version__ = "0.1.0"


def _backend(id: str) -> VyreBackend:
    from vyre_driver_opencl.backend import OpenClBackend

    return OpenClBackend(id)


def _availability(id: str) -> Availability:
    """Whether there is a device: found, not yet proven, because proofs take a compiler."""
    from vyre_driver_opencl.devices import candidates, require_linker

    best = candidates(id)[0]
    require_linker(id, best)
    return Availability.available(str(best))


registration = BackendRegistration(
    id="opencl",
    precedence=200,
    contract=1,
    factory=partial(_backend, "opencl"),
    probe=partial(_availability, "opencl"),
    summary="a GPU or the newest CPU runtime of the system, else the embedded PoCL",
)
registration_intel = BackendRegistration(
    id="opencl-intel",
    precedence=210,
    contract=1,
    factory=partial(_backend, "opencl-intel"),
    probe=partial(_availability, "opencl-intel"),
    summary="the Intel CPU runtime, for a second opinion: subgroups, f16",
)
