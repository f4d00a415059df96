"""Where an invocation is, as one number: within its workgroup, its workgroup in the grid, itself in the launch."""

from __future__ import annotations

from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS


def add(x: Expr, y: Expr) -> Expr:
    """The sum of two expressions of one type."""
    return Apply(OPS["add"], x, y)


def multiply(x: Expr, y: Expr) -> Expr:
    """The product of two expressions of one type."""
    return Apply(OPS["mul"], x, y)


def local_index(program: Program) -> Expr:
    """The position among the invocations of the workgroup, x fastest; axes of size 1 do not count."""
    index: Expr | None = None
    for axis in (2, 1, 0):
        size = program.workgroup_size[axis]
        if size > 1:
            step = Id(IdKind.LOCAL_ID, axis)
            index = step if index is None else add(multiply(index, literal(u32, size)), step)
    return literal(u32, 0) if index is None else index


def group_index() -> Expr:
    """The position of the workgroup in the grid, x fastest."""
    index: Expr = Id(IdKind.WORKGROUP_ID, 2)
    for axis in (1, 0):
        index = add(multiply(index, Id(IdKind.NUM_WORKGROUPS, axis)), Id(IdKind.WORKGROUP_ID, axis))
    return index


def slot(program: Program) -> Expr:
    """A number for every invocation of the launch, from 0 without gaps; those of a workgroup are neighbours."""
    return add(multiply(group_index(), literal(u32, program.workgroup_volume)), local_index(program))


def invocation(program: Program, dtype: DType) -> Expr:
    """The linear global invocation id ``(gz*GY + gy)*GX + gx``, where G is the extent of the whole launch."""
    index: Expr = Cast(dtype, Id(IdKind.GLOBAL_ID, 2))
    for axis in (1, 0):
        groups = Cast(dtype, Id(IdKind.NUM_WORKGROUPS, axis))
        extent = multiply(groups, literal(dtype, program.workgroup_size[axis]))
        index = add(multiply(index, extent), Cast(dtype, Id(IdKind.GLOBAL_ID, axis)))
    return index
