"""What a lowered program relies on that a device must have shown: the rows of the spelling table that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Apply, Cast
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic
from vyre_foundation.ir.walk import program_expressions, statements

if TYPE_CHECKING:
    from vyre_driver.legalization.lowered import Lowered
    from vyre_driver_opencl.probe import Reported


class Group(Enum):
    """Proofs that are made together."""

    ATOMICS = "atomics"
    SUBGROUPS = "subgroups"
    POINTERS = "pointers"
    """Addresses of host memory as arguments."""


RowKey = tuple[str | DType, DType]
"""(op, operand type) or (type, type to convert to)."""
Need = RowKey | DType | Group
"""A row of the table, a float type with everything that makes it one, or a group."""


def groups_of(reported: Reported) -> set[Group]:
    """The groups that mean something on a device that reports this."""
    return {
        Group.ATOMICS,
        *((Group.SUBGROUPS,) if reported.subgroups else ()),
        *((Group.POINTERS,) if reported.is_cpu else ()),
    }


def needs_of(lowered: Lowered) -> set[Need]:
    """Everything that the kernels use, also what needs no proof, such as operators on integers."""
    return {need for kernel in lowered.kernels for need in _needs(kernel.program)}


def _needs(program: Program) -> Iterator[Need]:
    for node in program_expressions(program):
        yield node.dtype
        match node:
            case Apply():
                yield node.op.id, node.args[0].dtype
            case Cast():
                yield node.value.dtype, node.dtype
    if any(isinstance(statement, Atomic) for statement in statements(program.body)):
        yield Group.ATOMICS
    if program.subgroup_size is not None:
        yield Group.SUBGROUPS
