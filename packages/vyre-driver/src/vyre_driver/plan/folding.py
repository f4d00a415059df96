"""Launch a grid on x alone, where the device has too few workgroups on y or z.

GPUs take 65,535 workgroups on y and on z, and many more on x. A matrix of a million short rows needs more on y. Such a
grid is folded: its workgroups are numbered, x fastest, and launched on x. The program computes its place from the
number::

    grid (4, 100_000, 1)    →    grid (400_000, 1, 1)
    workgroup_id.x          →    workgroup_id.x % 4
    workgroup_id.y          →    workgroup_id.x / 4
    global_id.y             →    workgroup_id.x / 4 * 8 + local_id.y      in workgroups with 8 invocations on y
    num_workgroups.y        →    100_000

The grid is a constant of the program, so each folded grid is compiled for itself. A program with traps is not folded: a
trap records the number of its invocation, which is another one then.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from vyre_driver.backend.received import validated
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Stmt, Trap
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.ops import OPS


def folded(plan: LaunchPlan, profile: DeviceProfile) -> LaunchPlan:
    """The plan with its grid folded, if the device folds grids and this one exceeds its limits; else `plan`."""
    grid = launched_grid(plan.program, plan.grid, profile)
    if grid == plan.grid:
        return plan
    facts = validated(_folded(plan.program, plan.grid))
    return replace(plan, program=facts.program, facts=facts, grid=grid)


def launched_grid(program: Program, grid: Extent, profile: DeviceProfile) -> Extent:
    """The grid that the device gets for `grid`: itself, or all its workgroups on x."""
    most = profile.max_workgroups
    if not profile.folds_grids or most is None or all(n <= limit for n, limit in zip(grid, most, strict=True)):
        return grid
    total = prod(grid)
    return grid if total > most[0] or program.of(Trap) else (total, 1, 1)


def _folded(program: Program, grid: Extent) -> Program:
    x, y, _ = grid
    number: Expr = Id(IdKind.WORKGROUP_ID, 0)
    row = _quotient(number, x)
    groups = (_remainder(number, x), _remainder(row, y), _quotient(row, y))
    images: dict[Expr, Expr] = {}
    for axis, (group, count, size) in enumerate(zip(groups, grid, program.workgroup_size, strict=True)):
        first = Apply(OPS["mul"], group, literal(u32, size))
        images[Id(IdKind.WORKGROUP_ID, axis)] = group
        images[Id(IdKind.GLOBAL_ID, axis)] = Apply(OPS["add"], first, Id(IdKind.LOCAL_ID, axis))
        images[Id(IdKind.NUM_WORKGROUPS, axis)] = literal(u32, count)
    memo: dict[Expr, Expr] = {}

    def on_x(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda root: rewrite(root, lambda node: images.get(node, node), memo))

    made = replace(program, body=rewrite_body(program.body, on_x))
    return made if program.origins is None else made.with_origins(program.origins)


def _quotient(number: Expr, divisor: int) -> Expr:
    return Apply(OPS["div"], number, literal(u32, divisor))


def _remainder(number: Expr, divisor: int) -> Expr:
    return Apply(OPS["rem"], number, literal(u32, divisor))
