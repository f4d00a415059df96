"""Faulty backends around the engine.

The whole driver runs, over a device in host memory that begins as rubbish, and one part of it is faulty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_conform.controls.fault import Plant, found
from vyre_conform.oracle.evaluators import EVALUATORS
from vyre_driver.backend.config import Extent
from vyre_driver.codegen.lower import passes_of
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.device import Device
from vyre_driver.engine.port import SourceUnit
from vyre_driver.legalization.context import Context
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Groups, Target
from vyre_driver.testing.fake_port import FakeEvent, FakeMemory, FakeModule, FakePort
from vyre_driver.testing.target import generous_profile, generous_target
from vyre_foundation.dtype import bool_, f32, f64, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS
from vyre_foundation.optimize import PASSES, facts_after
from vyre_foundation.passes import Pass
from vyre_foundation.validate import validate
from vyre_foundation.validate.facts import Facts

if TYPE_CHECKING:
    import numpy.typing as npt

LOWERING: Mapping[str, Pass[Context]] = {stage.name: stage for stage in passes_of(generous_target())}
Wrap = Callable[[Any], Any]
"""From the right thing to the faulty one."""


def on_engine(
    where: str,
    wrap: Wrap,
    target: Callable[[], Target] = generous_target,
    port: type[FakePort] = FakePort,
) -> Plant:
    """The engine with the attribute `where` (``module:name`` or ``module:Class.name``) of its process replaced."""

    def begin() -> EngineBackend:
        owner, name = found(where)
        setattr(owner, name, wrap(getattr(owner, name)))
        return engine(target, port=port)

    return Plant(begin, right_engine(target, port), where)


def on_port(call: str, wrap: Wrap, target: Callable[[], Target] = generous_target, by: str = "vector") -> Plant:
    """The engine over a device whose port answers `call`, such as "copy_in", in another way."""

    def begin() -> EngineBackend:
        return engine(target, by, type("FaultyPort", (FakePort,), {call: wrap(getattr(FakePort, call))}))

    return Plant(begin, right_engine(target))


def over(port: type[FakePort], target: Callable[[], Target] = generous_target) -> Plant:
    """The engine over a device that is wrong."""
    return Plant(lambda: engine(target, port=port), right_engine(target))


def in_backend(backend: type[EngineBackend]) -> Plant:
    """A subclass of the engine's backend that is wrong."""
    return Plant(lambda: backend("mutant", lambda: FakePort(EVALUATORS["vector"])), right_engine(generous_target))


def right_engine(target: Callable[[], Target], port: type[FakePort] = FakePort) -> str:
    """The name of the engine without a fault."""
    return f"engine-{target().name}" if port is FakePort else f"engine-{target().name}-sharing"


def engine(target: Callable[[], Target], by: str = "vector", port: type[FakePort] = FakePort) -> EngineBackend:
    """The engine over a device.

    `by` executes kernels: "scalar" runs one invocation after the other up to a barrier, "vector" all side by side.
    """
    if port.shares_host_memory:
        setattr(Device, "host_memory", _rubbish)  # noqa: B010 - for the type checker
    return EngineBackend("mutant", lambda: port(EVALUATORS[by], generous_profile("mutant"), target()))


def _rubbish(device: Device, size: int) -> npt.NDArray[np.uint8]:
    """Host memory in which a device is going to work: its contents are unspecified, and these show that they were."""
    return np.full(size, 0xA5, np.uint8)


class SharingPort(FakePort):
    """A device that works in the memory of the host: nothing is copied."""

    shares_host_memory = True

    def in_place(self, data: memoryview) -> FakeMemory:
        return FakeMemory(memoryview(data).cast("B"), is_foreign=True)


class NamingPort(FakePort):
    """A device that learns which buffers of programs its memories are: `buffers`, when they are launched over."""

    def __init__(self, *operands: Any, **options: Any) -> None:
        super().__init__(*operands, **options)
        self.buffers: dict[FakeMemory, Buffer] = {}
        self.declared: dict[Program, Mapping[str, Buffer]] = {}

    def emit(self, lowered: Lowered) -> SourceUnit:
        self.declared |= {kernel.program: lowered.buffers for kernel in lowered.kernels}
        return super().emit(lowered)

    def launch(
        self, module: FakeModule, kernel: str, grid: Extent, workgroup_size: Extent, args: Any, **options: Any
    ) -> FakeEvent:
        program = module.kernels[kernel][0].program
        bound = [self.declared[program][buffer.name] for buffer in program.buffers if buffer.memory.is_bound]
        buffers = dict(zip(args, bound, strict=False))
        self.buffers.update(buffers)
        self.begin(kernel, buffers)
        return super().launch(module, kernel, grid, workgroup_size, args, **options)

    def begin(self, kernel: str, buffers: Mapping[FakeMemory, Buffer]) -> None:
        """Called before each launch, for subclasses."""


