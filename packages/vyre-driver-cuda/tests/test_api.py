"""What is missing is said with a reason and a remedy. This machine may have all of it, so tests take it away."""

import builtins
import sys
from typing import Any

import pytest

from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda import api


@pytest.fixture(autouse=True)
def fresh() -> None:
    api.nvrtc.cache_clear()
    api.cupy.cache_clear()


def test_without_a_driver() -> None:
    with pytest.raises(BackendUnavailable) as caught:
        api.device_count("libcuda-that-nobody-has.so.1")
    assert "no NVIDIA driver: libcuda-that-nobody-has.so.1" in str(caught.value)
    assert "vyre compile --target cuda:sm_90" in caught.value.fix


@pytest.mark.skipif(sys.platform != "linux", reason="the C library stands in for a driver")
def test_a_library_that_is_no_driver() -> None:
    with pytest.raises(AttributeError, match="cuInit"):
        api.device_count("libc.so.6")


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
    with pytest.raises(BackendUnavailable, match=r"NVRTC can not be loaded \(Failed to dlopen libnvrtc.so.12\)"):
        api.nvrtc()


def test_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable, match="CuPy, which launches, is not installed"):
        api.cupy()
