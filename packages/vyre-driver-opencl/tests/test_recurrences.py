"""Loops that depend on themselves through memory, and the option that keeps Intel's compiler from wrong vectors."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver_opencl import icd
from vyre_driver_opencl.quirks.compiler_options import VARIABLE
from vyre_foundation.build import constant, program
from vyre_foundation.dtype import DType, f32, f64, i64, u8, u32
from vyre_foundation.testing import accumulation, addressing, recurrence

ROW, COUNT = 64, 40

NEEDS_INTEL = pytest.mark.skipif(icd.locate(icd.INTEL) is None, reason="the extra 'intel' is not installed")

RAW = """
import sys
import numpy as np
import pyopencl as cl
from vyre_driver_opencl.devices import candidates
from vyre_driver_opencl.proof.bench import ProbeDevice
from vyre_driver_opencl.proof.recurrences import computes_recurrences

device = candidates("opencl-intel")[0].device
context = cl.Context([device])
bench = ProbeDevice(context, cl.CommandQueue(context, device), "", ("-cl-std=CL1.2",))
"""
"""A process that makes a context of the runtime before vyre does."""

DISPATCH = """
from vyre_driver.errors import BackendUnavailable
from vyre_driver_opencl.backend import OpenClBackend
from vyre_foundation.build import constant, program
from vyre_foundation.dtype import u32

with program("after", 1) as p:
    x = p.read_write("x", u32, 64)
    with p.range(2, x[0]) as t:
        x[t] = x[t - 2] + 1
try:
    (got,) = OpenClBackend("opencl-intel").dispatch(p.build(), [np.full(64, 64, np.uint32)])
    print(np.frombuffer(got, np.uint32)[-1])
except BackendUnavailable as error:
    print(error)
"""


def in_a_process(script: str, **environment: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"VYRE_CACHE": "off"} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def seeds(few: int, many: int) -> list[object]:
    """`few` by default, the others of `many` with the slow tests."""
    return [*range(few), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(few, many))]


@pytest.mark.parametrize(
    ("dtype", "distance"),
    [*((u32, distance) for distance in (1, 2, 3, 4, 8)), (u8, 1), (u8, 8), (i64, 2), (f32, 1), (f32, 4)],
    ids=str,
)
def test_a_row_of_each_invocation(agree: Any, dtype: DType, distance: int) -> None:
    with program("row", 16) as p:
        ends, x = p.read("ends", u32, COUNT), p.read_write("x", dtype, COUNT * ROW)
        i = p.let(p.global_id(0))
        with p.range(distance, ends[i]) as t:
            x[i * ROW + t] = x[i * ROW + t - distance] + 1
    stops = (np.arange(COUNT) % 55 + 9).astype(np.uint32)
    agree(p.build(), [stops, np.zeros(COUNT * ROW, dtype.numpy)])


@pytest.mark.parametrize("seed", seeds(3, 24))
def test_a_random_recurrence(agree: Any, seed: int) -> None:
    made = recurrence(seed)
    inputs = [made.inputs[buffer.name] for buffer in made.program.inputs]
    agree(made.program, inputs, DispatchConfig(grid_override=made.grid))


@pytest.mark.parametrize("seed", seeds(6, 40))
def test_a_random_accumulation(agree: Any, seed: int) -> None:
    made = accumulation(seed)
    inputs = [made.inputs[buffer.name] for buffer in made.program.inputs]
    agree(made.program, inputs, DispatchConfig(grid_override=made.grid))


@pytest.mark.parametrize("seed", seeds(6, 24))
def test_random_addresses(agree: Any, seed: int) -> None:
    made = addressing(seed)
    inputs = [made.inputs[buffer.name] for buffer in made.program.inputs]
    agree(made.program, inputs, DispatchConfig(grid_override=made.grid))


@NEEDS_INTEL
def test_the_flaw_is_still_there() -> None:
    """Where this fails, the compiler is right by itself: the option in `withheld.QUIRKS` has done its work."""
    assert in_a_process(f"{RAW}print(computes_recurrences(bench))") == "False"
    option = {VARIABLE: "-force-vector-interleave=4096"}
    assert in_a_process(f"{RAW}print(computes_recurrences(bench))", **option) == "True"


@NEEDS_INTEL
def test_a_compiler_that_has_not_read_the_option_is_refused() -> None:
    said = in_a_process(RAW + DISPATCH)
    assert said.startswith("backend 'opencl-intel' is not available: its compiler makes wrong code of loops")
    assert "Fix: open the backend before anything else makes a context of" in said
    assert "CL_CONFIG_LLVM_OPTIONS='-disable-x86-scalar-to-vector -force-vector-interleave=4096'" in said


@NEEDS_INTEL
@pytest.mark.parametrize(
    "fix",
    [
        {"VYRE_COMPILE_GUARD": "always"},
        {VARIABLE: "-disable-x86-scalar-to-vector -force-vector-interleave=4096"},
    ],
    ids=lambda fix: next(iter(fix)),
)
def test_what_the_refusal_advises_helps(fix: dict[str, str]) -> None:
    assert in_a_process(RAW + DISPATCH, **fix) == "95"


@pytest.mark.parametrize(
    ("dtype", "bound", "home"),
    [
        *((f32, bound, home) for bound in ("own", "uniform", "literal") for home in ("local", "private", "storage")),
        (f64, "own", "local"),
        (f64, "uniform", "private"),
        (f64, "literal", "storage"),
    ],
    ids=str,
)
def test_the_order_of_a_sum_of_floats(agree: Any, dtype: DType, bound: str, home: str) -> None:
    """A sum that is made in parts has other bits. Compilers may not reassociate it."""
    row = 100
    with program("sums", 16) as p:
        ends, x = p.read("ends", u32, COUNT), p.read("x", dtype, COUNT * row)
        out = p.read_write("out", dtype, COUNT)
        i = p.let(p.global_id(0))
        end = p.let({"own": ends[i], "uniform": ends[0]}.get(bound, constant(u32, row)))
        if home == "local":
            total = p.var(out[i])
            with p.range(0, end) as t:
                total.set(total + x[i * row + t])
            out[i] = total
        elif home == "private":
            own = p.private("own", dtype, 2)
            with p.range(0, end) as t:
                own[i & 1] = own[i & 1] + x[i * row + t]
            out[i] = own[i & 1]
        else:
            with p.range(0, end) as t:
                out[i] = out[i] + x[i * row + t]
    random = np.random.default_rng(17)
    stops = random.integers(20, row, COUNT).astype(np.uint32)
    values = random.random(COUNT * row).astype(dtype.numpy)
    agree(p.build(), [stops, values, values[:COUNT]])
