"""Workgroups as loops: one work item runs a workgroup, its invocations one after the other, up to the next barrier.

Compilers for CPUs turn these loops into vector code; barriers cost nothing, workgroup memory is a local array, and
atomics on it are plain operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vyre_driver.legalization.bounds import leaves
from vyre_driver.legalization.coordinates import add, multiply
from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.lowered import RARE
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.rare import may_change
from vyre_driver.legalization.target import Arrangement, Groups, Target, unsupported
from vyre_driver.vectorization.workgroups.coarsening import GroupBatch, coarsening_limit
from vyre_driver.vectorization.workgroups.crossing import (
    crossing_locals,
    has_early_return,
    named_locals,
    phases,
    recomputed,
)
from vyre_driver.vectorization.workgroups.invocation import LoopInvocation, Workgroup
from vyre_driver.vectorization.workgroups.lanes import Limit, end_of_loop, limits_of_effects, split_guard
from vyre_driver.vectorization.workgroups.memory import MAX_BYTES, GroupMemory
from vyre_driver.vectorization.workgroups.orders import Orders
from vyre_driver.vectorization.workgroups.returns import without_returns
from vyre_driver.vectorization.workgroups.structure import (
    Choice,
    Limited,
    LockstepLoop,
    Node,
    Once,
    Phase,
    RareBranch,
    UniformLoop,
    has_barrier,
    structure,
)
from vyre_foundation.dtype import bool_, u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Literal, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    Let,
    Region,
    Return,
    Scope,
    Stmt,
    Subgroup,
    Var,
)
from vyre_foundation.ir.walk import expressions, postorder, rewrite, rewrite_body, statements, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.validate.declared import declared_locals, mutable_locals

STRIP = 64
"""How many invocations run a loop with divergent exits in lockstep."""
FEW = 4
"""At most this many invocations on x are unrolled, such as the components of a pixel or the coordinates of a point."""
MAX_COMPONENTS = 500
"""The most operations of an unrolled body."""
MIN_ACTIVE = 4
"""With at most this many active invocations, lockstep is slower than one after the other."""


def arranged(program: Program, ranges: Ranges, target: Target, wanted: Arrangement) -> tuple[Program, Arrangement]:
    """Run a workgroup as one work item, its invocations in loops between barriers.

    ``w[local_id] = x; barrier; y = w[x]``  →  ``for l: (w[l] = …; x_kept[l] = …); for l: y = w[x_kept[l]]``

    Where loops are `wanted` the result has a workgroup of one invocation, which may run several of the program's
    (`runs`). A program that has collectives or grid barriers of the target left, or whose memory is too large for that,
    stays as it is; `UnsupportedFeature` if that is no way either. A workgroup that has one invocation already loses its
    barriers, on every target.
    """
    if program.workgroup_volume == 1:
        return _without_barriers(program), wanted
    if not wanted.as_loops:
        return program, wanted
    if not _can_loop(program):
        return program, Arrangement(False, "it uses collectives, or a barrier of the grid, that the device has")
    grouper = _Grouper(_flat(program), ranges, target)
    if grouper.memory.bytes <= MAX_BYTES:
        return grouper.program(), replace(wanted, most=grouper.most)
    what = f"{grouper.memory.bytes} bytes of memory for one workgroup, more than {MAX_BYTES}"
    if target.groups is Groups.LOOPS and any(map(has_barrier, program.body)):
        raise unsupported(target, f"barriers beside {what}")
    return program, Arrangement(False, f"as loops it would take {what}")


@dataclass(frozen=True, slots=True)
class Strip:
    """Adjacent invocations on an axis of the workgroup: `extent` of them, or the rest behind `first`."""

    first: Local
    extent: int
    count: Expr


def _joined(parts: Sequence[Body]) -> Body:
    """Bodies one after another; of branches with the same condition the condition is tested once."""
    match parts[0]:
        case (If(condition, _, ()),) if not may_change(condition):
            branches = [part[0] for part in parts if len(part) == 1]
            if all(isinstance(s, If) and s.condition is condition and not s.orelse for s in branches):
                return (If(condition, _joined([s.then for s in branches if isinstance(s, If)])),)
    return tuple(stmt for part in parts for stmt in part)


def _without_barriers(program: Program) -> Program:
    """Remove barriers where a workgroup is one invocation, whose effects are in order anyway."""

    def without(stmt: Stmt) -> Stmt | Body:
        return () if isinstance(stmt, Barrier) and stmt.scope is Scope.WORKGROUP else stmt

    return replace(program, body=rewrite_body(program.body, without))


def _can_loop(program: Program) -> bool:
    """Whether nothing but storage and barriers connects the invocations."""
    native = (s for s in statements(program.body) if isinstance(s, (Subgroup, Barrier)))
    return all(isinstance(s, Barrier) and s.scope is Scope.WORKGROUP for s in native)


def _flat(program: Program) -> Program:
    """Simplify ids on axes of size 1: ``global_id``  →  ``workgroup_id``, and ``local_id``  →  ``0``."""
    sizes, memo = program.workgroup_size, dict[Expr, Expr]()

    def flat(node: Expr) -> Expr:
        match node:
            case Id(IdKind.GLOBAL_ID, axis) if sizes[axis] == 1:
                return Id(IdKind.WORKGROUP_ID, axis)
            case Id(IdKind.LOCAL_ID, axis) if sizes[axis] == 1:
                return literal(u32, 0)
            case _:
                return node

    return declare(program, rewrite_body(program.body, lambda s: with_expressions(s, lambda e: rewrite(e, flat, memo))))


class _Grouper:
    def __init__(self, program: Program, ranges: Ranges, target: Target) -> None:
        self._ranges, self._fresh = ranges, Fresh.of(program)
        self._is_wide = target.wide_indices and u64 in target.arithmetic
        self._nodes, self._group = structure(
            program.body, self._fresh, has_masks=target.masks, masks_memory=target.masked_memory
        )
        everything = (*program.body, *(stmt for phase in phases(self._nodes) for stmt in phase.body))
        self._lets = {s.name: s.value for s in statements(everything) if isinstance(s, Let)}
        self._mutable = mutable_locals(everything)
        self._crossing = crossing_locals(self._nodes, self._group.names)
        self._places = {name: place for place, name in enumerate(self._crossing)}
        self._recomputed = recomputed(self._crossing, self._lets, self._group)
        self._gone = self._fresh("gone") if has_early_return(self._nodes) else None
        types = declared_locals(everything)
        spilled = {name: types[name] for name in self._crossing if name not in self._recomputed}
        spilled = spilled if self._gone is None else {**spilled, self._gone: bool_}
        self.most = coarsening_limit(program, self._nodes, spilled.values())
        x, y, z = program.workgroup_size
        self._program = replace(program, workgroup_size=(x * self.most, y, z))
        self.memory = GroupMemory(self._program, spilled, self._fresh)
        self._axes = [axis for axis in (2, 1, 0) if program.workgroup_size[axis] > 1]
        self._orders = Orders(everything, self._axes, is_free=not self.memory.has_lane_arrays)
        self._limits: tuple[Limit, ...] = ()
        self._strip = dict[int, Strip]()
        self._first = {axis: Local(self._fresh(f"first_{'xyz'[axis]}"), u32) for axis in self._axes}
        self._batch = GroupBatch.of(program, self._first[0], self._fresh, ranges, self.most) if self.most > 1 else None
        images = {} if self._batch is None else self._batch.images
        self._workgroup = Workgroup(self.memory, ranges, self._fresh, self._first, images)
        zeros = dict.fromkeys(range(3), literal(u32, 0))
        self._at_group = LoopInvocation(self._workgroup, zeros, literal(u32, 0), {}).expr

    def program(self) -> Program:
        body = (*self._first_ids(), *self._emit(self._nodes))
        shared = [b for b in self._program.buffers if b not in self.memory.arrays]
        if self._batch is not None:
            shared.insert(sum(b.binding is not None for b in shared), self._batch.buffer)
        return replace(self._program, workgroup_size=(1, 1, 1), buffers=(*shared, *self.memory.buffers), body=body)

    def _first_ids(self) -> Iterator[Stmt]:
        """The global ids of the first invocation of the workgroup."""
        for axis, first in self._first.items():
            if axis == 0 and self._batch is not None:
                yield from self._batch.lets()
                continue
            size = self._program.workgroup_size[axis]
            self._ranges.learn(first, 0, u32.highest + 1 - size)  # the ids of all others are numbers, too
            yield Let(first.name, multiply(Id(IdKind.WORKGROUP_ID, axis), literal(u32, size)))

    def _emit(self, nodes: tuple[Node, ...]) -> Iterator[Stmt]:
        """What the workgroup does; what is the same for all invocations is taken from the first."""
        for node in nodes:
            match node:
                case Phase(body):
                    yield from self._phase(body, is_last=node is self._nodes[-1])
                case Once(Let(name, value)):
                    yield Let(name, self._at_group(value))
                case Once(jump):
                    yield jump
                case Choice(condition, then, orelse):
                    yield If(self._at_group(condition), tuple(self._emit(then)), tuple(self._emit(orelse)))
                case UniformLoop(stmt, inner):
                    start, stop = self._at_group(stmt.start), self._at_group(stmt.stop)
                    yield For(stmt.name, start, stop, stmt.step, tuple(self._emit(inner)))
                case LockstepLoop():
                    yield from self._strips(partial(self._lockstep, node))
                case RareBranch():
                    yield from self._strips(partial(self._rare_branch, node))
                case Limited(limits, inner):
                    outer, self._limits = self._limits, (*self._limits, *limits)
                    yield from self._emit(inner)
                    self._limits = outer

    def _phase(self, body: Body, *, is_last: bool, anew: bool = False) -> Body:
        """Loops over the invocations around `body`. `anew`: it is there already, so its locals need other names."""
        guarded, counters = (
            split_guard(body, self._group, self._lets, self._places.keys(), is_last=is_last),
            self._counters(),
        )
        limits = guarded.limits
        if is_last:
            limits = tuple(dict.fromkeys((*limits, *limits_of_effects(guarded.body, self._group, self._lets))))
            few = self._few(guarded.body, limits)
            if few is not None:
                return self._components(few, guarded.body, limits)
        here = named_locals(guarded.body) if self._crossing else set()
        declared = declared_locals(guarded.body)
        others = sorted((here & self._places.keys()) - declared.keys(), key=self._places.__getitem__)
        taken = {name: self._fresh(name) for name in others}
        names = {**taken, **{name: self._fresh(name) if anew else name for name in declared}}
        invocation = self._invocation(counters, names)
        ends = without_returns(guarded.body, self._farewell(invocation, is_last), self._fresh)
        left = () if is_last or leaves(guarded.body) else self._leave(invocation, guarded.body, names)
        stmts = (*self._take(invocation, taken), *invocation.body(ends), *left)
        if all(isinstance(s, Let) for s in stmts):
            return ()
        return self._for_all(counters, stmts, limits, self._orders.of(guarded.body))

    def _few(self, body: Body, limits: tuple[Limit, ...]) -> int | None:
        """How many invocations there are on x, if that is a small number: the first of a workgroup, if it has any."""
        ends = [limit for axis, kind, limit in limits if axis == 0 and kind is IdKind.GLOBAL_ID]
        few = min((int(end.value) for end in ends if isinstance(end, Literal)), default=0)
        is_simple = not (self._crossing or self._strip or any(isinstance(s, Return) for s in statements(body)))
        if not 0 < few <= min(FEW, self._program.workgroup_size[0]) or len(self._axes) < 2 or not is_simple:
            return None
        return (
            few if few * len(postorder(e for s in statements(body) for e in expressions(s))) <= MAX_COMPONENTS else None
        )

    def _components(self, few: int, body: Body, limits: tuple[Limit, ...]) -> Body:
        """Loops over the invocations on the other axes, each of which does what those on x do.

        ``for l: for c in 0..3: out[l, c] = x[l, c]``  →  ``for l: out[l, 0] = x[l, 0]; out[l, 1] = …; out[l, 2] = …``

        Neighbours in such a loop are further apart, but compilers make vectors of it, and none of three elements.
        """
        counters, names = self._counters(), declared_locals(body)
        del counters[0]
        parts: list[Body] = []
        for number in range(few):
            x = literal(u32, number)
            workgroup = replace(
                self._workgroup,
                first={**self._first, 0: literal(u32, 0)},
                images={**self._workgroup.images, Id(IdKind.GLOBAL_ID, 0): x},
            )
            renamed = {name: self._fresh(name) for name in names}
            ids = {**dict.fromkeys(range(3), literal(u32, 0)), **self._ids(counters), 0: x}
            parts.append(LoopInvocation(workgroup, ids, self._lane(ids), renamed).body(body))
        axes = [axis for axis in self._axes if axis]
        is_first = Apply(OPS["lt"], self._first[0], literal(u32, few))
        return (If(is_first, self._for_all(counters, _joined(parts), limits, axes)),)

    def _counters(self) -> dict[int, Local]:
        """Those of a new loop over the invocations, by axis."""
        return {axis: Local(self._fresh(f"local_{'xyz'[axis]}"), u32) for axis in self._axes}

    def _invocation(self, counters: Mapping[int, Local], names: Mapping[str, str]) -> LoopInvocation:
        """The one that the counters of a loop stand at."""
        ids = dict.fromkeys(range(3), literal(u32, 0)) | self._ids(counters)
        return LoopInvocation(self._workgroup, ids, self._lane(ids), names)

    def _ids(self, counters: Mapping[int, Local]) -> dict[int, Expr]:
        """The local ids of the invocation that the counters of a loop stand at."""
        ids: dict[int, Expr] = {}
        for axis, counter in counters.items():
            ids[axis] = add(self._strip[axis].first, counter) if axis in self._strip else counter
            self._ranges.learn(counter, 0, self._program.workgroup_size[axis] - 1)
            self._ranges.learn(ids[axis], 0, self._program.workgroup_size[axis] - 1)
            self._ranges.learn_whole(add(self._first[axis], ids[axis]))
        return ids

    def _for_all(
        self,
        counters: Mapping[int, Local],
        stmts: Body,
        limits: tuple[Limit, ...] = (),
        axes: Sequence[int] | None = None,
    ) -> Body:
        """Loops over the invocations, or over a strip of them without other limits.

        They are on `axes`, from the outermost to the innermost.
        """
        for axis in reversed(axes or self._axes):
            end = self._strip[axis].count if axis in self._strip else self._end(axis, limits)
            stmts = (For(counters[axis].name, literal(u32, 0), end, 1, stmts, is_parallel=True),)
        return stmts

    def _end(self, axis: int, limits: tuple[Limit, ...] = ()) -> Expr:
        whole: Expr = literal(u32, self._program.workgroup_size[axis])
        if axis == 0 and self._batch is not None:
            whole = self._batch.end
        return end_of_loop((*self._limits, *limits), axis, whole, self._first[axis], self._at_group)

    # ── strips of a workgroup ────────────────────────────────────────────────────────────────────────────────────────

    def _strips(self, stmts_of_strip: Callable[[], Iterable[Stmt]]) -> Iterator[Stmt]:
        """Statements for each strip of the workgroup: an invocation with many iterations delays only its strip."""
        left, ends = STRIP, dict[int, Expr]()
        for axis in reversed(self._axes):
            size = self._program.workgroup_size[axis]
            extent = min(size, left)
            left //= extent
            if extent < size:
                end = self._end(axis)
                if not isinstance(end, Literal):
                    known = Local(self._fresh(f"end_{'xyz'[axis]}"), u32)
                    yield Let(known.name, end)
                    end = known
                ends[axis], self._strip[axis] = end, self._new_strip(axis, end, extent)
        stmts: Body = tuple(stmts_of_strip())
        for axis, end in ends.items():
            strip = self._strip.pop(axis)
            stmts = (For(strip.first.name, literal(u32, 0), end, strip.extent, stmts),)
        yield from stmts

    def _new_strip(self, axis: int, end: Expr, extent: int) -> Strip:
        first = Local(self._fresh(f"part_{'xyz'[axis]}"), u32)
        self._ranges.learn(first, 0, self._program.workgroup_size[axis] - 1)
        count: Expr = literal(u32, extent)
        if not isinstance(end, Literal) or end.bits % extent:
            count = Apply(OPS["min"], count, Apply(OPS["sub"], end, first))
        return Strip(first, extent, count)

    def _lockstep(self, loop: LockstepLoop) -> Iterator[Stmt]:
        """Masked iterations for a strip while more than `MIN_ACTIVE` invocations are active, then one by one."""
        stmt = loop.stmt
        counter = Local(stmt.name, stmt.start.dtype)
        start, stop = self._at_group(stmt.start), self._at_group(stmt.stop)
        if loop.limit is not None:
            stop = Local(self._fresh("most"), counter.dtype)
            yield Var(stop.name, start)
            yield from self._gathered(stop, "max", loop.limit)
        rest, count = Local(self._fresh("rest"), counter.dtype), Local(self._fresh("count"), u32)
        yield Var(rest.name, stop)
        after = Apply(OPS["add_sat"], counter, literal(counter.dtype, stmt.step))
        go_on = If(Apply(OPS["ne"], count, literal(u32, 0)), (Assign(rest.name, after),))
        body = (
            *self._phase(loop.body.body, is_last=False),
            Var(count.name, literal(u32, 0)),
            *self._gathered(count, "add", loop.active),
            If(Apply(OPS["le"], count, literal(u32, MIN_ACTIVE)), (go_on, Break())),
        )
        yield For(stmt.name, start, stop, stmt.step, body)
        alone = replace(stmt, start=rest, stop=stop)
        is_active = Apply(OPS["ne"], loop.active, literal(u32, 0))
        one_by_one = self._phase((If(is_active, (alone,)),), is_last=False, anew=True)
        yield If(Apply(OPS["lt"], rest, stop), (Region(RARE, one_by_one),))

    def _rare_branch(self, branch: RareBranch) -> Iterator[Stmt]:
        """A branch for all of a strip if one invocation takes it: a loop over arrays, without branches."""
        count = Local(self._fresh("count"), u32)
        yield Var(count.name, literal(u32, 0))
        yield from self._gathered(count, "add", branch.taken)
        yield If(Apply(OPS["ne"], count, literal(u32, 0)), self._phase(branch.body.body, is_last=False))

    def _gathered(self, total: Local, op: str, name: Local) -> Body:
        """``total = op(total, …)`` with what the local `name` is for each invocation."""
        counters = self._counters()
        value = self._here(self._invocation(counters, {}), name.name)
        value = value if value.dtype is total.dtype else Cast(total.dtype, value)
        return self._for_all(counters, (Assign(total.name, Apply(OPS[op], total, value)),))

    # ── between phases ───────────────────────────────────────────────────────────────────────────────────────────────

    def _lane(self, ids: Mapping[int, Expr]) -> Expr:
        """The number of an invocation in its workgroup, as an index."""
        dtype = u64 if self._is_wide and len(self._axes) > 1 else u32
        lane: Expr | None = None
        for axis in self._axes:
            id = ids[axis] if dtype is u32 else Cast(dtype, ids[axis])
            size = literal(dtype, self._program.workgroup_size[axis])
            lane = id if lane is None else add(multiply(lane, size), id)
        assert lane is not None
        self._ranges.learn(lane, 0, self._program.workgroup_volume - 1)
        return lane

    def _farewell(self, invocation: LoopInvocation, is_last: bool) -> Body:
        """What an invocation leaves behind that ends early: later phases pass it over."""
        return () if is_last or self._gone is None else (invocation.spill(self._gone, literal(bool_, 1)),)

    def _take(self, invocation: LoopInvocation, taken: dict[str, str]) -> Iterator[Stmt]:
        """The locals of other phases, under the names that they have in this one."""
        if self._gone is not None:
            yield If(invocation.spilled(self._gone), (Continue(),))
        for name, here in taken.items():
            kind = Var if name in self._mutable else Let
            yield kind(here, self._here(invocation, name))

    def _here(self, invocation: LoopInvocation, name: str) -> Expr:
        """A local of another phase, for an invocation."""
        return invocation.expr(self._recomputed[name]) if name in self._recomputed else invocation.spilled(name)

    def _leave(self, invocation: LoopInvocation, body: Body, names: dict[str, str]) -> Iterator[Stmt]:
        """What other phases may look at, as it is now."""
        changed = declared_locals(body).keys() | {s.name for s in statements(body) if isinstance(s, Assign)}
        for name in sorted(changed & self.memory.spilled.keys(), key=self._places.__getitem__):
            yield invocation.spill(name, Local(names[name], self.memory.spilled[name].dtype))
