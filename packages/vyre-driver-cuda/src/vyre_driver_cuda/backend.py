"""The backend of this distribution: the engine of vyre over the CUDA port."""

from __future__ import annotations

from functools import partial

from vyre_driver.engine.backend import EngineBackend
from vyre_driver_cuda._version import __version__
from vyre_driver_cuda.api import BACKEND
from vyre_driver_cuda.opened import open_device
from vyre_driver_cuda.port import CudaPort


class CudaBackend(EngineBackend, contract=1):
    """Dispatch on an NVIDIA GPU: the first of `candidates`, or the one at an index. The first use opens it."""

    def __init__(self, device: int | None = None) -> None:
        super().__init__(BACKEND, partial(_open, device), version=__version__)


def _open(device: int | None) -> CudaPort:
    return CudaPort(open_device(device))
