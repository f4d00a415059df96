"""Code ahead of time: for GPUs that are not here, by the targets of the registration."""

import pytest

from vyre_driver import emit_aot_target, registered_aot_emitters
from vyre_driver.errors import BackendUnavailable, BadArtifact
from vyre_driver.pipeline.ahead import CompiledProgram
from vyre_driver_cuda import NAMED, registration
from vyre_driver_cuda.api import nvrtc
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.binary import Cubin
from vyre_foundation.ir.program import Program
from vyre_foundation.text import parse

PROGRAM = """\
program rounds workgroup(64, 1, 1) {
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  scratch room: u32[len(x)] @2;

  room[global_id.x] = x[global_id.x] * 3;
  barrier grid;
  out[global_id.x] = room[global_id.x] ^ room[0];
}
"""


@pytest.fixture
def rounds() -> Program:
    return parse(PROGRAM)


@pytest.fixture
def compiler() -> None:
    try:
        nvrtc()
    except BackendUnavailable as error:
        pytest.skip(str(error))


def test_the_targets_are_registered() -> None:
    ours = {emitter.target for emitter in registration.aot}
    assert ours == {"cuda-c", *(f"{kind}:{name}" for kind in ("cuda", "cuda-ptx", "cuda-cubin") for name in NAMED)}
    assert ours <= {emitter.target for emitter in registered_aot_emitters()}


def test_source_can_be_read_without_a_compiler(rounds: Program) -> None:
    text = emit_aot_target("cuda-c", rounds).decode()
    assert text.startswith("// 'rounds', fingerprint ")
    assert "// options: --std=c++17 --fmad=false" in text
    assert text.count("__global__") == text.count("// kernel ") == 2


@pytest.mark.usefixtures("compiler")
def test_a_compiled_program_fits_every_gpu_of_its_architecture(rounds: Program) -> None:
    made = CompiledProgram.from_bytes(emit_aot_target("cuda:sm_90", rounds))
    made.require_device(("cuda", "NVIDIA H100", "NVIDIA", "13.0", "NVRTC 13.0 sm_90"))
    with pytest.raises(BadArtifact, match="backend 'opencl'"):
        made.require_device(("opencl", "NVIDIA H100", "NVIDIA", "13.0", ""))
    ((queue, artifact),) = made.codes
    cubin = Cubin.from_bytes(artifact.binary)
    assert queue == ""
    assert made.program == rounds
    assert cubin.architecture == Architecture(9, 0)
    assert cubin.kernels == tuple(entry.name for entry in artifact.executable.entries)
    assert len(cubin.kernels) == 2


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("name", NAMED)
def test_what_other_tools_take(name: str, rounds: Program) -> None:
    assert f".target {name}\n" in emit_aot_target(f"cuda-ptx:{name}", rounds).decode()
    assert emit_aot_target(f"cuda-cubin:{name}", rounds).startswith(b"\x7fELF")
