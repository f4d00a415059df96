import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyopencl as cl
import pytest

from vyre_driver.errors import BackendUnavailable
from vyre_driver_opencl import devices, icd, opened
from vyre_driver_opencl.devices import VARIABLE, Candidate, candidates, fallbacks, matches, ranked, require_compiler


def fake(platform: str, version: str, name: str, kind: str, position: int = 0) -> Candidate:
    info = {cl.platform_info.NAME: platform, cl.platform_info.VENDOR: "somebody", cl.platform_info.VERSION: version}
    theirs = SimpleNamespace(name=platform, version=version, vendor="somebody", get_info=info.__getitem__)
    own = SimpleNamespace(name=name, type=devices.KINDS[kind], platform=theirs, version=version)
    return Candidate(own, position)  # type: ignore[arg-type]


POCL_3 = fake("Portable Computing Language", "OpenCL 3.0 PoCL 3.0-rc2", "pthread-EPYC", "cpu")
POCL_OLD = fake("Portable Computing Language", "OpenCL 3.0 PoCL HSTR: pthread-x86_64-generic", "pthread", "cpu")
POCL_7 = fake("Portable Computing Language", "OpenCL 3.0 PoCL 7.1", "cpu-EPYC", "cpu")
OTHER = fake("Acme OpenCL", "OpenCL 2.0", "Acme CPU", "cpu")
GPU = fake("Acme OpenCL", "OpenCL 3.0", "Rocket 9000", "gpu", 1)


def test_a_gpu_comes_first_then_the_newest_pocl() -> None:
    assert ranked([OTHER, POCL_3, GPU, POCL_7]) == [GPU, POCL_7, POCL_3, OTHER]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("pocl", [POCL_3, POCL_7]),
        ("pocl 7", [POCL_7]),
        ("acme", [OTHER, GPU]),
        ("ACME:gpu", [GPU]),
        (":gpu", [GPU]),
        (":1", [GPU]),
        ("acme:0", [OTHER]),
        (":rocket", [GPU]),
        ("acme : rocket", [GPU]),
        ("nobody", []),
    ],
)
def test_what_the_variable_names(wanted: str, found: list[Candidate]) -> None:
    assert [c for c in (POCL_3, POCL_7, OTHER, GPU) if matches(c, wanted)] == found


def test_a_choice_that_nothing_matches_lists_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "quantum:7")
    monkeypatch.setattr(icd, "locate", lambda runtime: None)
    with pytest.raises(BackendUnavailable) as caught:
        candidates("opencl")
    text = str(caught.value)
    assert "VYRE_OPENCL_DEVICE='quantum:7' matches no device" in text
    assert str(caught.value).endswith("Fix: name one of them, or unset it")


def test_nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(icd, "locate", lambda runtime: None)
    monkeypatch.setattr(icd, "listed", lambda only=None: [])
    with pytest.raises(BackendUnavailable, match=r"no OpenCL runtime with a device was found.*Fix: pip install"):
        candidates("opencl")
    with pytest.raises(BackendUnavailable, match=r"'intel-opencl-rt' is not installed.*Fix: pip install"):
        candidates("opencl-intel")


def test_pocl_without_a_linker_is_refused_before_it_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BackendUnavailable, match=r"needs a linker.*Fix: install binutils"):
        require_compiler("opencl", POCL_3)
    require_compiler("opencl", GPU)
    require_compiler("opencl", OTHER)


def test_pocl_that_does_not_know_the_cpu_is_refused() -> None:
    with pytest.raises(BackendUnavailable, match=r"does not know this CPU.*Fix: use the backend 'cpu'"):
        require_compiler("opencl", POCL_OLD)


