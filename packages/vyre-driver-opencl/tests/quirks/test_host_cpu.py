import pyopencl as cl
import pytest

from vyre_driver_opencl.compiler import build
from vyre_driver_opencl.devices import candidates
from vyre_driver_opencl.quirks.compiler_options import withholding
from vyre_driver_opencl.quirks.host_cpu import NAMES, UNKNOWN, fitting_name, name_host_cpu

FULL = "avx2 bmi1 bmi2 fma f16c movbe abm adx sse4a sse2"


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (FULL, "znver3"),
        (FULL + " avx512f avx512cd", "knl"),
        (FULL.replace("sse4a", ""), "haswell"),
        ("sse2 avx", "x86-64"),
        ("fp asimd", None),
    ],
)
def test_the_best_name_whose_instructions_the_cpu_has(flags: str, name: str | None) -> None:
    assert fitting_name(f"processor\t: 0\nflags\t\t: fpu {flags}\nbugs\t\t: none\n") == name


def test_no_description_gives_no_name() -> None:
    assert fitting_name("") is None


def test_names_fit_over_the_text_that_they_replace() -> None:
    assert all(len(name) < len(UNKNOWN) for name, _ in NAMES)


def test_a_device_that_knows_its_cpu_is_left_alone(backend_id: str) -> None:
    device = candidates(backend_id)[0].device
    name_host_cpu(device)
    assert name_host_cpu(device) is None


def test_a_device_compiles_afterwards(backend_id: str) -> None:
    device = candidates(backend_id)[0].device
    name_host_cpu(device)
    with withholding(device):
        context = cl.Context([device])
    build(context, device, "__kernel void nothing(void) {}")
