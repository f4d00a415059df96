"""Announcing the backend imports nothing of NVIDIA's; where it cannot run it is unavailable, with a remedy."""

import subprocess
import sys

import pytest

from vyre_driver.errors import BackendUnavailable
from vyre_driver.registry.backends import acquire, availability
from vyre_driver.registry.known import INSTALL_HINTS
from vyre_driver_cuda import api, registration


def test_the_entry_point_names_the_registration() -> None:
    from importlib.metadata import entry_points

    (found,) = [entry for entry in entry_points(group="vyre.backends") if entry.name == "cuda"]
    assert found.load() is registration


def test_listing_imports_no_device_library() -> None:
    script = (
        "import sys\n"
        "from vyre_driver.registry.backends import registered_backends\n"
        "assert 'cuda' in {r.id for r in registered_backends()}\n"
        "assert not {'cuda.bindings', 'cupy', 'vyre_driver_cuda.api'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_port_imports_no_printer_before_something_is_compiled() -> None:
    script = (
        "import sys, vyre_driver_cuda.port\n"
        "modules = sys.modules.keys()\n"
        "assert not [name for name in modules if name.startswith('vyre_driver.codegen.c')], modules\n"
        "assert not [name for name in modules if name.startswith('vyre_driver.legalization.forms')], modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_registration_is_complete() -> None:
    assert registration.contract == 1
    assert registration.precedence < 200
    assert registration.summary
    assert "vyre-driver-cuda[cuda12]" in INSTALL_HINTS["cuda"]


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "DRIVER", "libcuda-that-nobody-has.so.1")


@pytest.mark.usefixtures("no_driver")
def test_without_a_driver_it_is_unavailable_with_a_reason_and_a_remedy() -> None:
    said = availability("cuda")
    assert not said.is_available
    assert "there is no NVIDIA driver: libcuda-that-nobody-has.so.1 cannot be loaded" in said.reason
    assert said.fix == api.NO_DRIVER
    with pytest.raises(BackendUnavailable, match="no NVIDIA driver"):
        acquire("cuda")


def test_with_a_gpu_and_no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "device_count", lambda: 2)
    monkeypatch.setattr(api, "find_spec", lambda name: None)
    said = availability("cuda")
    assert not said.is_available
    assert "CuPy, which launches, is not installed" in said.reason
    assert said.fix.startswith("pip install 'vyre-driver-cuda[cuda12]'")


def test_with_everything_it_says_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "device_count", lambda: 2)
    monkeypatch.setattr(api, "require_cupy", lambda: None)
    monkeypatch.setattr(api, "nvrtc_version", lambda: "12.9")
    assert availability("cuda").reason == "2 GPUs, NVRTC 12.9"
