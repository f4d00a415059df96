"""Every test here runs on the CPU backend of this machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.testing.agreement import Outcome, outcome
from vyre_driver_cpu.backend import CpuBackend
from vyre_driver_cpu.port import CpuPort
from vyre_foundation.ir.program import Program
from vyre_reference import ReferenceBackend

Agree = Callable[..., Outcome]


@pytest.fixture(scope="session")
def backend() -> Iterator[VyreBackend]:
    """The backend, open for the whole run. What it allocates it has freed in the end."""
    backend = CpuBackend()
    backend.prepare()
    yield backend
    backend.shutdown()
    counters = backend.backend_metric_snapshot()
    assert counters["allocations"] == counters["frees"]
    assert counters["bytes_allocated"] == counters["bytes_freed"]


@pytest.fixture(scope="session")
def agree(backend: VyreBackend) -> Agree:
    """Run a program on the backend and on the reference: equal bytes, or the same trap. Gives what they agree on."""
    return _agreement(backend)


class GatheringPort(CpuPort):
    """The CPU of this process, taken for one whose gathers are fast."""

    emitter_version = f"{CpuPort.emitter_version}, with gathers"

    def __init__(self) -> None:
        super().__init__()
        self._spellings = replace(self._spellings, gathers=True)


@pytest.fixture(scope="session")
def agree_gathering() -> Iterator[Agree]:
    """The same on a backend that gathers, wherever the tests run."""
    backend = EngineBackend("cpu", GatheringPort, version="of tests")
    yield _agreement(backend)
    backend.shutdown()


def _agreement(backend: VyreBackend) -> Agree:
    reference = ReferenceBackend()

    def run(program: Program, inputs: Sequence[Any] = (), config: DispatchConfig = DEFAULT_CONFIG) -> Outcome:
        expected = outcome(reference, program, inputs, config)
        assert outcome(backend, program, inputs, config) == expected
        return expected

    return run
