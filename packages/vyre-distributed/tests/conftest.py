"""One cluster for all tests: two workers of one thread, processes of their own."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from distributed import Client, LocalCluster

from vyre_distributed import DaskBackend
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.testing.agreement import Outcome, outcome
from vyre_foundation.ir.program import Program
from vyre_reference import ReferenceBackend

sys.path.insert(0, str(Path(__file__).parent))

Agree = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def functions_as_code(request: pytest.FixtureRequest) -> Iterator[None]:
    """Functions of a test module go to workers as code: pytest gives the module a name that they cannot import."""
    cloudpickle.register_pickle_by_value(request.module)
    yield
    cloudpickle.unregister_pickle_by_value(request.module)


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    """Not Dask's default client: tests that do not ask for it behave the same before and after those that do."""
    environment = {"VYRE_CPU_THREADS": "1"}
    options: dict[str, Any] = {"dashboard_address": ":0", "env": environment, "silence_logs": False}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def backend(client: Client) -> Iterator[DaskBackend]:
    backend = DaskBackend(client)
    yield backend
    backend.shutdown()


@pytest.fixture(scope="session")
def agree(backend: DaskBackend) -> Agree:
    """Run a program on the cluster and on the reference: equal bytes, or the same trap. Gives what they agree on."""
    reference = ReferenceBackend()

    def run(program: Program, inputs: Sequence[Any] = (), config: DispatchConfig = DEFAULT_CONFIG) -> Outcome:
        expected = outcome(reference, program, inputs, config)
        assert outcome(backend, program, inputs, config) == expected
        return expected

    return run
