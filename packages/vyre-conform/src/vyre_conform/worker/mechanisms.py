"""Claims that show in what a compiler gets.

A mechanism that a target is said to have itself stands in the emitted code, and no other does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from vyre_driver.engine.device import Device
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.engine.port import SourceUnit
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Target
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.expr import Apply
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, AtomicOp, Subgroup, SubgroupOp
from vyre_foundation.ir.walk import program_expressions, statements
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.validate import validate
from vyre_foundation.validate.facts import Facts

Mechanism: TypeAlias = tuple[str | AtomicOp | SubgroupOp, DType]
"""An op of the table, an atomic or a collective, and the type of its operands."""
GROUP = 64


def lies(device: Device) -> Iterator[str]:
    """What `device` says of its target and does not keep to, in words."""
    target = device.target
    claimed = _claimed(target)
    for mechanism, asked in _programs(target):
        facts = validate(asked)
        lowered = lowered_for(target, facts)
        used = set().union(*(_used(kernel.program) for kernel in lowered.kernels))
        yield from (f"{_words(f)} is in the code and not among what the device has" for f in used - claimed)
        if mechanism not in used:
            continue  # the same by fewer or better words
        composed = _without(target, mechanism, facts)
        if composed is None or _size(composed) == _size(lowered):
            continue  # there is no other way, or another word for the same
        if _text(device, composed) == _text(device, lowered):
            yield f"{_words(mechanism)} is among what the device has, and its code is what is composed without it"


def _without(target: Target, mechanism: Mechanism, facts: Facts) -> Lowered | None:
    """The kernels of a device that does not have that mechanism; None if there is no way without it."""
    poorer = replace(target, ops=target.ops - {mechanism}, atomics=target.atomics - {mechanism},
                     subgroup_ops=target.subgroup_ops - {mechanism})  # fmt: skip
    try:
        return lowered_for(poorer, facts)
    except UnsupportedFeature:
        return None


def _size(lowered: Lowered) -> int:
    """How many expressions there are in all kernels."""
    return sum(len(program_expressions(kernel.program)) for kernel in lowered.kernels)


def _text(device: Device, lowered: Lowered) -> str:
    unit: SourceUnit = device.port.emit(lowered)
    return unit.text


def _claimed(target: Target) -> set[Mechanism]:
    return {*target.ops, *target.atomics, *(target.subgroup_ops if target.subgroup_sizes else ())}


def _used(kernel: Program) -> set[Mechanism]:
    """The mechanisms that stand in a lowered kernel."""
    found: set[Mechanism] = {(e.op.id, e.args[0].dtype) for e in program_expressions(kernel) if isinstance(e, Apply)}
    for stmt in statements(kernel.body):
        match stmt:
            case Atomic(op=op, buffer=buffer):
                found.add((op, buffer.dtype))
            case Subgroup(op=collective, value=value):
                found.add((collective, value.dtype))
    return found


def _programs(target: Target) -> Iterator[tuple[Mechanism, Program]]:
    """Each mechanism with a program that asks for it."""
    for op, dtype in sorted(target.ops, key=str):
        if OPS[op].tier is Tier.LANGUAGE:
            yield (op, dtype), _mapped(OPS[op], dtype)
    for atomic, dtype in sorted(target.atomics, key=str):
        yield (atomic, dtype), _counted(atomic, dtype)
    for size in sorted(target.subgroup_sizes)[-1:]:
        for collective, dtype in sorted(target.subgroup_ops, key=str):
            yield (collective, dtype), _collected(collective, dtype, size)


def _mapped(op: Op, dtype: DType) -> Program:
    with program(f"has_{op.id}_{dtype}", GROUP) as p:
        operands = [p.read(name, dtype) for name in "xyz"[: op.arity]]
        out = p.write("out", op.results[dtype], like=operands[0])
        i = p.global_id(0)
        out[i] = apply(op, *[operand[i] for operand in operands])
    return p.build()


def _counted(op: AtomicOp, dtype: DType) -> Program:
    with program(f"has_{op.value}_{dtype}", GROUP) as p:
        x, table = p.read("x", dtype), p.read_write("table", dtype, 4)
        i = p.let(p.global_id(0))
        old = p.write("old", dtype, like=x)
        guess = (x[i],) if op is AtomicOp.COMPARE_EXCHANGE else ()
        old[i] = getattr(table, f"atomic_{op.value}")(i % 4, *guess, x[i])
    return p.build()


def _collected(op: SubgroupOp, dtype: DType, size: int) -> Program:
    with program(f"has_{op.value}_{dtype}", max(size, GROUP), subgroup_size=size) as p:
        x, lanes = p.read("x", dtype), p.read("lanes", u32)
        i = p.let(p.global_id(0))
        lane = p.workgroup_id(0) if op is SubgroupOp.BROADCAST else lanes[i]
        p.write("out", op.result_type(dtype), like=x)[i] = p.subgroup(op, x[i], lane if op.takes_lane else None)
    return p.build()


def _words(mechanism: Mechanism) -> str:
    op, dtype = mechanism
    return f"{op if isinstance(op, str) else op.value} of {dtype}"
