"""Ahead of time: OpenCL C to read, and a binary that a later process runs without a compiler."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vyre_driver import emit_aot_target
from vyre_driver.errors import UnsupportedFeature
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse

PROGRAM = """\
program rounds workgroup(64, 1, 1) {
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  scratch room: u32[len(x)] @2;

  room[global_id.x] = x[global_id.x] * 3;
  for k in 0..len(x) / 500 {
    barrier grid;
    room[global_id.x] = room[global_id.x] + k;
  }
  barrier grid;
  out[global_id.x] = room[global_id.x] ^ 7;
}
"""
LATER = """
import json, sys
import numpy as np
import vyre_driver_opencl.compiler as compiler, vyre_driver_opencl.port as port
def refused(*arguments):
    raise AssertionError("the compiler was asked")
from vyre_driver.engine.artifact import load_ahead
from vyre_driver.pipeline.ahead import CompiledProgram
from vyre_driver_opencl.backend import OpenClBackend
made = CompiledProgram.from_bytes(open(sys.argv[2], "rb").read())
backend = OpenClBackend(sys.argv[1])
backend.prepare()
port.build = refused
load_ahead(backend, made)
for size in (1500, 3):
    x = np.arange(size, dtype=np.uint32)
    got = np.frombuffer(backend.dispatch(made.program, [x])[0], np.uint32)
    assert (got == (x * 3 + (3 if size == 1500 else 0)) ^ 7).all()
print(json.dumps(backend.backend_metric_snapshot()))
backend.shutdown()
"""


@pytest.fixture
def rounds() -> Program:
    return parse(PROGRAM)


def test_source_can_be_read(backend_id: str, rounds: Program) -> None:
    text = emit_aot_target(f"{backend_id}-c", rounds).decode()
    assert text.startswith("// 'rounds', fingerprint ")
    assert text.count("__kernel ") == text.count("// kernel ") == 3


def test_a_later_process_runs_the_binary_without_a_compiler(
    backend_id: str, rounds: Program, tmp_path: Path, proven: dict[str, str]
) -> None:
    """Kernels in loops of the host too, which no dispatch over little memory comes to."""
    file = tmp_path / "rounds.vyrec"
    try:
        file.write_bytes(emit_aot_target(f"{backend_id}-binary", rounds))
    except UnsupportedFeature as error:
        pytest.skip(str(error))
    command = [sys.executable, "-c", LATER, backend_id, str(file)]
    variables = {**os.environ, **proven, "POCL_KERNEL_CACHE": "0"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["compiles"] == 0
    assert said["loads"] >= 1
