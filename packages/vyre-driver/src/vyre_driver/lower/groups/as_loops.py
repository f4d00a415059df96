"""Workgroups as loops: one work item runs a workgroup, its invocations one after the other, up to the next barrier.

Compilers for CPUs turn these loops into vector code; barriers cost nothing, workgroup memory is a local array, and
atomics on it are plain operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vyre_driver.lower.coordinates import add, multiply
from vyre_driver.lower.declare import declare
from vyre_driver.lower.fresh import Fresh
from vyre_driver.lower.groups.crossing import crossing_locals, made_again, named_locals, someone_leaves
from vyre_driver.lower.groups.invocation import Invocation, Workgroup
from vyre_driver.lower.groups.lanes import end_of_loop, split_guard
from vyre_driver.lower.groups.memory import MAX_BYTES, GroupMemory
from vyre_driver.lower.groups.returns import without_returns
from vyre_driver.lower.groups.structure import Choice, Node, Once, Phase, Rounds, has_barrier, structure
from vyre_driver.lower.ranges import Ranges
from vyre_driver.lower.target import Arrangement, Groups, Target, unsupported
from vyre_foundation.dtype import bool_, u32, u64
from vyre_foundation.ir.expr import Cast, Expr, Id, IdKind, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Barrier, Body, Continue, For, If, Let, Scope, Stmt, Subgroup, Var
from vyre_foundation.ir.walk import rewrite, rewrite_body, statements, with_expressions
from vyre_foundation.validate.declared import declared_locals, mutable_locals


def arranged(program: Program, ranges: Ranges, target: Target, wanted: Arrangement) -> tuple[Program, Arrangement]:
    """``w[local_id] = x; barrier; y = w[x]``  →  ``for l: (w[l] = …; x_kept[l] = …); for l: y = w[x_kept[l]]``

    The result has a workgroup of one invocation. A program that has collectives or grid barriers of the target left, or
    whose memory is too large for that, stays as it is; `UnsupportedFeature` if that is no way either.
    """
    if not wanted.as_loops or program.workgroup_volume == 1:
        return program, wanted
    if not _can_loop(program):
        return program, Arrangement(False, "it uses collectives, or a barrier of the grid, that the device has")
    grouper = _Grouper(_flat(program), ranges, target)
    if grouper.memory.bytes <= MAX_BYTES:
        return grouper.program(), wanted
    what = f"{grouper.memory.bytes} bytes of memory for one workgroup, more than {MAX_BYTES}"
    if target.groups is Groups.LOOPS and any(map(has_barrier, program.body)):
        raise unsupported(target, f"barriers beside {what}")
    return program, Arrangement(False, f"as loops it would take {what}")


def _can_loop(program: Program) -> bool:
    """Whether nothing but storage and barriers connects the invocations."""
    native = (s for s in statements(program.body) if isinstance(s, (Subgroup, Barrier)))
    return all(isinstance(s, Barrier) and s.scope is Scope.WORKGROUP for s in native)


def _flat(program: Program) -> Program:
    """``global_id`` of an axis of size 1  →  ``workgroup_id``, and ``local_id``  →  ``0``"""
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
        self._program, self._ranges, self._fresh = program, ranges, Fresh(program)
        self._is_wide = target.wide_indices and u64 in target.arithmetic
        self._nodes, self._group = structure(program.body)
        self._lets = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
        self._mutable = mutable_locals(program.body)
        self._crossing = crossing_locals(self._nodes, self._group.names)
        self._again = made_again(self._crossing, self._lets, self._group)
        self._gone = self._fresh("gone") if someone_leaves(self._nodes) else None
        types = declared_locals(program.body)
        kept = {name: types[name] for name in self._crossing if name not in self._again}
        self.memory = GroupMemory(program, kept if self._gone is None else {**kept, self._gone: bool_}, self._fresh)
        self._axes = [axis for axis in (2, 1, 0) if program.workgroup_size[axis] > 1]
        self._first = {axis: Local(self._fresh(f"first_{'xyz'[axis]}"), u32) for axis in self._axes}
        self._workgroup = Workgroup(self.memory, ranges, self._fresh, self._first)
        zeros = dict.fromkeys(range(3), literal(u32, 0))
        self._at_group = Invocation(self._workgroup, zeros, literal(u32, 0), {}).expr

    def program(self) -> Program:
        body = (*self._first_ids(), *self._emit(self._nodes))
        shared = [b for b in self._program.buffers if b not in self.memory.arrays]
        return replace(self._program, workgroup_size=(1, 1, 1), buffers=(*shared, *self.memory.buffers), body=body)

    def _first_ids(self) -> Iterator[Stmt]:
        """The global ids of the first invocation of the workgroup."""
        for axis, first in self._first.items():
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
                case Rounds(stmt, inner):
                    start, stop = self._at_group(stmt.start), self._at_group(stmt.stop)
                    yield For(stmt.name, start, stop, stmt.step, tuple(self._emit(inner)))

    def _phase(self, body: Body, *, is_last: bool) -> Body:
        """Loops over the invocations around `body`."""
        guarded, ids = split_guard(body, self._group, self._lets, frozenset(self._crossing)), self._counters()
        here, declared = named_locals(guarded.body), declared_locals(guarded.body)
        taken = {name: self._fresh(name) for name in self._crossing if name in here and name not in declared}
        names = {**taken, **{name: name for name in declared}}
        invocation = Invocation(self._workgroup, ids, self._lane(ids), names)
        ends = without_returns(guarded.body, self._farewell(invocation, is_last), self._fresh)
        left = () if is_last else self._leave(invocation, guarded.body, names)
        stmts = (*self._take(invocation, taken), *invocation.body(ends), *left)
        if all(isinstance(s, Let) for s in stmts):
            return ()
        for axis in reversed(self._axes):
            size, counter = self._program.workgroup_size[axis], ids[axis]
            assert isinstance(counter, Local)
            end = end_of_loop(guarded, axis, size, self._first[axis], self._at_group)
            stmts = (For(counter.name, literal(u32, 0), end, 1, stmts),)
        return stmts

    def _counters(self) -> dict[int, Expr]:
        """The local ids of a new loop over the invocations."""
        ids: dict[int, Expr] = dict.fromkeys(range(3), literal(u32, 0))
        for axis in self._axes:
            ids[axis] = Local(self._fresh(f"local_{'xyz'[axis]}"), u32)
            self._ranges.learn(ids[axis], 0, self._program.workgroup_size[axis] - 1)
        return ids

    def _lane(self, ids: dict[int, Expr]) -> Expr:
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

    def _farewell(self, invocation: Invocation, is_last: bool) -> Body:
        """What an invocation leaves behind that ends early: later phases pass it over."""
        return () if is_last or self._gone is None else (invocation.keep(self._gone, literal(bool_, 1)),)

    def _take(self, invocation: Invocation, taken: dict[str, str]) -> Iterator[Stmt]:
        """The locals of other phases, under the names that they have in this one."""
        if self._gone is not None:
            yield If(invocation.kept(self._gone), (Continue(),))
        for name, here in taken.items():
            kind = Var if name in self._mutable else Let
            yield kind(here, invocation.expr(self._again[name]) if name in self._again else invocation.kept(name))

    def _leave(self, invocation: Invocation, body: Body, names: dict[str, str]) -> Iterator[Stmt]:
        """What other phases may look at, as it is now."""
        changed = declared_locals(body).keys() | {s.name for s in statements(body) if isinstance(s, Assign)}
        for name in self.memory.kept:
            if name in changed:
                yield invocation.keep(name, Local(names[name], self.memory.kept[name].dtype))
