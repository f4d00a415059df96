"""The backend of this distribution: the engine of vyre over the CPU port."""

from __future__ import annotations

from vyre_driver.engine.backend import EngineBackend
from vyre_driver_cpu._version import __version__
from vyre_driver_cpu.port import CpuPort


class CpuBackend(EngineBackend, contract=1):
    """Dispatch on the CPU of this cpu."""

    def __init__(self, id: str = "cpu") -> None:
        super().__init__(id, CpuPort, version=__version__)
