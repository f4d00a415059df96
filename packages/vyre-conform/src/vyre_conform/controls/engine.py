"""Faulty backends around the engine: the whole driver runs, over a device in host memory that begins as rubbish, and
one part of it is another than it should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, reduce
from importlib import import_module
from typing import Any

from vyre_conform.controls.fault import Plant
from vyre_conform.oracle.evaluators import EVALUATORS
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.lower.target import Groups, Target
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.target import generous_target
from vyre_foundation.dtype import bool_, f32, f64, i32, i64, u8, u16, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS
from vyre_foundation.optimize import facts_after
from vyre_foundation.validate import validate
from vyre_foundation.validate.facts import Facts

Wrap = Callable[[Any], Any]
"""From the right thing to the faulty one."""


def on_engine(where: str, wrap: Wrap, target: Callable[[], Target] = generous_target, by: str = "vector") -> Plant:
    """The engine with the attribute `where` (``module:name`` or ``module:Class.name``) of its process replaced.

    `by` executes kernels: "scalar" runs one invocation after the other up to a barrier, "vector" all side by side.
    """

    def begin() -> EngineBackend:
        owner, name = found(where)
        setattr(owner, name, wrap(getattr(owner, name)))
        return engine(target, by)

    return Plant(begin, f"engine-{target().name}", where)


def found(where: str) -> tuple[Any, str]:
    """The module or class that has what `where` names, and the name in it."""
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    return reduce(getattr, owners, import_module(module)), name


def engine(target: Callable[[], Target], by: str = "vector") -> EngineBackend:
    """The engine over a device that executes kernels with an evaluator."""
    return EngineBackend("mutant", lambda: FakePort(EVALUATORS[by], spelled=target()))


def optimizes(change: Callable[[Program], Program]) -> Plant:
    """An optimizer with one rewriting more, which is wrong."""

    def wrap(right: Callable[[Facts], Facts]) -> Callable[[Facts], Facts]:
        def optimize(facts: Facts) -> Facts:
            after = right(facts)
            return facts_after(after, changed_if_valid(change, after.program, legalized=False))

        return optimize

    return on_engine("vyre_driver.engine.lowering:optimize", wrap)


def emits(
    change: Callable[[Program], Program], target: Callable[[], Target] = generous_target, by: str = "vector"
) -> Plant:
    """An emitter that prints another kernel than the one that it was given."""

    def wrap(right: Callable[..., Any]) -> Callable[..., Any]:
        def emit(port: Any, lowered: Any) -> Any:
            kernels = [replace(k, program=changed_if_valid(change, k.program)) for k in lowered.kernels]
            return right(port, replace(lowered, kernels=tuple(kernels)))

        return emit

    return on_engine("vyre_driver.testing.fake_port:FakePort.emit", wrap, target, by)


def changed_if_valid(change: Callable[[Program], Program], program: Program, *, legalized: bool = True) -> Program:
    """The changed program, or the same where the change would not compile."""
    changed = change(program)
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
    return replace(generous_target(), name="looping", groups=Groups.LOOPS, versions=True, wide_indices=True)


TARGETS = (generous_target, sparse_target, looping_target)
