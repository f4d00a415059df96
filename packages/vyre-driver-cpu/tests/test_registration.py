"""Announcing the backend imports no compiler; asking whether it can run opens nothing."""

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from vyre_driver import backend_for
from vyre_driver_cpu import NAMED, cpu, registration


def test_the_entry_point_names_the_registration() -> None:
    found = {entry.name: entry.load() for entry in entry_points(group="vyre.backends") if "_cpu" in entry.value}
    assert found == {"cpu": registration}


def test_listing_imports_no_compiler() -> None:
    script = (
        "import sys\n"
        "from vyre_driver.registry.backends import registered_backends\n"
        "assert 'cpu' in {r.id for r in registered_backends()}\n"
        "assert not {'llvmlite', 'vyre_driver_cpu.cpu'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_it_stands_between_gpus_and_other_cpus() -> None:
    assert registration.contract == 1
    assert 100 < registration.precedence < 200


def test_the_probe_says_on_what() -> None:
    availability = registration.probe()
    assert availability.is_available
    assert availability.reason == f"{cpu.host().model}, {cpu.COMPILER}"


def test_the_profile_says_how_wide_vectors_are() -> None:
    assert backend_for("cpu").device_profile().ideal_vector_pack_bits == cpu.host().vector_bits


def test_the_named_cpus_are_those_that_code_is_made_for() -> None:
    assert ("host", *cpu.NAMED) == NAMED


def test_a_wrong_number_of_threads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from vyre_driver.errors import BackendUnavailable
    from vyre_driver_cpu.backend import CpuBackend

    for wrong in ("0", "many", "-1", "4097"):
        monkeypatch.setenv("VYRE_CPU_THREADS", wrong)
        with pytest.raises(
            BackendUnavailable, match=f"VYRE_CPU_THREADS='{wrong}' is not a number of threads"
        ) as caught:
            CpuBackend().prepare()
        assert caught.value.fix == "set it to one of these, or unset it"


HARDENED = """
import ctypes, sys
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
if ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
    sys.exit("this kernel has no such protection")
from vyre_driver import backend_for
from vyre_driver.errors import BackendUnavailable
try:
    backend_for("cpu")
except BackendUnavailable as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it is a protection of Linux")
def test_a_process_that_may_not_make_code_is_told_so() -> None:
    done = subprocess.run([sys.executable, "-c", HARDENED], capture_output=True, text=True)
    if done.stderr.startswith("this kernel"):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert "this process may not make memory executable: Permission denied. Fix: allow it" in done.stdout
