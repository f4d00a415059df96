"""Valid programs that are large, deep or strange: right bytes or a typed error in time, and the process lives.

Cases are in `large_programs.py`. A child runs them with a limit of memory, and prints the name of a case before it
runs, so a child that dies or hangs names what it died of. What a compiler may take minutes for gets a short timeout:
then the error of the timeout is as good as the result. Longer timeouts, and more of such cases: ``--attack-scale``.
"""

import random
import re
import subprocess
from ast import literal_eval
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from large_programs import CASES

from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.errors import BackendUnavailable
from vyre_driver.plan.limits import exceeded_geometry
from vyre_driver_cuda.api import nvrtc
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import compile_unit
from vyre_driver_cuda.dialect import dialect_of, without_grid_barriers
from vyre_driver_cuda.emit import emit

CHILD = f"""
import sys
from ast import literal_eval
sys.path.insert(0, {str(Path(__file__).parent)!r})
from large_programs import main
main(sys.argv[1], float(sys.argv[2]), literal_eval(sys.argv[3]))
"""
MEGABYTES = 8192
"""Of address space: threads of a compiler reserve more than they use."""

REFUSED = {
    "bound buffers: 65": "V013 .* 65 buffers with a binding, expected at most 64",
    "bound buffers: 5000": "V013 .* 5000 buffers with a binding, expected at most 64",
    "constant table too large": "V012 .* 4194305 bytes, expected at most 4194304 of constant memory",
    "nested too deep": "V014 .* inside of more than 64 others",
    "memory too large: workgroup": "V012 .* 34359738360 bytes, expected at most 32768 of workgroup memory",
    "memory too large: private": "V012 .* 34359738360 bytes, expected at most 16384 of private memory",
    "memory too large: uniform": "V012 .* 34359738360 bytes, expected at most 65536 of uniform memory",
    "memory too large: scratch": "34359738360 bytes",
    "memory too large: write": "34359738360 bytes",
    f"grid: ({2**32}, 1, 1)": "grid_override: got .* expected three integers in 0 … 4294967295",
    "grid from a buffer: (4294967295, 1, 1)": "grid: got 4294967295 workgroups of 64 on x, expected at most 4294967296",
    "grid from a buffer: (1, 4294967295, 2)": "grid: got 549755813760, expected at most 4294967296 invocations",
    "grid from a buffer: (65536, 65536, 65536)": "grid: got 18014398509481984, expected at most 4294967296 invocations",
    "length rule: (9223372036854775808, 1, 0)": "'out': got 590295810358705651712 elements",
    "length rule: (1, 1, 4294967295)": "'out': got 4294967359 elements, expected at most 4294967295",
    "length rule: (1, 1, -65)": "'out': got -1 elements by the rule of its length, expected a longer 'x'",
    "name too long: 1025": "V015 .* 1025 bytes, expected at most 1024",
    "name of a buffer: ": "the name is empty",
    **{name: "V003 .* expected ASCII letters" for name in CASES if re.match("name of a buffer: .", name)},
}
"""What is refused on every backend, with the numbers."""

REMEDIED = {
    "bound buffers: 65": "bound buffers: 64",
    "constant table too large": "constant table: u64",
    "nested too deep": "nested: if",
    "memory too large: workgroup": "memory of a workgroup: workgroup",
    "memory too large: private": "memory of a workgroup: private",
    "length rule: (1, 1, -65)": "length rule: (1, 1, -64)",
    "name too long: 1025": "long names",
    f"grid: ({2**32}, 1, 1)": f"grid: ({2**22}, 1, 1)",
    "grid from a buffer: (1, 4294967295, 2)": "grid from a buffer: (0, 4294967295, 4294967295)",
}
"""Cases that do what the error of another says. Most are as large as may be."""

ENDLESS = [name for name in CASES if re.match(r"grid: .*(2147483648|32768|2048)|loop of", name)]
"""Work that a backend may give up at its timeout. PoCL refuses the last grid, whose number of workgroups wraps."""

LARGE = [
    name
    for name in CASES
    if re.search(r"1000 |200 |: (200|1000|2000|2500|5000|10000|100000)$|table: (u8|f16)", name)
    and name not in REFUSED
    and not re.match(r"(locals|ifs).*: 200$", name)
]
"""What PoCL may compile for minutes: cases of their own, of which some are drawn."""

