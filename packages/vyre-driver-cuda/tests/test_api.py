"""What is missing is said with a reason and a remedy. This machine may have all of it, so tests take it away."""

import builtins
import ctypes
from typing import Any

import pytest

from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda import api


@pytest.fixture(autouse=True)
def fresh() -> None:
    api.nvrtc.cache_clear()
    api.cupy.cache_clear()


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "DRIVER", "libcuda-that-nobody-has.so.1")
    with pytest.raises(BackendUnavailable) as caught:
        api.device_count()
    assert "no NVIDIA driver: libcuda-that-nobody-has.so.1" in str(caught.value)
    assert "vyre compile --target cuda:sm_90" in caught.value.fix


class Driver:
    """A driver that answers so."""

    def __init__(self, status: int, count: int) -> None:
        self._status, self._count = status, count

    def cuInit(self, flags: int) -> int:
        return self._status

    def cuDeviceGetCount(self, found: Any) -> int:
        found._obj.value = self._count
        return 0


@pytest.mark.parametrize(
    ("status", "said"), [(0, "sees no GPU"), (100, r"sees no GPU \(status 100 of the CUDA driver\)")]
)
def test_a_driver_without_a_gpu(status: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver(status, 0))
    with pytest.raises(BackendUnavailable, match=said):
        api.device_count()


def test_the_driver_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver(0, 3))
    assert api.device_count() == 3


def test_without_the_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_cuda(name: str, *rest: Any) -> Any:
        if name.startswith("cuda"):
            raise ImportError("No module named 'cuda'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_cuda)
    with pytest.raises(BackendUnavailable, match="bindings of the compiler NVRTC are not installed") as caught:
        api.nvrtc()
    assert "pip install 'vyre-driver-cuda[cuda12]'" in caught.value.fix


def test_without_the_library_behind_the_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    bindings = pytest.importorskip("cuda.bindings.nvrtc")

    def missing() -> None:
        raise RuntimeError("Failed to dlopen libnvrtc.so.12\nsearched everywhere")

    monkeypatch.setattr(bindings, "nvrtcVersion", missing)
    with pytest.raises(BackendUnavailable, match=r"NVRTC cannot be loaded \(Failed to dlopen libnvrtc.so.12\)"):
        api.nvrtc()


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable, match="CuPy, which launches, is not installed"):
        api.cupy()
