"""Code made ahead of time, and the child process that compiles for a `Guard`.

Code is compiled for every queue of the device, and loaded where no compiler is to run.
"""

from __future__ import annotations

import faulthandler
import pickle
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, runtime_checkable

from vyre_driver import process
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import innermost
from vyre_driver.engine.bind import bind
from vyre_driver.engine.code import ANSWER, ORDER, CompiledCode, CompileOrder
from vyre_driver.engine.device import Device
from vyre_driver.engine.port import SourceUnit
from vyre_driver.errors import BackendError, BadArtifact, KernelCompileFailed, UnsupportedFeature
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.schedule import RUNS
from vyre_driver.observe.metrics import Counters
from vyre_driver.pipeline.ahead import CompiledProgram
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_driver.pipeline.key import PipelineCacheKey, called_dialects
from vyre_driver.plan.admission import admit_program
from vyre_driver.plan.launch import plan_launch, validated, with_workgroup_size
from vyre_driver.plan.lengths import least_lengths
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Facts
from vyre_foundation.wire import decode


@runtime_checkable
class SessionBackend(Protocol):
    """A backend that gives the engine's device: `EngineBackend`, which imports this module."""

    def session(self) -> AbstractContextManager[Device]:
        """Exclusive use of the open device."""


def source_ahead(backend: VyreBackend, program: Program, config: DispatchConfig) -> bytes:
    """What the device's compiler would get, headed by how its kernels are called; for people and for other tools."""
    facts = validated(with_workgroup_size(program, config.workgroup_override))
    with _engine(backend).session() as device:
        admit_program(facts, config, device.profile)
        lowered, unit = device.emit(facts, config)
    return described(facts.program, lowered, unit)


def described(program: Program, lowered: Lowered, unit: SourceUnit) -> bytes:
    """The text of a unit, below what its launcher has to know."""
    head = [f"{program.name!r}, fingerprint {program.fingerprint()}", f"options: {' '.join(unit.options)}"]
    for name, kernel in zip(unit.kernels, lowered.kernels, strict=True):
        buffers = [f"{b.name} ({b.access.value} {b.dtype})" for b in kernel.program.buffers if b.memory.is_bound]
        lengths = [f"length of {buffer} (u32)" for buffer in kernel.lengths]
        x, y, z = kernel.program.workgroup_size
        head.append(f"kernel {name}, workgroup {x} × {y} × {z}: {', '.join((*buffers, *lengths))}")
        if (most := kernel.arrangement.most) > 1:
            head.append(f"{RUNS}: a row of 1 to {most} workgroups, and how many the grid has on x; launched once a row")
    return "".join([*(f"{unit.comment} {line}".rstrip() + "\n" for line in head), unit.text]).encode()


def compile_ahead(backend: VyreBackend, target: str, program: Program, config: DispatchConfig) -> CompiledProgram:
    """`program` compiled for the backend's device, as `load_ahead` takes it.

    Every kernel runs once, over one workgroup and as little memory as it may have: some runtimes compile a part then.
    `UnsupportedFeature` where the runtime does not give its code away.
    """
    facts = validated(with_workgroup_size(program, config.workgroup_override))
    with _engine(backend).session() as device:
        admit_program(facts, config, device.profile)
        source = device.emit(facts, config)[1].text
        queues = [queue.name for queue in device.profile.queues] or [""]
        codes = [(name, _compiled(device, facts, config, n, source)) for n, name in enumerate(queues)]
        return CompiledProgram(
            target=target,
            device=device.profile.identity,
            program=facts.program,
            ulp_budget=config.ulp_budget,
            codes=tuple(codes),
            dialects=called_dialects(facts.program),
        )


def load_ahead(backend: VyreBackend, made: CompiledProgram) -> None:
    """From now on dispatches and pipelines of ``made.program`` on this backend compile nothing.

    `BadArtifact` if it was made for another device, driver or compiler, with other dialects than are installed, or the
    runtime refuses it. A dialect that is registered anew later is met by compiling again. `UnsupportedFeature` on a
    backend that compiles nothing.
    """
    engine = _engine(backend, f"load it on the backend {made.backend!r}")
    validated(made.program)
    made.require_dialects(called_dialects(made.program))
    with engine.session() as device:
        made.require_device(device.profile.identity)
        queues = [queue.name for queue in device.profile.queues] or [""]
        for name, artifact in made.codes:
            if name in queues:
                try:
                    device.code.adopt(made.program, made.ulp_budget, artifact, queues.index(name), name)
                except KernelCompileFailed as error:
                    raise BadArtifact(f"the runtime refuses it ({error.log})", where=made.target) from error


def _engine(backend: VyreBackend, fix: str = "choose a backend of the engine") -> SessionBackend:
    engine = innermost(backend)
    if not isinstance(engine, SessionBackend):
        raise UnsupportedFeature("code that was compiled ahead of time", backend=backend.id(), fix=fix)
    return engine


def _compiled(device: Device, facts: Facts, config: DispatchConfig, queue: int, source: str) -> Artifact:
    code = device.compile(facts, config, queue)
    run_once(device, facts.program, config, code)
    binary = device.port.binary(code.module)
    if binary is None:
        raise UnsupportedFeature("compiled code as bytes", backend=device.profile.backend)
    return Artifact(code.executable, source, binary)


def run_once(device: Device, program: Program, config: DispatchConfig, code: CompiledCode) -> None:
    """Launch every kernel once, in any order. Traps and outputs are discarded."""
    one = config.replace(grid_override=(1, 1, 1), max_output_bytes=None)
    sizes = least_lengths(program)
    prepared = bind(device, plan_launch(program, sizes, one), code, None)
    try:
        args = prepared.transfer.upload([memoryview(bytearray(size)) for size in sizes])
        for (name, grid, workgroup_size), given in zip(prepared.kernels, args, strict=True):
            device.port.wait(device.port.launch(code.module, name, grid, workgroup_size, given))
    finally:
        device.free(prepared.owned)


GRACE = 5.0
"""Seconds after which a child ends itself whose parent should have ended it."""


def main(folder: str, seconds: float) -> None:
    """Do the order in `folder`, and leave a binary, None or an error there. The parent waits for `seconds`."""
    process.end_with_parent()
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True)  # also where a compiler holds the interpreter's lock
    order, answer = Path(folder) / ORDER, Path(folder) / ANSWER
    try:
        given: bytes | BackendError | None = _executed(pickle.loads(order.read_bytes()))  # noqa: S301 - of our own parent
    except BackendError as error:
        given = error
    part = answer.with_suffix(".part")
    part.write_bytes(pickle.dumps(given))
    part.replace(answer)


def _executed(order: CompileOrder) -> bytes | None:
    device = Device(order.open_port(), Counters(), lambda: None)
    try:
        module = device.port.compile(order.unit, order.queue)
        code = CompiledCode(PipelineCacheKey(""), ExecutableManifest.from_bytes(order.executable), module)
        run_once(device, decode(order.program), order.config, code)
        return device.port.binary(module)
    finally:
        device.close()
