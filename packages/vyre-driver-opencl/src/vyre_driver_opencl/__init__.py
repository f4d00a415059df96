"""The OpenCL backend of vyre, with an embedded CPU runtime."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import vyre_foundation  # noqa: F401 - all of it, before any part, as other threads may be importing it
from vyre_driver.backend.aot import AotEmitter, AotTargetId
from vyre_driver.backend.registration import Availability, BackendRegistration, DeviceFactory
from vyre_driver_opencl._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vyre_driver.backend.config import DispatchConfig
    from vyre_driver_opencl.backend import OpenClBackend
    from vyre_driver_opencl.devices import Candidate
    from vyre_foundation.ir.program import Program

__all__ = ["__version__", "registration", "registration_gpu", "registration_intel"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _secure_pyopencl_cache() -> None:
    """Before the first import of PyOpenCL, which every other module of this package does."""
    from vyre_driver_opencl.folders import secure_pyopencl_cache

    secure_pyopencl_cache()


def _backend(id: str, device: int | None = None) -> OpenClBackend:
    _secure_pyopencl_cache()
    from vyre_driver_opencl.backend import OpenClBackend

    return OpenClBackend(id, device)


def _devices(id: str) -> list[str]:
    _secure_pyopencl_cache()
    from vyre_driver_opencl.devices import devices

    return [str(group[-1]) for group in devices(id)]


def _availability(id: str) -> Availability:
    """Whether there is a device: found, not yet proven, because proofs take a compiler."""
    _secure_pyopencl_cache()
    from vyre_driver_opencl.devices import first_usable, require_compiler

    def attempt(candidate: Candidate, found: Sequence[Candidate]) -> str:
        require_compiler(id, candidate)
        return str(candidate)

    return Availability.available(first_usable(id, attempt))


def _gpu_availability() -> Availability:
    """Whether there is a GPU. No runtime is loaded for the answer where none that is registered can know one."""
    from vyre_driver_opencl.vendors import may_have_gpu

    if not may_have_gpu():
        return Availability.unavailable("no GPU with an OpenCL runtime was found", "install the GPU's driver")
    return _availability("opencl-gpu")


def _emit(id: str, target: str, runs: bool, program: Program, config: DispatchConfig) -> bytes:
    from vyre_driver.engine.artifact import compile_ahead, source_ahead

    backend = _backend(id)
    try:
        if runs:
            return compile_ahead(backend, target, program, config).to_bytes()
        return source_ahead(backend, program, config)
    finally:
        backend.shutdown()


def _emitters(id: str) -> tuple[AotEmitter, ...]:
    """OpenCL C, and the binary that the runtime makes of it for this machine's device."""
    source, binary = f"{id}-c", f"{id}-binary"
    return (
        AotEmitter(AotTargetId(source), partial(_emit, id, source, False), ".cl", "OpenCL C, to read"),
        AotEmitter(AotTargetId(binary), partial(_emit, id, binary, True), ".vyrec", "for this device", runs=True),
    )


registration = BackendRegistration(
    id="opencl",
    precedence=200,
    contract=1,
    factory=partial(_backend, "opencl"),
    probe=partial(_availability, "opencl"),
    summary="a GPU or the newest CPU runtime of the system, else the embedded PoCL",
    aot=_emitters("opencl"),
    devices=DeviceFactory(partial(_devices, "opencl"), partial(_backend, "opencl")),
)
registration_gpu = BackendRegistration(
    id="opencl-gpu",
    precedence=120,
    contract=1,
    factory=partial(_backend, "opencl-gpu"),
    probe=_gpu_availability,
    summary="a GPU that OpenCL knows",
    aot=_emitters("opencl-gpu"),
    devices=DeviceFactory(partial(_devices, "opencl-gpu"), partial(_backend, "opencl-gpu")),
)
registration_intel = BackendRegistration(
    id="opencl-intel",
    precedence=210,
    contract=1,
    factory=partial(_backend, "opencl-intel"),
    probe=partial(_availability, "opencl-intel"),
    summary="the Intel CPU runtime, for a second opinion: subgroups, f16",
    aot=_emitters("opencl-intel"),
    devices=DeviceFactory(partial(_devices, "opencl-intel"), partial(_backend, "opencl-intel")),
)
