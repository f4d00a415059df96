"""Whether every schedule gives the same outputs: a proof, or the statements at which it fails.

The order in which invocations run can show in two ways. A *race*: two of them touch one element in one barrier
interval, one of them writes, and not both use an atomic. And *atomics* whose order matters: the old value is used, they
exchange for different values, or two different ops meet. All else commutes.

So the question is always whether two invocations may touch one element in one interval. The proof goes in steps:

1. `accesses`  lists what touches memory that is shared and written, with the conditions that hold there (`guards`);
2. `phases`    says which statements share an interval: for invocations of one workgroup any barrier divides, for those
               of different workgroups a grid barrier;
3. accesses of one buffer in one interval whose ranges of indices overlap are taken as a set;
4. a set is harmless if they only read, or only apply one commutative atomic without using its result, or only
   exchange for one value;
5. else every index must tell who made it: `forms` writes it as a sum, `views` finds the digits of the invocation in it
   (`identity`), and `ownership` decides whether these can be read back.

What is not proven is a reason. A reason is not a proof of the contrary.

The proof is for the grids of the program: they extend on x and on the axes that the program asks about, by
`global_id`, `workgroup_id` or `num_workgroups`. On another axis, all invocations would do the same once more. The grid
of a launch bounds these ids, so strides that nothing else bounds may tell invocations apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Expr, Id, IdKind, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, Scope, Store
from vyre_foundation.validate.access import ATOMIC_MEMORY
from vyre_foundation.validate.declared import declaration
from vyre_foundation.validate.determinism.accesses import Collector, TooMuch
from vyre_foundation.validate.determinism.conflicts import Conflicts
from vyre_foundation.validate.determinism.forms import GLOBAL, GROUP, Polynomials
from vyre_foundation.validate.determinism.guards import EVERYWHERE, PathCondition, PathConditions
from vyre_foundation.validate.determinism.identity import Between, Identity
from vyre_foundation.validate.determinism.phases import find_phases
from vyre_foundation.validate.determinism.reasons import Reasons, too_large
from vyre_foundation.validate.determinism.stability import find_stability
from vyre_foundation.validate.determinism.views import Views
from vyre_foundation.validate.facts import Determinism, Grid, Interval, Uniformity
from vyre_foundation.validate.outline import Outline


def find_determinism(
    program: Program,
    outline: Outline,
    nodes: Sequence[Expr],
    ranges: Mapping[Expr, Interval],
    uniformity: Mapping[Expr, Uniformity],
    grid: Grid | None = None,
) -> Determinism:
    """The verdict on a valid program, for all grids, or for a `grid` and smaller ones.

    `nodes` are its expressions, children before parents.
    """
    axes = _axes(nodes)
    written = _written(outline)
    if not written:
        return Determinism((), axes)
    declared = {d[0]: place for place in outline.places if (d := declaration(place.stmt)) is not None}
    stability = find_stability(nodes, declared, written)
    forms = Polynomials(program, declared, ranges, stability.unstable, axes)
    used = frozenset(node.name for node in nodes if isinstance(node, Local))

    def is_fixed(leaf: Expr, between: Between) -> bool:
        needed = Uniformity.GRID if between is Between.GROUPS else Uniformity.WORKGROUP
        level = uniformity.get(leaf, Uniformity.NONE)
        return leaf not in stability.varying and level.value >= needed.value

    guards = PathConditions(forms, declared, stability.unstable)
    is_constant = partial(is_fixed, between=Between.GROUPS)
    try:
        collector = Collector(outline, guards, stability.loading, written, used, is_constant)
        accesses = collector.collect(EVERYWHERE if grid is None else _within(program, grid))
    except TooMuch:
        return Determinism((too_large(),), axes)

    identity = Identity(program, axes, forms)
    conflicts = Conflicts(forms, Views(forms, identity, declared, is_fixed), identity)
    reasons = Reasons(program.origins)
    for cluster, bounds in conflicts.find(accesses, find_phases(outline, lambda _: True), Between.LOCALS):
        reasons.add(cluster, Between.LOCALS, bounds)
    shared = [a for a in accesses if a.buffer.memory is not Memory.WORKGROUP]
    for cluster, bounds in conflicts.find(shared, find_phases(outline, _is_of_grid), Between.GROUPS):
        reasons.add(cluster, Between.GROUPS, bounds)
    return Determinism(reasons.in_order(), axes)


def _axes(nodes: Sequence[Expr]) -> frozenset[int]:
    """The axes on which the grid is taken to extend."""
    kinds = (IdKind.GLOBAL_ID, IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS)
    return frozenset({0, *(node.axis for node in nodes if isinstance(node, Id) and node.kind in kinds)})


def _within(program: Program, grid: Grid) -> PathCondition:
    """What a grid tells of the numbers of invocations."""
    extents: dict[Expr, int] = {GROUP: prod(grid), GLOBAL: prod(grid) * program.workgroup_volume}
    for axis, (groups, size) in enumerate(zip(grid, program.workgroup_size, strict=True)):
        extents[Id(IdKind.WORKGROUP_ID, axis)] = groups
        extents[Id(IdKind.GLOBAL_ID, axis)] = groups * size
        extents[Id(IdKind.LOCAL_ID, axis)] = size
    return PathCondition({leaf: Interval(0, max(1, extent) - 1) for leaf, extent in extents.items()})


def _written(outline: Outline) -> frozenset[Buffer]:
    """The buffers that invocations share and that some statement writes."""
    stmts = (place.stmt for place in outline.places)
    return frozenset(
        stmt.buffer for stmt in stmts if isinstance(stmt, (Store, Atomic)) and stmt.buffer.memory in ATOMIC_MEMORY
    )


def _is_of_grid(barrier: Barrier) -> bool:
    return barrier.scope is Scope.GRID
