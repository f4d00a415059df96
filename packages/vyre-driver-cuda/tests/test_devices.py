"""The choice among several GPUs, over what a driver would list."""

from types import SimpleNamespace
from typing import Any

import pytest

from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda import devices
from vyre_driver_cuda.devices import VARIABLE, candidates, chosen

GPUS = (("Aurora 100", 9), ("Borealis 5", 6), ("Aurora 80", 8))


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def properties(id: int) -> dict[str, Any]:
        name, major = GPUS[id]
        return {"name": name.encode(), "major": major, "minor": 0}

    runtime = SimpleNamespace(getDeviceCount=lambda: len(GPUS), getDeviceProperties=properties)
    monkeypatch.setattr(devices, "device_count", lambda: len(GPUS))
    monkeypatch.setattr(devices, "cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.delenv(VARIABLE, raising=False)


def test_a_gpu_is_chosen_by_index() -> None:
    assert [candidate.id for candidate in candidates()] == [0, 1, 2]
    assert (chosen().id, chosen(2).id) == (0, 2)
    with pytest.raises(BackendUnavailable, match="older than sm_"):
        chosen(1)
    with pytest.raises(BackendUnavailable, match=r"3 GPUs now, and none with the index 3.*Fix: list them again"):
        chosen(3)


def test_the_index_counts_what_the_variable_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "aurora")
    assert [candidate.id for candidate in candidates()] == [0, 2]
    assert chosen(1).id == 2
    monkeypatch.setenv(VARIABLE, "quantum")
    with pytest.raises(BackendUnavailable, match="matches no GPU"):
        chosen(0)
