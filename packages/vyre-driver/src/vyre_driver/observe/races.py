"""Data races, found by the program itself: IR to IR, so that every backend can run the detector.

Every element of memory that can be written has a shadow: one or two words of u64 that say who has touched it, and how,
since the last barrier that orders accesses. Before each access the invocation brings the word up to date by
compare-exchange, and reports the element where the new access races with those that the word stands for.

```
word   epoch: 28 bits | workgroup, invocation in it: 33 bits | state: 3 bits
state  0 nothing, or accesses of an earlier epoch
       1 one party, which has written, or has both read and updated atomically: nobody else may touch the element
       2 one party has read             3 one party has updated atomically
       4 several have read              5 several have updated atomically
```

The states lose nothing: whether another access races is a function of the state and of whether the party is the same.
Where a program has workgroup barriers, parties are judged twice: workgroups within an epoch that grid barriers end, and
invocations of one workgroup within an epoch that either barrier ends. Without them, invocations are judged at once.

A word changes at most twice in an epoch, so `ATTEMPTS` compare-exchanges always suffice: one that guesses an untouched
element, one for what it has found instead, and one for each change by others. A word of the second kind may change more
often if several workgroups touch the element, but then the first word decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.device.profile import Extent
from vyre_driver.legalization.coordinates import group_index, local_index
from vyre_driver.legalization.declare import declare, next_binding, scratch, workgroup_array
from vyre_driver.observe.accesses import (
    AccessSite,
    Path,
    Touch,
    accesses,
    instrumented_launch,
    surrounded,
    without_traps,
)
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.build import Value, select
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.buffer import Access, Buffer, Count, LengthOf, Memory, Per, PerLaunch
from vyre_foundation.ir.expr import Expr, Id, IdKind, Length, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    AtomicOp,
    Barrier,
    Body,
    Break,
    For,
    If,
    Let,
    Scope,
    Stmt,
    Store,
    Var,
)  # fmt: skip
from vyre_foundation.validate.limits import MAX_BYTES

STATE_BITS, PARTY_BITS = 3, 33
EPOCH_BIT = STATE_BITS + PARTY_BITS
ATTEMPTS = 4
LOGGED = 2**16
"""Accesses to the racing element that the second run keeps."""
TRIES = 3
"""How often a run that names the accesses is repeated, if the program does something else each time."""

_OWNED = 1
_ONE = {Touch.WRITE: _OWNED, Touch.READ: 2, Touch.ATOMIC: 3}
_SEVERAL = {Touch.READ: 4, Touch.ATOMIC: 5}


@dataclass(frozen=True, slots=True)
class RacingElement:
    """An element that has raced: of a buffer, and of the workgroup whose memory the buffer is, if it is."""

    buffer: str
    index: int
    group: int | None


class RacingAccess(NamedTuple):
    """One of two accesses that race: the linear id of the invocation, what it does, and the path of the statement."""

    invocation: int
    touch: Touch
    path: Path


@dataclass(frozen=True, slots=True)
class Race:
    """A data race: the element, and two accesses to it.

    There are none if the program did something else in each run that was to name them; a program with a race may.
    """

    buffer: str
    index: int
    accesses: tuple[RacingAccess, RacingAccess] | None


class DetectingProgram(NamedTuple):
    """A program that looks for its own races.

    The output `results` is u64. Without a focus it has an element for each buffer of `tracked`: zero, or the complement
    of ``workgroup << 32 | index`` of the lowest element that raced. With one it is the log of the element.
    """

    program: Program
    results: str
    tracked: tuple[Buffer, ...]
    sites: tuple[AccessSite, ...]


def find_race(
    backend: VyreBackend, program: Program, arrays: Mapping[str, object], config: DispatchConfig = DEFAULT_CONFIG
) -> Race | None:
    """Run `program` on `backend` with a shadow of its memory.

    Args:
        backend: Any that has 64-bit atomics.
        program: A valid program. Its traps do not count.
        arrays: The inputs by buffer name.
        config: The options of the dispatch.

    Returns:
        The race of the first buffer that has one, there of the lowest workgroup and index; None if nothing races.

    Raises:
        VyreError: The dispatch failed.
    """
    plan, launch = instrumented_launch(program, arrays, config)

    def results(detecting: DetectingProgram) -> list[int]:
        found: list[int] = backend.dispatch_arrays(detecting.program, arrays, launch)[detecting.results].tolist()
        return found

    element = _first(searching := detecting_races(plan.program, repeats=plan.repeats > 1), results(searching))
    if element is None:
        return None
    naming = detecting_races(plan.program, element, repeats=plan.repeats > 1)
    for _ in range(TRIES):
        racing = _accesses(naming, results(naming), plan)
        if racing is not None:
            return Race(element.buffer, element.index, racing)
    return Race(element.buffer, element.index, None)


def detecting_races(program: Program, focus: RacingElement | None = None, *, repeats: bool = False) -> DetectingProgram:
    """`program` without its traps, which finds elements that race, or with a `focus` logs who touches that element.

    Launch it over a grid of its own: the added outputs must not decide how large it is. One that `repeats` clears its
    shadows first.
    """
    return _Detecting(program, focus, repeats).made()


class _Shadow(NamedTuple):
    """Words for the elements of a buffer. Parties are those of `own`; their epoch has the bits from `epoch_bit` on."""

    words: Buffer
    own: Expr
    epoch: Value
    epoch_bit: int


class _Detecting:
    def __init__(self, program: Program, focus: RacingElement | None, repeats: bool) -> None:
        self._program, self._focus, self._repeats = program, focus, repeats
        self._fresh = Fresh.of(program)
        self._lane_bits = (program.workgroup_volume - 1).bit_length()
        self._group = Local(self._fresh("race_group"), u64)
        self._party = Local(self._fresh("race_party"), u64)
        scopes = {stmt.scope for stmt in program.of(Barrier)}
        self._epoch = Local(self._fresh("race_epoch"), u64) if scopes else None
        self._grid_epoch = Local(self._fresh("race_grid_epoch"), u64) if Scope.GRID in scopes else None
        self._has_workgroup_barriers = Scope.WORKGROUP in scopes
        self._tracked = tuple(
            b
            for b in program.buffers
            if b.access.writes and b.memory is not Memory.PRIVATE and (focus is None or b.name == focus.buffer)
        )
        self._binding = next_binding(program)
        self._added: list[Buffer] = []
        self._shadows = {buffer: self._shadows_of(buffer) for buffer in self._tracked}
        count = len(self._tracked) if focus is None else 1 + 2 * LOGGED
        self._results = Buffer(
            self._fresh("races"), u64, Access.WRITE, Memory.STORAGE, max(1, count), self._next_binding()
        )
        self._added.append(self._results)
        self._sites: list[AccessSite] = []

    def made(self) -> DetectingProgram:
        """The program and what its results mean."""
        body = (*self._prologue(), *without_traps(surrounded(self._program.body, self._around)))
        program = declare(self._program, body, *self._added)
        return DetectingProgram(program, self._results.name, self._tracked, tuple(self._sites))

    # ── shadows ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _shadows_of(self, buffer: Buffer) -> tuple[_Shadow, ...]:
        own, epoch, grid_epoch = self._party, self._value(self._epoch), self._value(self._grid_epoch)
        lane_bit = STATE_BITS + self._lane_bits
        if buffer.memory is Memory.WORKGROUP:
            return (_Shadow(self._workgroup_words(buffer), own, epoch, lane_bit),)
        if not self._has_workgroup_barriers:
            return (_Shadow(self._words(buffer), own, grid_epoch, EPOCH_BIT),)
        group = Value(self._group) << lane_bit
        return (
            _Shadow(self._words(buffer), group.expr, grid_epoch, EPOCH_BIT),
            _Shadow(self._words(buffer), own, epoch, lane_bit),
        )

    def _words(self, buffer: Buffer) -> Buffer:
        count: Count = buffer.count if isinstance(buffer.count, int | PerLaunch) else LengthOf(buffer.name)
        return self._add(scratch(self._fresh.numbered("race_words"), u64, count, self._next_binding()))

    def _workgroup_words(self, buffer: Buffer) -> Buffer:
        """In workgroup memory if all of it fits there, else in scratch memory."""
        assert isinstance(buffer.count, int)
        name = self._fresh.numbered("race_words")
        arrays = [b for b in (*self._program.buffers, *self._added) if b.memory is Memory.WORKGROUP]
        taken = sum(b.count * b.dtype.size for b in arrays if isinstance(b.count, int))
        if taken + buffer.count * u64.size <= MAX_BYTES[Memory.WORKGROUP]:
            return self._add(workgroup_array(name, u64, buffer.count))
        per_group = PerLaunch(Per.WORKGROUP, max(1, buffer.count))
        return self._add(scratch(name, u64, per_group, self._next_binding()))

    def _add(self, buffer: Buffer) -> Buffer:
        self._added.append(buffer)
        return buffer

    def _next_binding(self) -> int:
        self._binding += 1
        return self._binding - 1

    def _value(self, epoch: Local | None) -> Value:
        return Value(literal(u64, 0) if epoch is None else epoch)

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _prologue(self) -> Body:
        """Who the invocation is, and its epochs."""
        group, lane = Value(group_index()).cast(u64), Value(local_index(self._program)).cast(u64)
        party = ((Value(self._group) << self._lane_bits) | lane) << STATE_BITS
        epochs = [epoch for epoch in (self._epoch, self._grid_epoch) if epoch is not None]
        names = Let(self._group.name, group.expr), Let(self._party.name, party.expr)
        return (*names, *(Var(epoch.name, literal(u64, 0)) for epoch in epochs), *self._cleared())

    def _cleared(self) -> Body:
        """What an earlier iteration of a fixpoint has left goes."""
        words = [b for b in self._added if b.memory is Memory.SCRATCH]
        if not self._repeats or not words:
            return ()
        volume = self._program.workgroup_volume
        groups = Value(literal(u64, 1))
        for axis in range(3):
            groups = groups * Value(Id(IdKind.NUM_WORKGROUPS, axis)).cast(u64)
        own = (Value(self._group) * volume + Value(local_index(self._program)).cast(u64)).expr
        loops: list[Stmt] = []
        for buffer in words:
            turn = Local(self._fresh.numbered("race_turn"), u64)
            element = Value(turn) * groups * volume + Value(own)
            length = Value(Length(buffer)).cast(u64)
            stop = (length + groups * volume - 1) // (groups * volume)
            store = Store(buffer, element.expr, literal(u64, 0))
            loops.append(For(turn.name, literal(u64, 0), stop.expr, 1, (store,)))
        return (*loops, Barrier(Scope.GRID))

    def _around(self, stmt: Stmt, path: Path) -> tuple[Body, Body]:
        sites = [site for site in accesses(stmt, path) if site.buffer in self._shadows]
        # Whatever races with a read races with a write of the same element by the same statement.
        written = {(site.buffer, site.index) for site in sites if site.touch is Touch.WRITE}
        sites = [s for s in sites if s.touch is not Touch.READ or (s.buffer, s.index) not in written]
        before = [added for site in sites for added in self._watched(site)]
        return tuple(before), self._new_epochs(stmt)

    def _new_epochs(self, stmt: Stmt) -> Body:
        if not isinstance(stmt, Barrier):
            return ()
        ended = [self._epoch, self._grid_epoch if stmt.scope is Scope.GRID else None]
        return tuple(Assign(epoch.name, (Value(epoch) + 1).expr) for epoch in ended if epoch is not None)

    def _watched(self, site: AccessSite) -> Body:
        """What is done before an access: nothing if it is out of bounds, where it has no effect."""
        number = len(self._sites)
        self._sites.append(site)
        index = Local(self._fresh.numbered("race_index"), site.index.dtype)
        reached = Value(index).cast(u64) < Value(Length(site.buffer)).cast(u64)
        if self._focus is not None:
            reached = reached & (Value(index).cast(u64) == self._focus.index)
            if self._focus.group is not None:
                reached = reached & (Value(self._group) == self._focus.group)
        steps = [self._updated(shadow, site, index, number) for shadow in self._shadows[site.buffer]]
        return Let(index.name, site.index), If(reached.expr, tuple(stmt for step in steps for stmt in step))

    def _updated(self, shadow: _Shadow, site: AccessSite, index: Local, number: int) -> Body:
        """Bring the word of an element up to date, or report that the access races."""
        own, found, seen, following, old = (
            Local(self._fresh.numbered(f"race_{stem}"), u64) for stem in ("own", "found", "seen", "next", "old")
        )
        one = _ONE[site.touch]
        apart, state = Value(seen) ^ Value(own), Value(seen) & (2**STATE_BITS - 1)
        is_new = apart >= 2**shadow.epoch_bit
        is_own = (apart < 2**STATE_BITS) & (state <= 3)
        races = ~is_new & ~is_own
        others = Value(own)
        if site.touch in _SEVERAL:
            several = _SEVERAL[site.touch]
            races = races & (state != one) & (state != several)
            others = (Value(seen) - state) | several
        owned = (Value(seen) - state) | _OWNED
        updated = owned if site.touch is Touch.WRITE else select(state == one, Value(seen), owned)
        changed = select(is_new, Value(own), select(is_own, updated, others))
        element = self._element(shadow, site.buffer, index)
        mark = (shadow.epoch << EPOCH_BIT) | Value(shadow.own) | one
        attempt: Body = (
            If(races.expr, (*self._reported(site, index, number, raced=True), Break())),
            Let(following.name, changed.expr),
            If((Value(following) == Value(seen)).expr, (Break(),)),
            Atomic(AtomicOp.COMPARE_EXCHANGE, shadow.words, element, following, seen, old.name),
            If((Value(old) == Value(seen)).expr, (*self._reported(site, index, number, raced=False), Break())),
            Assign(seen.name, old),
        )
        attempts = For(self._fresh.numbered("race_attempt"), literal(u32, 1), literal(u32, ATTEMPTS), 1, attempt)
        return (
            Let(own.name, mark.expr),
            Atomic(AtomicOp.COMPARE_EXCHANGE, shadow.words, element, own, literal(u64, 0), found.name),
            If(
                (Value(found) != 0).expr,
                (Var(seen.name, found), attempts),
                self._reported(site, index, number, raced=False),
            ),
        )

    def _element(self, shadow: _Shadow, buffer: Buffer, index: Local) -> Expr:
        if isinstance(shadow.words.count, PerLaunch) and buffer.memory is Memory.WORKGROUP:
            return (Value(self._group) * shadow.words.count.count + Value(index).cast(u64)).expr
        return index

    def _reported(self, site: AccessSite, index: Local, number: int, *, raced: bool) -> Body:
        """Record the element that races, or with a focus the access, if it races or changes the word."""
        if self._focus is None:
            if not raced:
                return ()
            element = Value(index).cast(u64)
            if site.buffer.memory is Memory.WORKGROUP:
                element = (Value(self._group) << 32) | element
            place = literal(u32, self._tracked.index(site.buffer))
            return (Atomic(AtomicOp.MAX, self._results, place, (~element).expr),)
        entry = Local(self._fresh.numbered("race_entry"), u64)
        epochs = (self._value(self._grid_epoch) << 32) | (self._value(self._epoch) & (2**32 - 1))
        who = (Value(self._party) >> STATE_BITS) | (2 * number + raced) << PARTY_BITS
        first = Value(entry) * 2 + 1
        return (
            Atomic(AtomicOp.ADD, self._results, literal(u32, 0), literal(u64, 1), None, entry.name),
            Store(self._results, first.expr, who.expr),
            Store(self._results, (first + 1).expr, epochs.expr),
        )


# ── what the results say ─────────────────────────────────────────────────────────────────────────────────────────────


def _first(detecting: DetectingProgram, results: list[int]) -> RacingElement | None:
    """The element of the first buffer that has one."""
    for buffer, result in zip(detecting.tracked, results, strict=False):
        if result:
            group, index = divmod(2**64 - 1 - result, 2**32)
            return RacingElement(buffer.name, index, group if buffer.memory is Memory.WORKGROUP else None)
    return None


class _Entry(NamedTuple):
    site: AccessSite
    raced: bool
    group: int
    lane: int
    grid_epoch: int
    epoch: int

    def races_with(self, other: _Entry) -> bool:
        is_other = (self.group, self.lane) != (other.group, other.lane)
        are_unordered = self.grid_epoch == other.grid_epoch and (self.group != other.group or self.epoch == other.epoch)
        return is_other and are_unordered and self.site.touch.conflicts(other.site.touch)


def _accesses(
    detecting: DetectingProgram, log: list[int], plan: LaunchPlan
) -> tuple[RacingAccess, RacingAccess] | None:
    """The logged access of the lowest invocation that was found to race, and the lowest that it races with.

    The order of the log says nothing: an invocation that has changed a word logs that a moment later.
    """
    lane_bits = (plan.program.workgroup_volume - 1).bit_length()
    entries = []
    logged = 2 * min(log[0], LOGGED)
    for word, epochs in zip(log[1 : 1 + logged : 2], log[2 : 2 + logged : 2], strict=True):
        site, raced = divmod(word >> PARTY_BITS, 2)
        group, lane = divmod(word & (2**PARTY_BITS - 1), 2**lane_bits)
        entries.append(_Entry(detecting.sites[site], bool(raced), group, lane, *divmod(epochs, 2**32)))
    entries.sort(key=lambda entry: (entry.group, entry.lane, entry.site.path))
    for entry in entries:
        if entry.raced:
            for other in entries:
                if other.races_with(entry):
                    return _access(other, plan), _access(entry, plan)
    return None


def _access(entry: _Entry, plan: LaunchPlan) -> RacingAccess:
    return RacingAccess(
        _linear(entry.group, entry.lane, plan.grid, plan.program.workgroup_size), entry.site.touch, entry.site.path
    )


def _linear(group: int, lane: int, grid: Extent, size: Extent) -> int:
    """The linear id of an invocation in the launch."""
    number, ids = 0, []
    for groups, invocations in zip(grid, size, strict=True):
        group, x = divmod(group, groups)
        lane, y = divmod(lane, invocations)
        ids.append((x * invocations + y, groups * invocations))
    for own, extent in reversed(ids):
        number = number * extent + own
    return number
