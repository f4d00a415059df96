"""A kernel as what a workgroup does: phases that its invocations run one after the other, and control around them.

A barrier ends a phase. Control flow around barriers is the same for all invocations, so the workgroup takes it as one.
So it does with loops over plain memory whose bounds are the same for all: their invocations then walk through memory
side by side, and compilers turn the inner loop over invocations into vectors. And so it does with loops of arithmetic
that invocations leave at different iterations (`lockstep`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vyre_driver.legalization.lowered import RARELY
from vyre_driver.legalization.rare import as_selections, is_rare_branch
from vyre_driver.vectorization.workgroups.guarded import outside_of_guards
from vyre_driver.vectorization.workgroups.lanes import Limit, split_guard
from vyre_driver.vectorization.workgroups.lockstep import can_mask, masked
from vyre_driver.vectorization.workgroups.values import FAR, GroupValues, Strides
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Expr, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    Let,
    Region,
    Return,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from vyre_foundation.ir.walk import expressions, jumps_of, postorder, statements
from vyre_foundation.ops import OPS
from vyre_foundation.validate.declared import declared_locals

_UNROLLED = 4
"""Loops with at most this trip count stay inside: compilers unroll them."""
MAX_STRIDE = 4
"""Invocations whose elements are at most this far apart access memory side by side."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Statements that every invocation runs from first to last; no other invocation waits for them."""

    body: Body


@dataclass(frozen=True, slots=True)
class Choice:
    """An `if` that the workgroup takes as one."""

    condition: Expr
    then: tuple[Node, ...]
    orelse: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class UniformLoop:
    """A loop whose trip count is the same for all invocations of the workgroup."""

    stmt: For
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class LockstepLoop:
    """A loop with divergent exits that a strip of invocations runs in lockstep.

    `body` is a masked iteration: `active` becomes 0 for invocations that leave. `limit` is where the loop ends for an
    invocation, None where it ends for all at once.
    """

    stmt: For
    body: Phase
    active: Local
    limit: Local | None


@dataclass(frozen=True, slots=True)
class RareBranch:
    """A branch that hardly any invocation takes.

    All invocations of a strip run `body` if one of them takes the branch, masked by `taken`.
    """

    taken: Local
    body: Phase


@dataclass(frozen=True, slots=True)
class Limited:
    """What only the first invocations on some axes run."""

    limits: tuple[Limit, ...]
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Once:
    """A statement of the workgroup: a let of a value that is one for all, or a jump that all take."""

    stmt: Let | Return | Break | Continue


Node = Phase | Choice | UniformLoop | LockstepLoop | RareBranch | Limited | Once


def structure(
    body: Body, fresh: Fresh, *, has_masks: bool = False, masks_memory: bool = False
) -> tuple[tuple[Node, ...], GroupValues]:
    """The nodes of a kernel, and the locals that are one for a workgroup.

    `has_masks` and `masks_memory`: see `Target.masks` and `Target.masked_memory`.
    """
    lets = {s.name: s.value for s in statements(body) if isinstance(s, Let)}
    builder = _Structure(Strides(statements(body)), lets, fresh, has_masks=has_masks, masks_memory=masks_memory)
    return builder.nodes(outside_of_guards(flattened(body), fresh), in_loop=False, barrier_later=False), builder.group


def flattened(body: Body) -> Body:
    """Remove regions at every depth: ``region: (a; b)``  →  ``a; b``; only rare ones stay."""
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Region(label) if label != RARELY:
                out += flattened(stmt.body)
            case If(condition, then, orelse):
                out.append(If(condition, flattened(then), flattened(orelse)))
            case For(name, start, stop, step, inner):
                out.append(For(name, start, stop, step, flattened(inner)))
            case _:
                out.append(stmt)
    return tuple(out)


