"""The backend of this distribution: the engine of vyre over the CUDA port."""

from __future__ import annotations

from vyre_driver.engine.backend import EngineBackend
from vyre_driver_cuda._version import __version__
from vyre_driver_cuda.api import BACKEND
from vyre_driver_cuda.opened import open_device
from vyre_driver_cuda.port import CudaPort


class CudaBackend(EngineBackend, contract=1):
    """Dispatch on an NVIDIA GPU. The first use opens it."""

    def __init__(self) -> None:
        super().__init__(BACKEND, _open, version=__version__)


def _open() -> CudaPort:
    return CudaPort(open_device())
