"""What only a GPU can show. Without one everything here is skipped; ``VYRE_CUDA_REHEARSAL=1`` runs it on the emulation,
which rehearses the tests and shows nothing about a GPU."""

from __future__ import annotations

import os
import subprocess
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

EMULATION = str(Path(__file__).parents[1] / "emulation")
OPENED = "cuda_emulation.rehearsal import rehearsed" if IS_REHEARSAL else "vyre_driver_cuda.backend import CudaBackend"
"""Where other processes find what opens the backend."""
ASTRAY = "x[0] = 7u / (gridDim.x - 1u)" if IS_REHEARSAL else "*(volatile unsigned *)8 = 1u"
"""A statement after which the device is lost."""

if IS_REHEARSAL:
    sys.path.insert(0, EMULATION)


def said_by(script: str, **environment: str) -> str:
    """What a process of its own prints, which has to end well. ``opened()`` is the backend there."""
    path = os.pathsep.join(filter(None, (EMULATION, os.environ.get("PYTHONPATH"))))
    words = [sys.executable, "-c", f"from {OPENED} as opened\n{script}"]
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    run = subprocess.run(words, env=variables, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def pytest_itemcollected(item: pytest.Item) -> None:
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
