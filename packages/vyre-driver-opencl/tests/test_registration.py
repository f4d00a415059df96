"""Announcing the backends opens nothing; asking whether they can run opens no device."""

import os
import subprocess
import sys

import pytest

from vyre_driver.backend.registration import BackendRegistration
from vyre_driver.errors import BackendUnavailable
from vyre_driver_opencl import about, registration, registration_gpu, registration_intel, vendors
from vyre_driver_opencl.devices import candidates


def test_the_entry_points_name_the_registrations() -> None:
    from importlib.metadata import entry_points

    found = {entry.name: entry.load() for entry in entry_points(group="vyre.backends") if "opencl" in entry.value}
    assert found == {"opencl": registration, "opencl-gpu": registration_gpu, "opencl-intel": registration_intel}


def test_listing_imports_no_device_library() -> None:
    script = (
        "import sys\n"
        "from vyre_driver.registry.backends import registered_backends\n"
        "ids = {r.id for r in registered_backends()}\n"
        "assert {'opencl', 'opencl-intel'} <= ids, ids\n"
        "assert not {'pyopencl', 'pytools', 'vyre_driver_opencl.api'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_port_imports_no_printer_before_something_is_compiled() -> None:
    script = (
        "import sys, vyre_driver_opencl.port\n"
        "modules = sys.modules.keys()\n"
        "assert not [name for name in modules if name.startswith('vyre_driver.codegen.c')], modules\n"
        "assert not [name for name in modules if name.startswith('vyre_driver.legalization.forms')], modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("announced", [registration, registration_gpu, registration_intel], ids=lambda r: r.id)
def test_registrations_are_complete(announced: BackendRegistration) -> None:
    assert announced.contract == 1
    assert announced.summary
    assert announced.precedence < 900


def test_a_gpu_comes_before_cpus_and_is_none_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """Only a runtime that may know a GPU is loaded for the answer."""
    assert registration_gpu.precedence < 150 < registration.precedence
    monkeypatch.setattr(vendors, "FOLDERS", (str(tmp_path),))
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    for name in ("pocl.icd", "intelocl64.icd"):
        (tmp_path / name).write_text("/usr/lib/libanything.so")
    monkeypatch.setattr(sys, "platform", "linux")
    assert not vendors.may_have_gpu()
    said = registration_gpu.probe()
    assert not said.is_available
    assert said.reason == "no GPU with an OpenCL runtime was found"
    (tmp_path / "nvidia.icd").write_text("libnvidia-opencl.so.1")
    assert vendors.may_have_gpu()


def test_a_cpu_is_no_candidate_of_the_backend_for_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendors, "may_have_gpu", lambda: True)
    monkeypatch.delenv("VYRE_OPENCL_DEVICE", raising=False)
    gpus = [candidate for candidate in candidates("opencl") if not about.is_cpu(candidate.device)]
    if gpus:
        assert candidates("opencl-gpu") == gpus
    else:
        with pytest.raises(BackendUnavailable, match="no GPU with an OpenCL runtime was found"):
            candidates("opencl-gpu")


def test_the_probe_says_on_what(backend_id: str) -> None:
    announced = {r.id: r for r in (registration, registration_intel)}[backend_id]
    availability = announced.probe()
    assert availability.is_available
    assert ":" in availability.reason


def test_a_backend_that_cannot_run_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from vyre_driver.registry.backends import availability

    monkeypatch.setenv("VYRE_OPENCL_DEVICE", "no such thing")
    said = availability("opencl")
    assert not said.is_available
    assert "matches no device" in said.reason
    assert said.fix


def test_nothing_is_left_behind(tmp_path) -> None:
    """A dispatch in a fresh process leaves no temporary file, and two caches: ours and PyOpenCL's."""
    script = (
        "import os, numpy as np\n"
        "from vyre_driver_opencl.backend import OpenClBackend\n"
        "from vyre_foundation.build import program\n"
        "from vyre_foundation.dtype import u32\n"
        "with program('one', workgroup_size=1) as p:\n"
        "    p.write('out', u32, 1)[0] = 1\n"
        "before = dict(os.environ)\n"
        f"backend = OpenClBackend({'opencl'!r})\n"
        "assert bytes(backend.dispatch(p.build(), [])[0]) == b'\\x01\\0\\0\\0'\n"
        "backend.shutdown()\n"
        "assert dict(os.environ) == before\n"
    )
    folders = {name: tmp_path / name for name in ("tmp", "cache")}
    for folder in folders.values():
        folder.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "TMPDIR": str(folders["tmp"]),
        "XDG_CACHE_HOME": str(folders["cache"]),
        "VYRE_OPENCL_DEVICE": "pocl",
        "POCL_CACHE_DIR": str(tmp_path / "pocl"),
    }
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    assert [*folders["tmp"].iterdir()] == []
    assert {path.name for path in folders["cache"].iterdir()} == {"vyre", "pytools"}  # PyOpenCL caches in `pytools`
    assert [path.name for path in (folders["cache"] / "vyre").iterdir()] == ["vyre-1.sqlite3"]
