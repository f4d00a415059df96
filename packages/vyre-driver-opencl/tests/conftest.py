"""Every test here runs on one backend: the embedded PoCL, or what VYRE_TEST_BACKEND names.

``VYRE_TEST_BACKEND=opencl-intel pytest packages/vyre-driver-opencl`` runs the same tests on the second runtime, and
`test_second_runtime` does that in a process of its own. With VYRE_OPENCL_DEVICE they run on any device.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.testing.agreement import Outcome, outcome
from vyre_foundation.ir.program import Program

os.environ.setdefault("VYRE_OPENCL_DEVICE", "pocl")
BACKEND = os.environ.get("VYRE_TEST_BACKEND", "opencl")

Agree = Callable[..., Outcome]


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.backend(BACKEND))


@pytest.fixture(scope="session")
def backend_id() -> str:
    return BACKEND


@pytest.fixture(scope="session")
def backend(backend_id: str) -> Iterator[VyreBackend]:
    """The backend, open for the whole run. What it allocates it has freed in the end."""
    from vyre_driver_opencl.backend import OpenClBackend

    backend = OpenClBackend(backend_id)
    backend.prepare()
    yield backend
    backend.shutdown()
    counters = backend.backend_metric_snapshot()
    assert counters["allocations"] == counters["frees"]
    assert counters["bytes_allocated"] == counters["bytes_freed"]


@pytest.fixture(scope="session")
def proven(backend_id: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that finds in the store what its device has proven, where a test is about another
    thing: proofs take seconds. Compiled programs are not in the store, and do not come into it."""
    from vyre_driver_opencl.facts import DeviceFacts
    from vyre_driver_opencl.opened import open_device

    opened = open_device(backend_id)
    opened.show()
    folder = {"VYRE_CACHE_DIR": str(tmp_path_factory.mktemp("proven"))}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (folder | {"VYRE_CACHE": "rw"}).items():
            patch.setenv(name, value)
        DeviceFacts(backend_id, opened.device, opened.reported)._learn(lambda: opened.proven)
    return folder | {"VYRE_CACHE": "ro"}


@pytest.fixture(scope="session")
def agree(backend: VyreBackend) -> Agree:
    """Run a program on the backend and on the reference: equal bytes, or the same trap. Gives what they agree on."""
    from vyre_reference import ReferenceBackend

    reference = ReferenceBackend()

    def run(program: Program, inputs: Sequence[Any] = (), config: DispatchConfig = DEFAULT_CONFIG) -> Outcome:
        expected = outcome(reference, program, inputs, config)
        assert outcome(backend, program, inputs, config) == expected
        return expected

    return run
