"""The backends of this distribution: the engine of vyre over the OpenCL port."""

from __future__ import annotations

from functools import partial

from vyre_driver.engine.backend import EngineBackend
from vyre_driver_opencl._version import __version__
from vyre_driver_opencl.opened import open_device
from vyre_driver_opencl.port import OpenClPort


class OpenClBackend(EngineBackend, contract=1):
    """Dispatch on an OpenCL device; `id` says which devices come into question. The first use opens one.

    That is the best one that works, or with an index that one alone.
    """

    def __init__(self, id: str = "opencl", device: int | None = None) -> None:
        super().__init__(id, partial(_open, id, device), version=__version__)


def _open(id: str, device: int | None) -> OpenClPort:
    return OpenClPort(id, open_device(id, device))
