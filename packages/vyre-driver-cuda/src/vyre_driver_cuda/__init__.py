"""The CUDA backend of vyre: NVRTC compiles, CuPy launches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import vyre_foundation  # noqa: F401 - all of it, before any part, as other threads may be importing it
from vyre_driver.backend.aot import AotEmitter, AotTargetId
from vyre_driver.backend.registration import Availability, BackendRegistration, DeviceFactory
from vyre_driver_cuda._version import __version__

if TYPE_CHECKING:
    from vyre_driver.backend.config import DispatchConfig
    from vyre_driver.backend.contract import VyreBackend
    from vyre_foundation.ir.program import Program

__all__ = ["__version__", "registration"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _backend(device: int | None = None) -> VyreBackend:
    from vyre_driver_cuda.backend import CudaBackend

    return CudaBackend(device)


def _devices() -> list[str]:
    from vyre_driver_cuda.devices import candidates

    return [str(candidate) for candidate in candidates()]


def _availability() -> Availability:
    """Whether there is a GPU, a compiler and what launches. CuPy is not imported for the answer: that takes long."""
    from vyre_driver_cuda.api import device_count, nvrtc_version, require_cupy

    count = device_count()
    require_cupy()
    return Availability.available(f"{count} GPU{'s' if count > 1 else ''}, NVRTC {nvrtc_version()}")


NAMED = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
"""The architectures that code ahead of time is offered for."""


def _source(program: Program, config: DispatchConfig) -> bytes:
    from vyre_driver_cuda.ahead import source_ahead

    return source_ahead("sm_80", program, config)


def _ptx(name: str, program: Program, config: DispatchConfig) -> bytes:
    from vyre_driver_cuda.ahead import ptx_ahead

    return ptx_ahead(name, program, config)


def _cubin(name: str, program: Program, config: DispatchConfig) -> bytes:
    from vyre_driver_cuda.ahead import cubin_ahead

    return cubin_ahead(name, program, config)


def _compiled(name: str, program: Program, config: DispatchConfig) -> bytes:
    from vyre_driver_cuda.ahead import compiled_ahead

    return compiled_ahead(f"cuda:{name}", name, program, config)


def _emitters() -> tuple[AotEmitter, ...]:
    """CUDA C++, and for every architecture what runs and what other tools take. No GPU is needed for any of it."""
    found = [AotEmitter(AotTargetId("cuda-c"), _source, ".cu", "CUDA C++ for GPUs from sm_80 on, to read")]
    for name in NAMED:
        runs = f"for GPUs of {name}, whatever their driver"
        found += [
            AotEmitter(AotTargetId(f"cuda:{name}"), partial(_compiled, name), ".vyrec", runs, runs=True),
            AotEmitter(AotTargetId(f"cuda-ptx:{name}"), partial(_ptx, name), ".ptx", "PTX, to read"),
            AotEmitter(AotTargetId(f"cuda-cubin:{name}"), partial(_cubin, name), ".cubin", "bare machine code"),
        ]
    return tuple(found)


registration = BackendRegistration(
    id="cuda",
    precedence=100,
    contract=1,
    factory=_backend,
    probe=_availability,
    summary="an NVIDIA GPU: NVRTC compiles, CuPy launches",
    aot=_emitters(),
    devices=DeviceFactory(_devices, _backend),
)