def sharing_engine() -> EngineBackend:
    """The engine over such a device."""
    return engine(generous_target, port=SharingPort)


def in_passes(*passes: Pass[Any], target: Callable[[], Target] = generous_target, by: str = "vector") -> Plant:
    """The engine over a device whose target has `passes` in place of those of their names."""

    def faulty() -> Target:
        return replace(target(), replacements=passes)

    return Plant(lambda: engine(faulty, by), right_engine(target))


def behind(
    name: str, change: Callable[[Program, Program], Program], target: Callable[[], Target] = generous_target
) -> Plant:
    """The engine with a lowering pass whose result is changed, given the program before and after it."""
    right = LOWERING[name]
    stage: Pass[Context] = Pass(name, "wrong", lambda program, context: change(program, right.apply(program, context)))
    return in_passes(stage, target=target)


def optimizes(change: Callable[[Program], Program], by: str = "vector", *, first: bool = False) -> Plant:
    """An optimizer whose first or last pass does more than it should."""

    def changed(program: Program) -> Program:
        return changed_if_valid(change, program, legalized=False)

    def before(program: Program, facts: Facts) -> Program:
        return PASSES[0].apply(changed(program), facts_after(facts, changed(program)))

    def behind(program: Program, facts: Facts) -> Program:
        return changed(PASSES[-1].apply(program, facts))

    stage = Pass(PASSES[0].name, "wrong", before) if first else Pass(PASSES[-1].name, "wrong", behind)
    return in_passes(stage, by=by)


def emits(
    change: Callable[[Program], Program], target: Callable[[], Target] = generous_target, by: str = "vector"
) -> Plant:
    """An emitter that prints another kernel than the one that it was given."""

    def wrap(right: Callable[..., Any]) -> Callable[..., Any]:
        def emit(port: Any, lowered: Any) -> Any:
            kernels = [replace(k, program=changed_if_valid(change, k.program)) for k in lowered.kernels]
            return right(port, replace(lowered, kernels=tuple(kernels)))

        return emit

    return on_port("emit", wrap, target, by)


def changed_if_valid(change: Callable[[Program], Program], program: Program, *, legalized: bool = True) -> Program:
    """The changed program, or the same where the change would not compile."""
    changed = change(program)
    if changed == program:
        return program
    try:
        validate(changed, legalized=legalized)
    except ValueError:
        return program
    return changed


# ── targets that need more of lowering ───────────────────────────────────────────────────────────────────────────────

_REGISTERS = (bool_, u32, i32, u64, i64, f32, f64)
_MEMORY = (u8, u16, u32, i32, u64, i64, f32, f64)
_FEW = frozenset("eq lt and or add sub mul raw_shl raw_shr raw_div raw_rem div xor not sqrt fma".split())


@cache
def sparse_target() -> Target:
    """Few ops, no registers of 8 and 16 bits: nearly everything is decomposed."""
    return Target(
        name="sparse",
        ops=frozenset((op.id, t) for op in OPS.values() if op.id in _FEW for t in op.accepts if t in _REGISTERS),
        memory=frozenset(_MEMORY),
        arithmetic=frozenset(_REGISTERS),
        casts=frozenset((a, b) for a in (bool_, *_MEMORY) for b in (bool_, *_MEMORY)),
        bitcasts=frozenset((a, b) for a in (bool_, *_MEMORY) for b in (bool_, *_MEMORY)),
        atomics=generous_target().atomics,
    )


@cache
def looping_target() -> Target:
    """One work item runs a workgroup, kernels have versions without checks, and addresses are wide."""
    return replace(generous_target(), name="looping", groups=Groups.LOOPS, loop_versioning=True, wide_indices=True)


TARGETS = (generous_target, sparse_target, looping_target)
