"""Every test here runs on one backend: the embedded PoCL, or what VYRE_TEST_BACKEND names.

``VYRE_TEST_BACKEND=opencl-intel pytest packages/vyre-driver-opencl`` runs the same tests on the second runtime, and
`test_second_runtime` does that in a process of its own. With VYRE_OPENCL_DEVICE they run on any device.
"""

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("VYRE_OPENCL_DEVICE", "pocl")
BACKEND = os.environ.get("VYRE_TEST_BACKEND", "opencl")


@pytest.fixture(scope="session")
def backend_id() -> str:
    return BACKEND


@pytest.fixture(scope="session")
def backend(backend_id: str) -> Iterator[object]:
    """The backend, open for the whole run."""
    from vyre_driver_opencl.backend import OpenClBackend

    backend = OpenClBackend(backend_id)
    backend.prepare()
    yield backend
    backend.shutdown()
