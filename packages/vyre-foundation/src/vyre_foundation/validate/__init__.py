"""The validator: every rule of the language that a constructor cannot check, and the facts that later stages need."""

from __future__ import annotations

from vyre_foundation.ir.expr import Expr, Id, IdKind, Length, Literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.validate.declared import buffer_usage, declared_locals, features, mutable_locals
from vyre_foundation.validate.facts import (
    Determinism,
    Facts,
    Feature,
    Finding,
    Interval,
    InvalidProgram,
    Uniformity,
    Usage,
)

__all__ = [
    "Determinism",
    "Facts",
    "Feature",
    "Finding",
    "Interval",
    "InvalidProgram",
    "Uniformity",
    "Usage",
    "validate",
]


def validate(program: Program, *, legalized: bool = False) -> Facts:
    """The facts of `program`."""
    nodes = program_expressions(program)
    return Facts(
        program=program,
        features=features(program, nodes),
        locals=declared_locals(program.body),
        mutable=mutable_locals(program.body),
        usage=buffer_usage(program, nodes),
        uniformity={node: _level(node) for node in nodes},
        ranges={node: _range(node) for node in nodes if node.dtype.is_integer},
        determinism=Determinism((Finding("D000", "body", "not analysed", "order the accesses"),)),
    )


def _level(node: Expr) -> Uniformity:
    match node:
        case Literal() | Length() | Id(IdKind.NUM_WORKGROUPS | IdKind.SUBGROUP_SIZE):
            return Uniformity.LAUNCH
        case Id(IdKind.WORKGROUP_ID):
            return Uniformity.WORKGROUP
        case _:
            return Uniformity.NONE


def _range(node: Expr) -> Interval:
    if isinstance(node, Literal):
        return Interval(int(node.value), int(node.value))
    if isinstance(node, Length) and isinstance(node.buffer.count, int):
        return Interval(node.buffer.count, node.buffer.count)
    return Interval(node.dtype.lowest, node.dtype.highest)
