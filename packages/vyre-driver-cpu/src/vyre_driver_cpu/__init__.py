"""The native CPU backend of vyre: LLVM compiles, threads run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import vyre_foundation  # noqa: F401 - all of it, before any part, as other threads may be importing it
from vyre_driver.backend.aot import AotEmitter, AotTargetId
from vyre_driver.backend.registration import Availability, BackendRegistration
from vyre_driver_cpu._version import __version__

if TYPE_CHECKING:
    from vyre_driver.backend.config import DispatchConfig
    from vyre_driver.backend.contract import VyreBackend
    from vyre_foundation.ir.program import Program

__all__ = ["__version__", "registration"]


def __dir__() -> list[str]:
    return sorted(__all__)


NAMED = (
    *("host", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8"),
    *("apple-m1", "windows-x86-64", "windows-x86-64-v3"),
)
"""The CPUs that code ahead of time is offered for; `host` is that of this machine."""


def _backend() -> VyreBackend:
    from vyre_driver_cpu.backend import CpuBackend

    return CpuBackend()


def _availability() -> Availability:
    """Whether LLVM makes code for this CPU, and on what; not where the process may not run it."""
    from vyre_driver_cpu.cpu import COMPILER, host
    from vyre_driver_cpu.executable import refusal

    if (reason := refusal()) is not None:
        fix = "allow it, as with MemoryDenyWriteExecute=no in a unit of systemd, or use another backend"
        return Availability.unavailable(f"this process may not make memory executable: {reason}", fix=fix)
    return Availability.available(f"{host().model}, {COMPILER}")


def _source(program: Program, config: DispatchConfig) -> bytes:
    from vyre_driver_cpu.ahead import source_ahead

    return source_ahead("x86-64-v3", program, config)


def _assembly(name: str, program: Program, config: DispatchConfig) -> bytes:
    from vyre_driver_cpu.ahead import assembly_ahead

    return assembly_ahead(name, program, config)


def _compiled(name: str, program: Program, config: DispatchConfig) -> bytes:
    from vyre_driver_cpu.ahead import compiled_ahead

    return compiled_ahead(f"cpu:{name}", name, program, config)


def _emitters() -> tuple[AotEmitter, ...]:
    """LLVM IR, and for every CPU what runs and what can be read. No CPU of that kind is needed for any of it."""
    found = [AotEmitter(AotTargetId("cpu-ir"), _source, ".ll", "LLVM IR, to read")]
    for name in NAMED:
        runs = f"for CPUs that have what {name} has"
        found += [
            AotEmitter(AotTargetId(f"cpu:{name}"), partial(_compiled, name), ".vyrec", runs, runs=True),
            AotEmitter(AotTargetId(f"cpu-asm:{name}"), partial(_assembly, name), ".s", "assembly, to read"),
        ]
    return tuple(found)


registration = BackendRegistration(
    id="cpu",
    precedence=150,
    contract=1,
    factory=_backend,
    probe=_availability,
    summary="the CPU of this machine: LLVM compiles, threads run",
    aot=_emitters(),
)