class _Structure:
    def __init__(
        self, strides: Strides, lets: Mapping[str, Expr], fresh: Fresh, *, has_masks: bool, masks_memory: bool
    ) -> None:
        self.group = GroupValues()
        self._strides, self._lets, self._fresh = strides, lets, fresh
        self._has_masks, self._masks_memory = has_masks, masks_memory
        self._has_returned = False
        """Whether some invocations may be gone at this place."""

    def nodes(self, body: Body, *, in_loop: bool, barrier_later: bool) -> tuple[Node, ...]:
        """`in_loop`: a jump here belongs to a loop of the workgroup. `barrier_later`: a barrier may follow `body`."""
        out: list[Node] = []
        open: list[Stmt] = []
        last_barrier = max((n for n, s in enumerate(body) if has_barrier(s)), default=-1)
        for position, stmt in enumerate(body):
            later = barrier_later or position < last_barrier
            if isinstance(stmt, Let) and not self._has_returned and self.group.holds(stmt.value):
                self.group.names.add(stmt.name)
                out.append(Once(stmt))  # before the phase that is still open: nothing there can change it
                continue
            node = self._of_group(stmt, in_loop, later)
            if isinstance(node, LockstepLoop):
                open += _before(node)
            if node is None:
                self._has_returned |= _contains(stmt, Return)
                open.append(stmt)
            elif open:
                out.append(Phase(tuple(open)))
                open = []
            if node is not None and not isinstance(node, Barrier):
                out.append(node)
        return (*out, Phase(tuple(open))) if open else tuple(out)

    def _of_group(self, stmt: Stmt, in_loop: bool, later: bool) -> Node | Barrier | None:
        """`stmt` as the workgroup takes it, if it does so as one."""
        match stmt:
            case Barrier():
                return stmt
            case Return() | Break() | Continue() if later or in_loop:
                return Once(stmt)
            case If() if has_barrier(stmt) or (in_loop and any(jumps_of(stmt))) or (later and _contains(stmt, Return)):
                then = self.nodes(stmt.then, in_loop=in_loop, barrier_later=later)
                orelse = self.nodes(stmt.orelse, in_loop=in_loop, barrier_later=later)
                return Choice(stmt.condition, then, orelse)
            case If() if any(self._runs_in_strips(s) for s in stmt.then):
                guard = split_guard((stmt,), self.group, self._lets, frozenset())
                if guard.limits and guard.body == stmt.then:
                    return Limited(guard.limits, self.nodes(stmt.then, in_loop=False, barrier_later=later))
            case If(Local() as taken) if is_rare_branch(stmt) and not (self._has_returned or self.group.holds(taken)):
                return RareBranch(taken, Phase(as_selections(stmt)))
            case For():
                as_one = has_barrier(stmt) or (later and _contains(stmt, Return))
                if as_one or self._goes_outside(stmt):
                    self.group.names.add(stmt.name)
                    inner = self.nodes(stmt.body, in_loop=as_one, barrier_later=as_one or later)
                    return UniformLoop(stmt, self._with_choice(inner))
                if self._is_lockstep(stmt):
                    return self._lockstep_loop(stmt)
        return None

    def _with_choice(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The nodes of a loop; a uniform branch that is all of the last phase is taken by the workgroup as one."""
        match nodes:
            case (*before, Phase((If(condition, then, orelse),))) if self.group.holds(condition):
                arms = [self._with_choice((Phase(arm),)) if arm else () for arm in (then, orelse)]
                return (*before, Choice(condition, *arms))
        return nodes

    def _runs_in_strips(self, stmt: Stmt) -> bool:
        """Whether `stmt` runs strip by strip."""
        return is_rare_branch(stmt) or (isinstance(stmt, For) and self._is_lockstep(stmt))

    def _goes_outside(self, loop: For) -> bool:
        """Whether the workgroup should go through a loop without barriers as one."""
        inside = [s for s in loop.body if not (isinstance(s, For) and self._is_lockstep(s))]
        if self._has_returned or any(_contains(s, Return, Break, Continue) for s in inside):
            return False
        if not (self.group.holds(loop.start) and self.group.holds(loop.stop)) or _is_unrolled(loop):
            return False
        if self._masks_memory and _carries(loop) and not any(map(is_rare_branch, loop.body)):
            return False  # registers keep what an iteration leaves to the next; outside it would be in memory
        strides = [self._strides.of(index) for index in shared_indices(loop.body)]
        # A sum in memory waits for its own store in every iteration; in lockstep the waits overlap.
        if FAR in strides and _contains(loop, Store, Atomic):
            strides = [stride for stride in strides if stride != FAR]
        return all(stride is None or abs(stride) <= MAX_STRIDE for stride in strides)

    def _is_lockstep(self, loop: For) -> bool:
        """Whether a loop with divergent exits is worth running in lockstep."""
        if self._has_masks or self._has_returned or not self.group.holds(loop.start) or _is_unrolled(loop):
            return False
        ends_for_all = self.group.holds(loop.stop)
        if ends_for_all and not _contains(loop, Break, Continue):
            return False
        return (ends_for_all or loop.step == 1) and can_mask(loop)

    def _lockstep_loop(self, loop: For) -> LockstepLoop:
        active, limit = Local(self._fresh("going"), u32), None
        if not self.group.holds(loop.stop):
            limit = Local(self._fresh("limit"), loop.stop.dtype)
            is_over = Apply(OPS["ge"], Local(loop.name, limit.dtype), limit)
            loop = replace(loop, body=(If(is_over, (Break(),)), *loop.body))
        self.group.names.add(loop.name)
        return LockstepLoop(loop, Phase(masked(loop.body, active, self._fresh)), active, limit)


def _before(loop: LockstepLoop) -> Iterator[Stmt]:
    """What every invocation does before the loop."""
    yield Var(loop.active.name, literal(u32, 1))
    if loop.limit is not None:
        yield Let(loop.limit.name, loop.stmt.stop)


def has_barrier(stmt: Stmt) -> bool:
    """Whether a barrier is in a statement, at any depth."""
    return _contains(stmt, Barrier)


def _contains(stmt: Stmt, *kinds: type[Stmt]) -> bool:
    return any(isinstance(s, kinds) for s in statements((stmt,)))


def _carries(loop: For) -> bool:
    """Whether an iteration leaves the value of a variable to the next."""
    inner = declared_locals(loop.body)
    return any(isinstance(s, Assign) and s.name not in inner for s in statements(loop.body))


def _is_unrolled(loop: For) -> bool:
    """Whether compilers unroll the loop."""
    return loop.trip_count is not None and loop.trip_count <= _UNROLLED


def shared_indices(body: Body) -> list[Expr]:
    """The indices of all accesses to memory that neighbours share."""
    indices: list[Expr] = []
    for stmt in statements(body):
        if isinstance(stmt, (Store, Atomic)) and stmt.buffer.memory is not Memory.PRIVATE:
            indices.append(stmt.index)
        nodes = postorder(expressions(stmt))
        indices += [n.index for n in nodes if isinstance(n, Load) and n.buffer.memory is not Memory.PRIVATE]
    return indices
