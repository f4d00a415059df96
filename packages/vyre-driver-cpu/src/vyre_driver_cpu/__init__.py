"""The native CPU backend of vyre: LLVM compiles, threads run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vyre_driver.backend.registration import Availability, BackendRegistration
from vyre_driver_cpu._version import __version__

if TYPE_CHECKING:
    from vyre_driver.backend.contract import VyreBackend

__all__ = ["__version__", "registration"]


def _backend() -> VyreBackend:
    from vyre_driver_cpu.backend import CpuBackend

    return CpuBackend()


def _availability() -> Availability:
    from vyre_driver_cpu.machine import COMPILER, host

    return Availability.available(f"{host().cpu}, {COMPILER}")


registration = BackendRegistration(
    id="cpu",
    precedence=150,
    contract=1,
    factory=_backend,
    probe=_availability,
    summary="the CPU of this machine: LLVM compiles, threads run",
)
