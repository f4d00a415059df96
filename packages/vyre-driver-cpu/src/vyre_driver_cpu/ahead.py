"""Code for a named CPU, made on any machine."""

from __future__ import annotations

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.artifact import described
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.engine.port import SourceUnit
from vyre_driver.errors import KernelCompileFailed
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.pipeline.ahead import CompiledProgram
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_driver.pipeline.key import called_dialects
from vyre_driver.plan.launch import validated, with_workgroup_size
from vyre_driver_cpu.binary import to_bytes
from vyre_driver_cpu.compiler import CompileFailed, assembly, compile_text
from vyre_driver_cpu.cpu import COMPILER, Cpu, named
from vyre_driver_cpu.dialect import target_of
from vyre_driver_cpu.emit import emit
from vyre_driver_cpu.probe import QUEUES
from vyre_driver_cpu.report import vector_reports
from vyre_driver_cpu.spelling import spellings_of
from vyre_foundation.ir.program import Program


def source_ahead(name: str, program: Program, config: DispatchConfig) -> bytes:
    """LLVM IR for a CPU, such as ``x86-64-v3``, under what a launch of it needs."""
    launched, lowered, unit = _emitted(named(name), program, config)
    return described(launched, lowered, unit)


def assembly_ahead(name: str, program: Program, config: DispatchConfig) -> bytes:
    """What LLVM makes of it, as assembly, under a report of how far that is vectors."""
    cpu = named(name)
    _, _, unit = _emitted(cpu, program, config)
    text = assembly(unit.text, cpu)
    comment = "#" if cpu.is_x86 else "//"
    return "".join([*(f"{comment} {report}\n" for report in vector_reports(text)), text]).encode()


def compiled_ahead(target: str, name: str, program: Program, config: DispatchConfig) -> bytes:
    """A compiled program, which runs on every CPU that has the features of the named one."""
    cpu = named(name)
    launched, lowered, unit = _emitted(cpu, program, config)
    try:
        code = to_bytes(compile_text(unit.text, cpu), unit.kernels, cpu)
    except CompileFailed as failure:
        raise KernelCompileFailed("cpu", str(failure), source=unit.text) from failure
    artifact = Artifact(ExecutableManifest.of(lowered, unit.kernels), unit.text, code)
    return CompiledProgram(
        target=target,
        device=("cpu", "", "", "", COMPILER),
        program=launched,
        ulp_budget=config.ulp_budget,
        codes=tuple((queue, artifact) for queue in QUEUES),
        dialects=called_dialects(launched),
    ).to_bytes()


def _emitted(cpu: Cpu, program: Program, config: DispatchConfig) -> tuple[Program, Lowered, SourceUnit]:
    """The program as it is launched, its kernels, and their text."""
    facts = validated(with_workgroup_size(program, config.workgroup_override))
    words = spellings_of(cpu)
    lowered = lowered_for(target_of("cpu", words), facts)
    return facts.program, lowered, emit(lowered, words)
