"""The same tests on the Intel runtime, in a process of its own: a crash there must not end this one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vyre_driver_opencl import icd


def test_everything_passes_on_the_second_runtime_too() -> None:
    if icd.locate(icd.INTEL) is None:
        pytest.skip(f"the distribution {icd.INTEL.distribution!r} is not installed")
    if os.environ.get("VYRE_TEST_BACKEND"):
        pytest.skip("this is such a run")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    environment = os.environ | {"VYRE_TEST_BACKEND": "opencl-intel"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]


def test_both_runtimes_in_one_process() -> None:
    """Each finds its own devices and computes on them, whichever comes first."""
    if icd.locate(icd.INTEL) is None:
        pytest.skip(f"the distribution {icd.INTEL.distribution!r} is not installed")
    script = (
        "import sys, numpy as np\n"
        "from vyre_driver_opencl.backend import OpenClBackend\n"
        "from vyre_foundation.build import apply, program\n"
        "from vyre_foundation.dtype import i32\n"
        "with program('both', workgroup_size=8) as p:\n"
        "    a, b = p.read('a', i32), p.read('b', i32)\n"
        "    out = p.write('out', i32, like=a)\n"
        "    out[p.global_id(0)] = apply('div', a[p.global_id(0)], b[p.global_id(0)])\n"
        "given = [np.array([7, -7, 5, -2**31], np.int32), np.array([2, 2, 0, -1], np.int32)]\n"
        "for id in sys.argv[1:]:\n"
        "    backend = OpenClBackend(id)\n"
        "    (got,) = backend.dispatch(p.build(), given)\n"
        "    assert np.frombuffer(got, np.int32).tolist() == [3, -3, 5, -2**31]\n"
        "    print(backend.device_profile().compiler)\n"
    )
    for order in (["opencl", "opencl-intel"], ["opencl-intel", "opencl"]):
        environment = os.environ | {"VYRE_OPENCL_DEVICE": "pocl"}
        run = subprocess.run(
            [sys.executable, "-c", script, *order], env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stderr
        compilers = dict(zip(order, run.stdout.splitlines(), strict=True))
        assert "PoCL" in compilers["opencl"]
        assert "PoCL" not in compilers["opencl-intel"]
