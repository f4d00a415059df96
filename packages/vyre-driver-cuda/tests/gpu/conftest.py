"""What only a GPU can show. Without one everything here is skipped; ``VYRE_CUDA_REHEARSAL=1`` runs it on the emulation,
which rehearses the tests and shows nothing about a GPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda.port import CudaPort

IS_REHEARSAL = bool(os.environ.get("VYRE_CUDA_REHEARSAL"))
NAME = "cuda-rehearsal" if IS_REHEARSAL else "cuda"
OpenPort = Callable[[], CudaPort]

if IS_REHEARSAL:
    sys.path.insert(0, str(Path(__file__).parents[1] / "emulation"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def open_port() -> OpenPort:
    if IS_REHEARSAL:
        from cuda_emulation.rehearsal import open_port

        return open_port
    from vyre_driver_cuda.opened import open_device

    try:
        open_device()
    except BackendUnavailable as error:
        pytest.skip(str(error))
    return lambda: CudaPort(open_device())


@pytest.fixture
def port(open_port: OpenPort) -> Iterator[CudaPort]:
    port = open_port()
    yield port
    port.close()


@pytest.fixture(scope="session")
def backend(open_port: OpenPort) -> Iterator[VyreBackend]:
    backend = EngineBackend(NAME, open_port)
    yield backend
    backend.shutdown()


@pytest.fixture
def real(open_port: OpenPort) -> None:
    """For what the emulation has no counterpart of."""
    if IS_REHEARSAL:
        pytest.skip("needs a GPU: this is a rehearsal")
