"""Code ahead of time: for CPUs that are not here, by the targets of the registration."""

import re

import numpy as np
import pytest

from vyre_driver import emit_aot_target, registered_aot_emitters
from vyre_driver.engine.artifact import load_ahead
from vyre_driver.errors import BadArtifact, KernelCompileFailed
from vyre_driver.pipeline.ahead import CompiledProgram
from vyre_driver_cpu import NAMED, binary, registration
from vyre_driver_cpu.backend import CpuBackend
from vyre_driver_cpu.cpu import Cpu, host, named
from vyre_driver_cpu.port import CpuPort
from vyre_foundation import constant, program, select
from vyre_foundation.build import apply
from vyre_foundation.dtype import f16, f32, u32
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


def test_the_targets_are_registered() -> None:
    ours = {emitter.target for emitter in registration.aot}
    assert ours == {"cpu-ir", *(f"{kind}:{name}" for kind in ("cpu", "cpu-asm") for name in NAMED)}
    assert ours <= {emitter.target for emitter in registered_aot_emitters()}


def test_source_can_be_read(rounds: Program) -> None:
    text = emit_aot_target("cpu-ir", rounds).decode()
    assert text.startswith("; 'rounds', fingerprint ")
    assert text.count("_whole(ptr %launch)") == text.count("; kernel ") == 2


# fmt: off
WITNESSES = {
    "x86-64":            (b"\x7fELF", "pxor"),
    "x86-64-v2":         (b"\x7fELF", "pxor"),
    "x86-64-v3":         (b"\x7fELF", "vpxor"),
    "x86-64-v4":         (b"\x7fELF", "vpxor"),
    "armv8":             (b"\x7fELF", "eor\tv"),
    "apple-m1":          (b"\xcf\xfa\xed\xfe", "eor.16b"),
    "windows-x86-64":    (b"\x7fELF", "pxor"),
    "windows-x86-64-v3": (b"\x7fELF", "vpxor"),
}
# fmt: on


@pytest.mark.parametrize("name", WITNESSES)
def test_code_for_a_cpu_that_need_not_be_here(name: str, rounds: Program) -> None:
    """The file format of its system, and a vector instruction of its own."""
    magic, instruction = WITNESSES[name]
    made = CompiledProgram.from_bytes(emit_aot_target(f"cpu:{name}", rounds))
    assert [queue for queue, _ in made.codes] == ["caller", "threads"]
    for _, artifact in made.codes:
        _, _, code = artifact.binary.partition(b"\0")
        assert code.startswith(magic)
    assert instruction in emit_aot_target(f"cpu-asm:{name}", rounds).decode()


def test_floats_are_quiet_before_arm64_compares_them() -> None:
    """Its `fmaxnm` gives a NaN where an operand is a signalling NaN; ``max(x, 0)`` gives 0."""
    with program("clipped", 1) as p:
        x, bits = p.read("x", f32), p.read("bits", u32)
        for n, value in enumerate((x[0], bits[0].bitcast(f32))):
            p.write(f"max{n}", f32, 1)[0] = apply("max", value, constant(f32, -0.0))
            p.write(f"chosen{n}", f32, 1)[0] = select(value > 1.0, value, 1.0)
    text = emit_aot_target("cpu-asm:armv8", p.build()).decode()
    greatest = re.findall(r"\tfmaxnm\t(.*)", text)
    quieted = re.findall(r"\tfminnm\t(\w+), (\w+), (\w+)", text)
    assert greatest
    assert len(quieted) >= 2
    assert all(a == b == c for a, b, c in quieted)
    assert "fminnm" not in emit_aot_target("cpu-asm:armv8", sums()).decode()


def sums() -> Program:
    """A program that compares no floats."""
    with program("sums", 1) as p:
        x = p.read("x", u32)
        p.write("out", u32, 1)[0] = x[0] + x[1]
    return p.build()


@pytest.mark.parametrize("name", ["armv8", "apple-m1"])
def test_a_half_is_selected_by_a_carry(name: str) -> None:
    """LLVM 22 ends the process here, if f16 is a type of registers of a CPU that does not compute in it."""
    with program("carry", 1) as p:
        n, x = p.read("n", u32), p.read("x", f16)
        more = p.let(n[0] + 1)
        p.write("more", u32, 1)[0] = more
        p.write("out", f16, 1)[0] = select(more < n[0], constant(f16, 0.0), x[0])
    assert emit_aot_target(f"cpu:{name}", p.build())


def test_the_named_cpus_have_witnesses() -> None:
    assert tuple(WITNESSES) == NAMED[1:]


@pytest.mark.skipif(not host().is_x86, reason="code for x86-64 runs there")
@pytest.mark.parametrize("name", ["host", "x86-64", "x86-64-v2", "x86-64-v3"])
def test_it_runs_without_a_compiler(name: str, rounds: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    if host().lacks(named(name)):
        pytest.skip(f"this CPU lacks {host().lacks(named(name))}")
    made = CompiledProgram.from_bytes(emit_aot_target(f"cpu:{name}", rounds))
    monkeypatch.setattr(CpuPort, "compile", lambda *_: pytest.fail("the compiler was asked"))
    monkeypatch.setenv("VYRE_CACHE", "off")
    backend = CpuBackend()
    try:
        load_ahead(backend, made)
        x = np.arange(5, 1505, dtype=np.uint32)
        (out,) = backend.dispatch(rounds, [x])
        assert (np.frombuffer(out, np.uint32) == (x * 3) ^ 15).all()
    finally:
        backend.shutdown()


def test_code_for_another_cpu_is_refused(rounds: Program) -> None:
    name = "apple-m1" if host().is_x86 else "x86-64"
    backend = CpuBackend()
    try:
        with pytest.raises(BadArtifact, match=f"the code is for {name}, and this CPU lacks {named(name).triple}"):
            load_ahead(backend, CompiledProgram.from_bytes(emit_aot_target(f"cpu:{name}", rounds)))
    finally:
        backend.shutdown()


def test_code_that_needs_a_missing_feature_is_refused() -> None:
    """Before one byte of it is linked."""
    other = Cpu(host().triple, "future", f"{host().features},+quantum")
    with pytest.raises(KernelCompileFailed, match="the code is for future, and this CPU lacks quantum"):
        CpuPort().load(binary.to_bytes(b"never looked at", ["kernel_0"], other))


@pytest.mark.parametrize(
    "damaged",
    [b"", b"{}", b"\0", b"[1]\0code", b'{"triple": 1}\0code', binary.to_bytes(b"no object code", ["kernel_0"], host())],
)
def test_damaged_code_is_refused(damaged: bytes) -> None:
    with pytest.raises(KernelCompileFailed):
        CpuPort().load(damaged)
