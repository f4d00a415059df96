"""Emitted CUDA C++, executed by the emulation, against the evaluators. `tox -e conform-cuda-emulation` runs it all."""

from collections.abc import Iterator

import pytest
from cuda_emulation import VARIABLE, registration
from cuda_emulation.port import EmulatedPort

from vyre_conform.case import Spec
from vyre_conform.testing import cells, require
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.registry.backends import registered_backends
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.dialect import without_grid_barriers


@pytest.fixture(scope="module")
def backend() -> Iterator[VyreBackend]:
    yield from opened("sm_90")


@pytest.fixture(scope="module")
def older() -> Iterator[VyreBackend]:
    """Without the words that came later."""
    yield from opened("sm_75")


def opened(architecture: str) -> Iterator[VyreBackend]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, architecture)
        backend = registration.factory()
    yield backend
    backend.shutdown()


SPECS = [
    *cells("subgroups", "barriers", "programs:histogram", "programs:scan:*"),
    *cells("guards", "iterations", "launches", "loops", "names", "places", "sessions"),
    *cells("fuzz", fuzz=12, seed=6),
]


@pytest.mark.parametrize(
    "spec",
    [pytest.param(spec, marks=pytest.mark.slow if n % 4 else ()) for n, spec in enumerate(SPECS)],
    ids=str,
)
def test_conforms(spec: Spec, backend: VyreBackend) -> None:
    require(backend, spec)


@pytest.mark.parametrize("spec", cells("grid"), ids=str)
@pytest.mark.parametrize("inside", [True, False])
def test_barriers_of_the_grid_conform(spec: Spec, inside: bool) -> None:
    """Inside of a launch, and between launches, which larger grids have."""

    def open_port() -> EmulatedPort:
        port = EmulatedPort(Architecture(9, 0))
        if not inside:
            port._dialect = without_grid_barriers(port._dialect)
        return port

    backend = EngineBackend("cuda-emulation", open_port)
    require(backend, spec)
    backend.shutdown()


# What is spelled otherwise depends on the type; groups of less than 32 lanes are alike.
@pytest.mark.parametrize("spec", cells("subgroups:all_ops:size=32,*", "subgroups:all_ops:size=4,*"), ids=str)
def test_conforms_without_the_words_of_newer_gpus(spec: Spec, older: VyreBackend) -> None:
    require(older, spec)


def test_nothing_registers_it() -> None:
    assert registration.id not in {one.id for one in registered_backends()}
    assert "emulation" in registration.id
