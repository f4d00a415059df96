"""Backends that compute the programs of random graphs with NumPy, and moves of memory with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.results import Inputs, Outputs, borrowed_input_slices
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.resident import HostMemoryBackend
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.evaluate import dispatch_on_host
from vyre_driver.testing.graphs import compute


def evaluate(plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
    name = plan.program.name
    types = {buffer.name: buffer.dtype.numpy for buffer in plan.program.buffers}
    arrays: dict[str, Any] = {key: np.frombuffer(view, types[key]) for key, view in memory.items()}
    if name.startswith(("start_loop", "begin_loop")):
        arrays["go"][:] = 1, 0
        if "flag" in arrays:
            arrays["flag"][arrays["at"][0]] = 0
    elif name.startswith(("clear_unless", "take_flag")):
        if arrays["go"][0]:
            arrays["go"][1] += 1
            arrays["go"][0] = arrays["flag"][arrays["at"][0]] != 0
            if name.startswith("take_flag"):
                arrays["flag"][arrays["at"][0]] = 0
    elif "go" in arrays and not arrays["go"][0]:
        return
    elif name.startswith("copy"):
        source, at = arrays.get("source", arrays["target"]), arrays.get("at", [0, 0, arrays["target"].size])
        arrays["target"][at[1] : at[1] + at[2]] = source[at[0] : at[0] + at[2]]
    elif name.startswith("fill"):
        arrays["target"][arrays["at"][0] : sum(arrays["at"])] = arrays["value"][0]
    else:
        for key, words in compute(name, arrays).items():
            arrays[key][:] = words


class ArrayBackend(HostMemoryBackend, contract=1):
    """Resident memory on the host, and the defaults of the contract for everything else. `log` has its calls."""

    def __init__(self, id: str = "arrays", memory: int | None = None) -> None:
        self._id, self._memory = id, memory
        self.log: list[str] = []
        super().__init__()

    def id(self) -> str:
        return self._id

    def device_profile(self) -> DeviceProfile:
        most = (1024, 1024, 1024)
        return DeviceProfile(
            backend=self._id,
            max_workgroup_size=most,
            max_invocations_per_workgroup=1024,
            global_memory_bytes=self._memory,
        )

    def dispatch(self, program: Any, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        self.log.append("dispatch")
        return dispatch_on_host(program, borrowed_input_slices(inputs), config, evaluate)

    def dispatch_resident_repeated_sequence_read_ranges_into(self, *given: Any) -> None:
        self.log.append("sequence")
        super().dispatch_resident_repeated_sequence_read_ranges_into(*given)

    def upload_resident_many(self, uploads: Any) -> None:
        self.log.append("upload")
        super().upload_resident_many(uploads)

    def download_resident_ranges_into(self, ranges: Any, targets: Any) -> None:
        self.log.append("download")
        super().download_resident_ranges_into(ranges, targets)

    def allocate_resident(self, byte_len: int) -> Any:
        self.log.append("allocate")
        return super().allocate_resident(byte_len)


@pytest.fixture
def backend() -> ArrayBackend:
    return ArrayBackend()


@pytest.fixture
def make_backend() -> Callable[..., ArrayBackend]:
    return ArrayBackend