QUICK = [name for name in CASES if name not in LARGE and name not in ENDLESS]


def outcomes(bounded: Any, backend: str, names: Sequence[str], seconds: float, limit: float) -> dict[str, str]:
    """By case what came of it. A child that dies, or does not end within `limit` seconds, fails with its last case."""
    try:
        done = bounded(CHILD, backend, str(seconds), repr(names), seconds=limit, megabytes=MEGABYTES)
    except subprocess.TimeoutExpired as expired:
        pytest.fail(f"no end within {limit} s: {(expired.stdout or b'')[-200:]!r}")
    assert done.returncode == 0, f"{done.stdout[-200:]} {done.stderr[-2000:]}"
    pairs = [line.split("\t") for line in done.stdout.splitlines()]
    return {literal_eval(name): literal_eval(text) for name, text in pairs}


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("backend", ["reference", "cpu", "opencl"])
def test_right_or_refused(bounded: Callable[..., subprocess.CompletedProcess[str]], backend: str, part: int) -> None:
    names = QUICK[part::4]
    found = outcomes(bounded, backend, names, 60.0, 300.0)
    assert list(found) == names
    for name, text in found.items():
        if name in REFUSED:
            assert re.search(REFUSED[name], text), (name, text)
            assert re.search(r"Fix: \S", text), (name, text)
        else:
            assert text == "right", (name, text)


@pytest.mark.parametrize("backend", ["reference", "cpu", "opencl"])
def test_right_or_given_up_in_time(
    attacks: Any, bounded: Callable[..., subprocess.CompletedProcess[str]], backend: str
) -> None:
    """A child for each, because a compiler that is left behind goes on. All of them, for minutes: scale 20."""
    seconds = 3.0 * max(1.0, attacks.scale)
    drawn = random.Random(f"{attacks.seed} {backend}").sample(LARGE, min(len(LARGE), attacks.count(3)))
    for names in (ENDLESS[:: 1 if attacks.scale > 1 else 4], *([name] for name in drawn)):
        for name, text in outcomes(bounded, backend, names, seconds, 60.0 + 10 * seconds).items():
            assert text == "right" or re.search(r"timeout of .* s passed|at most \d+ workgroups", text), (name, text)
            assert text == "right" or re.search(r"Fix: \S", text), (name, text)


def test_each_remedy_is_a_case_that_is_right() -> None:
    assert REMEDIED.keys() <= REFUSED.keys()
    assert {*REMEDIED.values()} <= {*QUICK} - REFUSED.keys()


# ── a GPU that is not here ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["bound buffers: 64", "outputs: 63", "constant table: u64", "constants: 100", "memory of a workgroup: workgroup",
     "memory of a workgroup: private", "arrays: 100 workgroup", "names of buffers", "names of locals", "long names",
     "text: all", "nested: range", "loop bounds: i64", "indices: u64"],
)  # fmt: skip
def test_becomes_code_of_a_gpu(name: str) -> None:
    """Within the compiler's limits of parameters, constants and memory of a block, whatever the architecture is."""
    try:
        nvrtc()
    except BackendUnavailable as error:
        pytest.skip(str(error))
    architecture = Architecture.parse("sm_80")
    dialect = without_grid_barriers(dialect_of(architecture))
    unit = emit(lowered_for(dialect.target(), CASES[name]().program.validate()), dialect)
    assert compile_unit(unit, architecture).cubin.startswith(b"\x7fELF")


@pytest.mark.parametrize(("grid", "axis"), [((1, 65536, 1), "y"), ((1, 1, 65536), "z"), ((2**31, 1, 1), "x")])
def test_grids_that_a_gpu_does_not_take_are_refused(grid: tuple[int, int, int], axis: str) -> None:
    profile = DeviceProfile(
        backend="cuda",
        max_workgroup_size=(1024, 1024, 64),
        max_invocations_per_workgroup=1024,
        max_workgroups=(2**31 - 1, 65535, 65535),
    )
    program = CASES["no buffers"]().program
    most = {"x": 2**31 - 1}.get(axis, 65535)
    said = f"{max(grid)} workgroups on {axis} (at most {most})"
    assert list(exceeded_geometry(program, grid, profile)) == [said]