def test_where_no_candidate_can_be_used_the_second_runtime_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """`VYRE_OPENCL_DEVICE` and the other backends are left with what they name."""
    monkeypatch.setattr(icd, "locate", lambda runtime: Path("libintelocl.so"))
    monkeypatch.setattr(devices, "_intel", lambda backend: [OTHER])
    monkeypatch.delenv(VARIABLE, raising=False)
    assert fallbacks("opencl") == [OTHER]
    assert fallbacks("opencl-gpu") == fallbacks("opencl-intel") == []
    monkeypatch.setenv(VARIABLE, "pocl")
    assert fallbacks("opencl") == []
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(icd, "locate", lambda runtime: None)
    assert fallbacks("opencl") == []


def test_a_device_that_cannot_compile_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(backend: str, candidate: Candidate) -> None:
        raise BackendUnavailable(backend, "it compiles nothing", fix="install another")

    monkeypatch.setattr(opened, "require_compiler", refuse)
    monkeypatch.setattr(devices, "fallbacks", lambda backend: [])
    with pytest.raises(BackendUnavailable, match=r"no device can be used \(.*it compiles nothing.*Fix: install anoth"):
        opened.open_device("opencl")


def test_pocl_without_a_folder_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(icd, "listed", lambda only=None: [])
    monkeypatch.setattr(icd, "attach", lambda runtime, library: [])
    with pytest.raises(BackendUnavailable, match=r"cannot write its folder.*Fix: set POCL_CACHE_DIR"):
        candidates("opencl")


def test_every_device_comes_once() -> None:
    found = candidates("opencl")
    assert len({c.device.int_ptr for c in found}) == len(found) >= 1


def test_a_platform_without_devices_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    class Empty:
        int_ptr = 1

        def get_devices(self) -> list[cl.Device]:
            raise cl.RuntimeError(
                SimpleNamespace(code=lambda: -1, routine=lambda: "clGetDeviceIDs", what=lambda: "none")
            )

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(icd, "locate", lambda runtime: None)
    monkeypatch.setattr(icd, "listed", lambda only=None: [Empty()])
    with pytest.raises(BackendUnavailable, match="no OpenCL runtime with a device"):
        candidates("opencl")


def test_devices_of_the_same_kind_are_opened_apart() -> None:
    """`POCL_DEVICES` counts when a process first asks, so this takes another one."""
    script = (
        "import numpy as np\n"
        "from vyre_driver import StaleHandle, acquire\n"
        "from vyre_driver.registry.backends import device_names\n"
        "from vyre_foundation import program, u32\n"
        "with program('triple', workgroup_size=8) as p:\n"
        "    x = p.read('x', u32)\n"
        "    y = p.write('y', u32, like=x)\n"
        "    y[p.global_id(0)] = x[p.global_id(0)] * 3\n"
        "assert len(device_names('opencl')) == 2\n"
        "both = [acquire('opencl', n) for n in (0, 1)]\n"
        "x = np.arange(1000, dtype=np.uint32)\n"
        "pending = [one.dispatch_async(p.build(), [x + n]) for n, one in enumerate(both)]\n"
        "for n, one in enumerate(pending):\n"
        "    assert np.frombuffer(one.await_result()[0], np.uint32).tolist() == ((x + n) * 3).tolist()\n"
        "profiles = [one._session.device.port.probe() for one in both]\n"  # of now: with nothing more proven
        "queues = [[queue.name for queue in one.queues] for one in profiles]\n"
        "assert queues == [['basic', 'pthread'], ['pthread']]\n"
        "handle = both[0].allocate_resident(4)\n"
        "try:\n"
        "    both[1].download_resident(handle)\n"
        "except StaleHandle:\n"
        "    print('apart')\n"
    )
    environment = os.environ | {"POCL_DEVICES": "basic pthread pthread", VARIABLE: "pocl"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "apart\n"), done.stderr


def test_a_device_that_has_gone_is_not_replaced() -> None:
    with pytest.raises(BackendUnavailable, match=r"none with the index 99.*Fix: list them again"):
        opened.open_device("opencl", 99)
