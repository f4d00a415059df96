"""Sharding: the grid of a launch in ranges of workgroups that are independent of each other, by proof.

A launch is split along the slowest axis of its grid. It may be split if

1. the order of its workgroups cannot show: it is deterministic, and no grid barrier makes workgroups wait for each
   other. An element is then written by one workgroup alone, or by atomics of one commutative op whose results are not
   used;
2. each buffer has at most one such op, so that it is known how the results of shards are combined.

What each shard reads and writes is bounded by intervals of its indices: polynomials in the ids of the shard, under the
conditions of the statements around an access. A bound that is too wide costs transfers, never bytes of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import prod

from vyre_distributed.access_bounds import AccessBounds
from vyre_driver.plan.binding import host_buffers
from vyre_driver.plan.determinism import launch_determinism, launch_facts
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Expr, Id, IdKind
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import AtomicOp, Barrier, Scope, Stmt
from vyre_foundation.validate.determinism.accesses import AccessKind, MemoryAccess, TooMuch
from vyre_foundation.validate.determinism.forms import GLOBAL, GROUP
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.outline import outline


class Combination(Enum):
    """How the results of the shards become one buffer. Each is associative and commutative."""

    CONCATENATE = "concatenate"
    """The shards write ranges that do not overlap."""
    MERGE = "merge"
    """Ranges overlap, but each element has one shard that changes it, or all change it alike: also atomic or, and."""
    XOR = "xor"
    ADD = "add"
    MIN = "min"
    MAX = "max"


_COMBINED = {
    AtomicOp.ADD: Combination.ADD,
    AtomicOp.XOR: Combination.XOR,
    AtomicOp.MIN: Combination.MIN,
    AtomicOp.MAX: Combination.MAX,
}
"""The others set or clear bits, or exchange for one value: `MERGE` does that."""


@dataclass(frozen=True, slots=True)
class Span:
    """The elements start … stop - 1 of a buffer."""

    start: int
    stop: int

    @property
    def count(self) -> int:
        """The number of elements."""
        return self.stop - self.start

    def hull(self, other: Span) -> Span:
        """The least span with both in it; one without elements counts for nothing."""
        if not self.count or not other.count:
            return self if self.count else other
        return Span(min(self.start, other.start), max(self.stop, other.stop))


NO_ELEMENTS = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A range of workgroups on the axis that is split."""

    first: int
    """The first workgroup."""
    groups: int
    """The number of workgroups on the axis."""
    needs: Mapping[str, Span]
    """By name, the elements of each buffer of the host that the shard's memory has to hold."""
    writes: Mapping[str, Span]
    """By name, the elements of each output that the shard may change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharding:
    """A launch as independent shards, in the order of their workgroups, and how each output is combined."""

    plan: LaunchPlan
    axis: int
    shards: tuple[Shard, ...]
    combined: Mapping[str, Combination]

    def __repr__(self) -> str:
        how = ", ".join(f"{name}: {combination.value}" for name, combination in self.combined.items())
        return f"<Sharding of {self.plan.program.name!r}: {len(self.shards)} shards on {'xyz'[self.axis]}; {how}>"


@dataclass(frozen=True, slots=True)
class SplitRefusal:
    """Why a launch cannot be split: the statement at fault, or the part of the launch, and what would help."""

    where: str
    message: str
    fix: str
    origin: Origin | None = None

    def __str__(self) -> str:
        place = self.where if self.origin is None else f"{self.where} ({self.origin})"
        return f"{place}: {self.message}. Fix: {self.fix}"


def find_sharding(plan: LaunchPlan, inputs: Sequence[memoryview], most: int) -> Sharding | tuple[SplitRefusal, ...]:
    """Split a launch, or say why not.

    Args:
        plan: The launch.
        inputs: The bytes of the inputs in binding order; small uniforms among them are taken into the proof.
        most: The greatest number of shards.

    Returns:
        At least two shards; or the refusals, in program order, at least one.
    """
    if refusals := tuple(_refusals(plan, inputs, most)):
        return refusals
    try:
        return _split(plan, inputs, most)
    except TooMuch:
        message, fix = "the program has too many expressions in too many statements", "bind shared ones to locals"
        return (SplitRefusal("body", message, fix),)


def _split(plan: LaunchPlan, inputs: Sequence[memoryview], most: int) -> Sharding | tuple[SplitRefusal, ...]:
    axis = max(axis for axis in range(3) if plan.grid[axis] > 1)
    reach = AccessBounds(launch_facts(plan, inputs))
    accesses = reach.accesses(_ids(plan, axis, 0, plan.grid[axis]))
    ops = _atomic_ops(accesses)
    if mixed := tuple(_mixed(plan.program, accesses, ops)):
        return mixed
    shards = [_shard(plan, reach, axis, first, groups) for first, groups in ranges(plan.grid[axis], most)]
    return _combined(plan, axis, shards, ops)


def ranges(total: int, most: int) -> Iterator[tuple[int, int]]:
    """At most `most` ranges of about equal length that make up 0 … total - 1: the first of each, and its length."""
    count = min(total, most)
    for number in range(count):
        first, stop = total * number // count, total * (number + 1) // count
        yield first, stop - first


def _refusals(plan: LaunchPlan, inputs: Sequence[memoryview], most: int) -> Iterator[SplitRefusal]:
    program = plan.program
    if most < 2:
        yield SplitRefusal("cluster", "it has one worker", "add workers")
    if plan.num_workgroups < 2:
        fix = "use more and smaller workgroups"
        yield SplitRefusal("grid", f"{plan.num_workgroups} workgroups cannot be divided", fix)
    if plan.repeats > 1:
        fix = "dispatch the program several times"
        yield SplitRefusal(
            "fixpoint_iterations", "each iteration may read what other workgroups wrote in the last", fix
        )
    for place in outline(program).of(Barrier):
        if isinstance(place.stmt, Barrier) and place.stmt.scope is Scope.GRID:
            message, fix = "a grid barrier makes all workgroups wait for each other", "end the program there"
            yield SplitRefusal(
                place.path, message, f"{fix}, and dispatch the rest as another one", _origin(program, place.stmt)
            )
    verdict = launch_determinism(plan, inputs)
    for reason in verdict.reasons:
        yield SplitRefusal(reason.where, f"{reason.code}: {reason.message}", reason.fix, reason.origin)
    for axis in range(3):
        if plan.grid[axis] > 1 and axis not in verdict.axes and program.outputs:
            message = f"the grid extends on {'xyz'[axis]}, which the program does not ask about"
            yield SplitRefusal("grid", message, "use a grid of one workgroup on that axis")


def _origin(program: Program, stmt: Stmt) -> Origin | None:
    if program.origins is None:
        return None
    return program.origins.statement(next(n for n, other in enumerate(program.statements) if other is stmt))


def _atomic_ops(accesses: Sequence[MemoryAccess]) -> Mapping[str, frozenset[AtomicOp]]:
    """By name of a buffer, the ops of atomics that several workgroups may apply to one element."""
    found: dict[str, set[AtomicOp]] = {}
    for access in accesses:
        if access.kind is AccessKind.COMMUTES and access.op is not None:
            found.setdefault(access.buffer.name, set()).add(access.op)
    return {name: frozenset(ops) for name, ops in found.items()}


def _mixed(
    program: Program, accesses: Sequence[MemoryAccess], ops: Mapping[str, frozenset[AtomicOp]]
) -> Iterator[SplitRefusal]:
    """A refusal for each buffer whose atomics are combined in two ways, at the first atomic of the second op."""
    for name, found in ops.items():
        if len({_COMBINED.get(op, Combination.MERGE) for op in found}) > 1 and program.buffer(name).is_output:
            of_buffer = [a for a in accesses if a.buffer.name == name and a.op is not None]
            access = next(a for a in of_buffer if a.op is not of_buffer[0].op)
            words = " and ".join(sorted(op.value for op in found))
            fix = "use a buffer for each op"
            yield SplitRefusal(access.place.path, f"atomics of {name!r} are combined by {words}", fix)


def _ids(plan: LaunchPlan, axis: int, first: int, groups: int) -> Mapping[Expr, Interval]:
    """What a shard tells of the ids of its invocations."""
    sizes, extents = plan.program.workgroup_size, list(plan.grid)
    lowest = [0, 0, 0]
    lowest[axis], extents[axis] = first, groups
    bounds: dict[Expr, Interval] = {}
    for a, (low, extent, size) in enumerate(zip(lowest, extents, sizes, strict=True)):
        bounds[Id(IdKind.WORKGROUP_ID, a)] = Interval(low, low + extent - 1)
        bounds[Id(IdKind.GLOBAL_ID, a)] = Interval(low * size, (low + extent) * size - 1)
        bounds[Id(IdKind.LOCAL_ID, a)] = Interval(0, size - 1)
        bounds[Id(IdKind.NUM_WORKGROUPS, a)] = Interval(plan.grid[a], plan.grid[a])
    before = prod(plan.grid[:axis])
    bounds[GROUP] = Interval(first * before, (first + groups) * before - 1)
    row = before * prod(sizes[: axis + 1])
    if prod(sizes[axis + 1 :]) == 1:  # else the invocations of a shard do not follow each other
        bounds[GLOBAL] = Interval(first * row, (first + groups) * row - 1)
    return bounds


def _shard(plan: LaunchPlan, reach: AccessBounds, axis: int, first: int, groups: int) -> Shard:
    visible = host_buffers(plan.program)
    needs = {buffer.name: NO_ELEMENTS for buffer in visible}
    writes = {buffer.name: NO_ELEMENTS for buffer in visible if buffer.is_output}
    for access in reach.accesses(_ids(plan, axis, first, groups)):
        name = access.buffer.name
        if name not in needs:
            continue
        length = plan.lengths[name]
        low, high = reach.elements(access, length)
        touched = Span(low, high + 1) if low <= high else NO_ELEMENTS
        if length > access.index.dtype.highest + 1:  # an index less the first element of a slice might wrap
            touched = Span(0, length)
        needs[name] = needs[name].hull(touched)
        if access.kind is not AccessKind.LOAD:
            writes[name] = writes[name].hull(touched)
    indirect = find_indirect_dispatch(plan.program)
    for buffer in visible:
        if buffer.memory is Memory.UNIFORM or (indirect is not None and buffer.name == indirect.buffer.name):
            needs[buffer.name] = Span(0, plan.lengths[buffer.name])
    return Shard(first=first, groups=groups, needs=needs, writes=writes)


def _combined(plan: LaunchPlan, axis: int, shards: Sequence[Shard], ops: Mapping[str, frozenset[AtomicOp]]) -> Sharding:
    """Decide how outputs are combined. What is not concatenated is whole in every shard."""
    combined: dict[str, Combination] = {}
    for buffer in plan.program.outputs:
        spans = [shard.writes[buffer.name] for shard in shards if shard.writes[buffer.name].count]
        if all(a.stop <= b.start for a, b in pairwise(spans)):
            combined[buffer.name] = Combination.CONCATENATE
        else:
            found = ops.get(buffer.name, frozenset())
            combined[buffer.name] = next((_COMBINED[op] for op in found if op in _COMBINED), Combination.MERGE)
    whole = {name: Span(0, plan.lengths[name]) for name, how in combined.items() if how is not Combination.CONCATENATE}
    return Sharding(
        plan=plan,
        axis=axis,
        shards=tuple(
            Shard(first=s.first, groups=s.groups, needs={**s.needs, **whole}, writes={**s.writes, **whole})
            for s in shards
        ),
        combined=combined,
    )
