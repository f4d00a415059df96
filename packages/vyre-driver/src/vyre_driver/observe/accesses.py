"""Accesses to memory, statement by statement, and programs with statements added around them.

A path alternates positions and branches: ``(2, 1, 0)`` is the first statement in the second body (the `orelse`) of the
third statement. Paths compare in program order, outer statements before inner ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import count

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.received import validated
from vyre_driver.backend.results import host_bytes
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Load
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Body, IndirectDispatch, Stmt, Store, Trap
from vyre_foundation.ir.walk import bodies, expressions, postorder, rewrite_body, with_bodies

Path = tuple[int, ...]


class Touch(Enum):
    """What an access does."""

    READ = "reads"
    WRITE = "writes"
    ATOMIC = "updates atomically"

    def conflicts(self, other: Touch) -> bool:
        """Whether two unordered accesses to one element race: plain writes with all, reads with other kinds."""
        return self is not other or self is Touch.WRITE


@dataclass(frozen=True, slots=True)
class AccessSite:
    """A place in a program that accesses an element of a buffer."""

    path: Path
    touch: Touch
    buffer: Buffer
    index: Expr


def instrumented_launch(
    program: Program, arrays: Mapping[str, object], config: DispatchConfig
) -> tuple[LaunchPlan, DispatchConfig]:
    """The plan of a launch, and the configuration in which a program with other outputs runs over the same grid."""
    validated(program)
    given = [host_bytes(b.name, a) for b, a in zip(program.inputs, ordered_inputs(program, arrays), strict=True)]
    indirect = None if config.grid_override is not None else read_indirect_grid(program, given)
    plan = plan_launch(program, [view.nbytes for view in given], config, indirect_grid=indirect)
    fixed = config.replace(grid_override=plan.grid, workgroup_override=None, max_output_bytes=None, profile=None)
    return plan, fixed.replace(ulp_budget=0)


def accesses(stmt: Stmt, path: Path) -> list[AccessSite]:
    """The accesses that `stmt` itself makes, its loads first; those of nested bodies are not among them."""
    loads = [node for node in postorder(expressions(stmt)) if isinstance(node, Load)]
    found = [AccessSite(path, Touch.READ, node.buffer, node.index) for node in loads]
    match stmt:
        case Store(buffer, index):
            found.append(AccessSite(path, Touch.WRITE, buffer, index))
        case Atomic(_, buffer, index):
            found.append(AccessSite(path, Touch.ATOMIC, buffer, index))
        case _:
            pass
    return found


def placed(body: Body, path: Path = ()) -> Iterator[tuple[Stmt, Path]]:
    """Every statement with its path, in program order."""
    for position, stmt in enumerate(body):
        here = (*path, position)
        yield stmt, here
        for branch, nested in enumerate(bodies(stmt)):
            yield from placed(nested, (*here, branch))


def surrounded(body: Body, around: Callable[[Stmt, Path], tuple[Body, Body]], path: Path = ()) -> Body:
    """`body` with the statements that `around` gives before and after each of its statements, in nested bodies too."""
    out: list[Stmt] = []
    for position, stmt in enumerate(body):
        here = (*path, position)
        before, after = around(stmt, here)
        out += (*before, _surrounded(stmt, around, here), *after)
    return tuple(out)


def without_traps(body: Body) -> Body:
    """`body` without what ends a dispatch or sizes it: traps, and the grid that is read from a buffer."""
    return rewrite_body(body, lambda stmt: () if isinstance(stmt, (Trap, IndirectDispatch)) else stmt)


def _surrounded(stmt: Stmt, around: Callable[[Stmt, Path], tuple[Body, Body]], path: Path) -> Stmt:
    branches = count()
    return with_bodies(stmt, lambda body: surrounded(body, around, (*path, next(branches))))
