"""An open GPU: which one, what it reports, and its spelling table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vyre_driver.codegen.dialect import CDialect
from vyre_driver_cuda.api import BACKEND, cupy
from vyre_driver_cuda.devices import Candidate, chosen
from vyre_driver_cuda.dialect import dialect_of, without_grid_barriers
from vyre_driver_cuda.errors import translated
from vyre_driver_cuda.identity import device_identity


@dataclass(frozen=True, slots=True, eq=False)
class OpenedDevice:
    """A GPU that answers.

    `cupy` is the library that launches, `properties` what the runtime reports by its own names, `identity` what its
    code depends on, as in `DeviceProfile.identity`.
    """

    candidate: Candidate
    cupy: Any
    properties: Mapping[str, Any]
    identity: tuple[str, str, str, str, str]
    dialect: CDialect


def open_device(device: int | None = None) -> OpenedDevice:
    """The chosen GPU, or `BackendUnavailable` with the reason. Makes its context, which costs most of the time.

    `device` is its place among those that `candidates` lists.
    """
    candidate, api = chosen(device), cupy()
    runtime = api.cuda.runtime
    with translated(BACKEND):
        runtime.setDevice(candidate.id)
        runtime.memGetInfo()  # refuses where the context is broken
        number = runtime.driverGetVersion()
        properties = properties_of(runtime, candidate.id)
    driver = f"{number // 1000}.{number % 1000 // 10}"  # the version of CUDA that it speaks
    identity = device_identity(candidate.name, candidate.architecture, driver)
    dialect = dialect_of(candidate.architecture)
    if not properties["cooperativeLaunch"]:
        dialect = without_grid_barriers(dialect)
    return OpenedDevice(candidate, api, properties, identity, dialect)


def properties_of(runtime: Any, device: int) -> Mapping[str, Any]:
    """What the runtime reports of a GPU. The memory clock is an attribute: CUDA 13 removed it from the properties."""
    return {
        **runtime.getDeviceProperties(device),
        "memoryClockRate": runtime.deviceGetAttribute(runtime.cudaDevAttrMemoryClockRate, device),
        "memoryBusWidth": runtime.deviceGetAttribute(runtime.cudaDevAttrGlobalMemoryBusWidth, device),
    }
