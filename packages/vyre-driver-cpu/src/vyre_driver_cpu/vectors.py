"""Loops over invocations as vectors and masks, where LLVM's own vectorizer gives up.

An iteration runs as many invocations as a vector has lanes. What is one for all stays one value; a branch on a
condition that differs runs each side for the lanes that take it, unless there are none; a loop that lanes leave at
different iterations runs until none is left::

    for k in 0..100 { if x > y { break; } x = f(x); }

    live = all;  while any(live): { live &= not (x > y); x = select(live, f(x), x) }

A lane that is not active computes with the others, and its values are arbitrary: they are neither stored, nor decide
branches, nor divide, nor address memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from vyre_driver.codegen.placement import Life
from vyre_driver.legalization.schedule import TRAPS
from vyre_driver_cpu.chains import vectors_at_once
from vyre_driver_cpu.lanes import VectorLanes, can_address
from vyre_driver_cpu.loops import chunk_of, is_better_unrolled, is_reduction, looks_up
from vyre_driver_cpu.registers import RegisterArrays, runs_once
from vyre_driver_cpu.spelling import COMBINED, TYPES
from vyre_driver_cpu.statements import BY_FOUR, ROLLED, UNROLLED, Chunks, Counting, StatementPrinter, sign_of
from vyre_driver_cpu.values import FunctionScope
from vyre_driver_cpu.vector_values import ROWS, Group, VectorValues, are_apart, is_row, row_groups, split
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Call, Expr, Literal, Load, Local
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Body,
    Break,
    Continue,
    For,
    If,
    Let,
    Region,
    Stmt,
    Store,
    Var,
)
from vyre_foundation.ir.walk import expressions, jumps_of, postorder, statements
from vyre_foundation.validate.declared import declared_locals

_KINDS = (Let, Var, Assign, Store, Atomic, If, For, Region, Break, Continue)
LONG = 400
"""Operations of a body without loops: more take LLVM's vectorizer too long."""
_FLAT = 24
"""Operations that are cheaper for no lane than a branch around them."""
_REGISTERS = 16
"""Vectors that a loop may keep, beside what it computes with: with fewer, several registers make one vector."""
_OF_MASKED = 3
"""What a loop keeps that lanes begin apart: where they began, their counters and ends, and masks."""
_ROW_BITS = 256
"""Of a vector whose lanes load rows in pieces: to transpose 16 pieces of 16 elements takes too many registers. On an
Emerald Rapids a prefix sum takes a tenth longer with 512."""
_WIDEST = 64
"""Lanes of a vector, at most."""


@dataclass(frozen=True, slots=True)
class LoopMasks:
    """Masks of a loop, as addresses: lanes that have not left it, and of them those that go on in this iteration."""

    live: str | None
    going: str


def is_made_of_vectors(printer: StatementPrinter) -> bool:
    """Whether loops over invocations are vectors already, and long: then LLVM has little to do."""
    return not printer.left_to_llvm and sum(printer.vectorized) > LONG


class VectorPrinter(StatementPrinter):
    """Prints the body of a loop over invocations for a vector of them."""

    def __init__(
        self, parent: StatementPrinter, loop: For, scope: FunctionScope, values: VectorValues, number: int
    ) -> None:
        self.asks, self.mutable, self.private = parent.asks, parent.mutable, parent.private
        self.number, self._rare, self._of_invocations = number, 0, 1
        self._times = parent.times_in(loop) // values.lanes.width + 1
        self._loops = []
        self._use(scope, values)
        self._vectors = values
        self._frames: list[LoopMasks] = []

    def vector(self, body: Body) -> None:
        """The body, for all lanes."""
        if any(jumps_of(*body)):
            self._frames.append(LoopMasks(None, self._mask_variable(self._vectors.mask)))
        self._vectors.enter(_before_jumps(body))
        self._block(body)
        self._vectors.leave()

    # ── masks ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _mask_variable(self, mask: str | None) -> str:
        address = self._out.reserve(self._vectors.mask_type)
        self._set_mask(address, mask or self._vectors.where("splat (i1 true)"))
        return address

    def _set_mask(self, address: str, mask: str) -> None:
        self._out.add(f"store {self._vectors.mask_type} {mask}, ptr {address}")

    def _mask_at(self, address: str) -> str:
        return self._out.value(f"load {self._vectors.mask_type}, ptr {address}")

    def _jump(self, stmt: Break | Continue) -> None:
        frame, mask = self._frames[-1], self._vectors.mask
        leaving = [frame.going] if isinstance(stmt, Continue) or frame.live is None else [frame.going, frame.live]
        for address in leaving:
            rest = "zeroinitializer" if mask is None else self._vectors.without(self._mask_at(address), mask)
            self._set_mask(address, rest)

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def body(self, body: Body) -> None:
        """Print statements in order. Behind a branch with jumps, the lanes that are left go on."""
        rows = row_stores(_before_jumps(body), self._vectors.lanes) if self._vectors.mask is None else {}
        for position, stmt in enumerate(body):
            self._early_values()
            if position in rows and isinstance(stmt, Store):
                self._store_in_row(stmt, rows[position])
                continue
            self._stmt(stmt)
            rest = body[position + 1 :]
            if isinstance(stmt, (Break, Continue)):
                self.number += sum(1 for _ in statements(rest))
                return
            if rest and any(jumps_of(stmt)):
                self._rest(rest)
                return

    def _rest(self, rest: Body) -> None:
        mask, going = self._vectors.mask, self._mask_at(self._frames[-1].going)
        self._vectors.mask = self._vectors.common(mask, going)  # others go on behind the branch that this is in
        if _is_flat(rest):
            self._block(rest)
        else:
            self._where_any(rest)
        self._vectors.mask = mask

    def _where_any(self, body: Body) -> None:
        """A body, where a lane is active."""
        assert self._vectors.mask is not None
        then, behind = self._out.name("then"), self._out.name("behind")
        self._out.branch(self._vectors.any(self._vectors.active(self._vectors.mask)), then, behind)
        self._out.open(then)
        self._block(body)
        self._out.open(behind)

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Var(name, value):
                self.scope.variables[name] = self._out.reserve(self._vectors.type(value.dtype))
                given = self._vectors.vector(value)
                self._out.add(f"store {self._vectors.type(value.dtype)} {given}, ptr {self.scope.variables[name]}")
            case Store(buffer, index, value):
                self._vectors.store(buffer, index, value)
                self.values.forget(Life.UNTIL_WRITE)
            case Break() | Continue():
                self._jump(stmt)
            case _:
                super()._stmt(stmt)

    def _atomic(self, stmt: Atomic) -> None:
        """One atomic where lanes combine their values in one element, or else one for each lane.

        A lane is active at least: where not all of them are, a body with an atomic is behind a branch.
        """
        vectors = self._vectors
        if _is_combined(stmt, vectors.lanes):
            value = vectors.reduced(COMBINED[stmt.op], stmt.value)
            self.atomically(stmt, self.values.address(stmt.buffer, stmt.index), [value])
        else:
            self._atomics(stmt)
        self.values.forget(Life.UNTIL_WRITE)

    def _atomics(self, stmt: Atomic) -> None:
        """A loop over the active lanes, whose numbers are the bits of a mask."""
        out, vectors, dtype = self._out, self._vectors, stmt.buffer.dtype
        bits, t = f"i{vectors.lanes.width}", TYPES[dtype]
        address = vectors.of_lane(stmt.index, stmt.buffer)
        operands = [vectors.of_lane(x) for x in (stmt.value, stmt.expected) if x is not None]
        results = out.reserve(vectors.type(dtype)) if stmt.result is not None else None
        active = "-1"
        if vectors.mask is not None:
            active = out.value(f"bitcast {vectors.condition_type} {vectors.active(vectors.mask)} to {bits}")
        head, latch, behind, before = out.name("head"), out.name("latch"), out.name("behind"), out.block
        left, next = f"%{out.name('left')}", f"%{out.name('next')}"
        out.open(head)
        out.add(f"{left} = phi {bits} [ {active}, %{before} ], [ {next}, %{latch} ]")
        lane = f"{bits} {out.value(f'call {bits} @llvm.cttz.{bits}({bits} {left}, i1 true)')}"
        old = self.atomically(stmt, address(lane), [operand(lane) for operand in operands])
        if results is not None:
            place = out.value(f"getelementptr {t}, ptr {results}, {lane}")
            out.add(f"store {t} {old}, ptr {place}, align {dtype.size}")
        out.open(latch)
        out.add(f"{next} = and {bits} {left}, {out.value(f'sub {bits} {left}, 1')}")
        out.branch(out.value(f"icmp ne {bits} {next}, 0"), head, behind)
        out.open(behind)
        if stmt.result is not None:
            result = out.value(f"load {vectors.type(dtype)}, ptr {results}")
            self.scope.symbols[Local(stmt.result, dtype)] = result

    def _assign(self, name: str, value: Expr) -> None:
        given, address, t = self._vectors.vector(value), self.scope.variables[name], self._vectors.type(value.dtype)
        if self._vectors.mask is not None:
            old = self._out.value(f"load {t}, ptr {address}")
            mask = f"{self._vectors.condition_type} {self._vectors.active(self._vectors.mask)}"
            given = self._out.value(f"select {mask}, {t} {given}, {t} {old}")
        self._out.add(f"store {t} {given}, ptr {address}")

    def _if(self, stmt: If) -> None:
        mask = self._vectors.mask
        if self._vectors.lanes.varies(stmt.condition):
            condition = self.values.operand(stmt.condition)
            self._arm(stmt.then, self._vectors.both(mask, condition))
            if stmt.orelse:
                self._arm(stmt.orelse, self._vectors.both(mask, self._vectors.inverse(condition)))
        else:
            super()._if(stmt)
        self._vectors.mask = mask

    def _arm(self, body: Body, mask: str) -> None:
        self._vectors.mask = mask
        if _is_flat(body):
            self._block(body)
        else:
            self._where_any(body)

    def _block(self, body: Body) -> None:
        self._vectors.enter(_before_jumps(body))
        super()._block(body)
        self._vectors.leave()

    def _for(self, stmt: For) -> None:
        self._vectors.loops.append((Local(stmt.name, stmt.start.dtype), stmt.step))
        self._iterate(stmt)
        self._vectors.loops.pop()

    def _iterate(self, stmt: For) -> None:
        out, vectors, dtype, outer = self._out, self._vectors, stmt.start.dtype, self._vectors.mask
        starts_diverge = vectors.lanes.varies(stmt.start)
        ends_diverge = starts_diverge or vectors.lanes.varies(stmt.stop)
        if not ends_diverge and not any(jumps_of(*stmt.body)):
            super()._for(stmt)
            return
        index, t = Local(stmt.name, dtype), TYPES[dtype]
        start, stop = self.values.operand(stmt.start), self.values.operand(stmt.stop)
        frame = LoopMasks(self._mask_variable(outer), self._mask_variable(outer))
        assert frame.live is not None
        chunks = self._in_chunks(stmt)
        if starts_diverge:  # what is counted is less than the distance of the bounds, which has no sign
            of_lanes = vectors.counted_from(stmt.start, index)
            is_unmasked = outer is None and not vectors.lanes.varies(stmt.stop)
            gone = self._unmasked_iterations(stmt, of_lanes, stop) if is_unmasked else "0"
            loop = Counting(out, t, "u", gone, stmt.step)
            counter = of_lanes(loop.open())
        else:
            loop = Counting(out, t, sign_of(dtype), start, stmt.step)
            counter = loop.open()
        going = self._mask_at(frame.live)
        if ends_diverge:
            each = counter if starts_diverge else vectors.splat(counter, dtype)
            end = stop if vectors.lanes.varies(stmt.stop) else vectors.splat(stop, dtype)
            inside = out.value(f"icmp {sign_of(dtype)}lt {vectors.type(dtype)} {each}, {end}")
            going = vectors.both(going, inside)
            is_left = vectors.any(vectors.active(going))
        else:
            is_left = out.value(f"icmp {sign_of(dtype)}lt {t} {counter}, {stop}")
            is_left = out.value(f"and i1 {is_left}, {vectors.any(vectors.active(going))}")
        loop.test(is_left)
        if chunks is not None:
            chunks.ask()
        self._set_mask(frame.going, going)
        if starts_diverge:  # behind its end, a counter may wrap
            self._set_mask(frame.live, going)
        self.scope.symbols[index] = counter
        vectors.mask = going
        self._frames.append(frame)
        self._block(stmt.body)
        self._frames.pop()
        loop.close(ROLLED)
        vectors.mask = outer

    def _unmasked_iterations(self, stmt: For, of_lanes: Callable[[str], str], stop: str) -> str:
        """The iterations that all lanes run of a loop in which they are neighbours: how far they have counted then.

        The last lane begins last. None, where the index at which the last lane begins wraps.
        """
        out, vectors, t, number = self._out, self._vectors, TYPES[stmt.start.dtype], self.number
        pattern, first = vectors.lanes.pattern(stmt.start), vectors.in_first(stmt.start)
        assert pattern is not None
        last = out.value(f"add {t} {first}, {pattern.offsets[-1] - pattern.offsets[0]}")
        if not pattern.is_exact:
            stop = out.value(f"select i1 {out.value(f'icmp ule {t} {first}, {last}')}, {t} {stop}, {t} 0")
        chunks = self._in_chunks(stmt)
        loop = Counting(out, t, "u", last, stmt.step)
        counter = loop.open()
        gone = out.value(f"sub {t} {counter}, {last}")
        loop.test(out.value(f"icmp ult {t} {counter}, {stop}"))
        if chunks is not None:
            chunks.ask()
        self.scope.symbols[Local(stmt.name, stmt.start.dtype)] = of_lanes(gone)
        self._block(stmt.body)
        loop.close(ROLLED)
        self.number = number
        return gone

    def _in_chunks(self, loop: For) -> Chunks | None:
        """What counts the iterations of a loop that asks whether it is to end."""
        size = chunk_of(loop) if self.asks else None
        return None if size is None else Chunks(self._out, size)

    def _advice(self, loop: For) -> str:
        """Written out whole, elements of memory of its own can be in registers; else four iterations are enough."""
        advice = super()._advice(loop)
        return BY_FOUR if advice == UNROLLED and not _accesses_own(loop) else advice

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _store_in_row(self, stmt: Store, group: RowStores) -> None:
        """One element of a row, which is written with the last."""
        group.values[split(stmt.index)[1]] = self._vectors.vector(stmt.value)
        if len(group.values) == group.length:
            store = self._vectors.store_interleaved if group.is_interleaved else self._vectors.store_rows
            store(stmt.buffer, split(stmt.index)[0], group.values)
        self.values.forget(Life.UNTIL_WRITE)


@dataclass(slots=True)
class RowStores:
    """Stores of one block that write `length` adjacent elements of each lane, and what they have to write so far.

    `is_interleaved`: those of the next lane are behind them.
    """

    length: int
    is_interleaved: bool = False
    values: dict[int, str] = field(default_factory=dict)


def row_stores(body: Sequence[Stmt], lanes: VectorLanes) -> dict[int, RowStores]:
    """Stores that write a row of each lane, by their positions in a block; rows are apart, or all that is there.

    Nothing between the first and the last of a row touches that memory.
    """
    found: dict[Group, list[int]] = {}
    for position, stmt in enumerate(body):
        if isinstance(stmt, Store) and lanes.varies(stmt.index):
            found.setdefault((stmt.buffer, split(stmt.index)[0]), []).append(position)
    rows: dict[int, RowStores] = {}
    for (buffer, root), positions in found.items():
        is_apart, stores = are_apart(root, lanes), [s for n in positions if isinstance(s := body[n], Store)]
        if not is_apart and len(stores) > 1 and _fill_memory(stores, lanes) and _are_alone(body, positions, buffer):
            rows |= dict.fromkeys(positions, RowStores(len(positions), is_interleaved=True))
        while positions and is_apart:
            lengths = [n for n in ROWS if n <= len(positions) and _is_row(body, positions[:n], lanes, buffer)]
            length = max(lengths, default=1)
            if length > 1:
                rows |= dict.fromkeys(positions[:length], RowStores(length))
            positions = positions[length:]
    return rows


def _is_row(body: Sequence[Stmt], positions: Sequence[int], lanes: VectorLanes, buffer: Buffer) -> bool:
    stores = [s for n in positions if isinstance(s := body[n], Store)]
    distances = {split(s.index)[1] for s in stores}
    return len(distances) == len(stores) and is_row(distances, lanes.width) and _are_alone(body, positions, buffer)


def _are_alone(body: Sequence[Stmt], positions: Sequence[int], buffer: Buffer) -> bool:
    """Whether only the stores at these positions touch a buffer between the first and the last of them."""
    first, last = positions[0], positions[-1]
    between = tuple(s for n, s in enumerate(body[first : last + 1], first) if n not in positions)
    stmts = tuple(statements((*(body[n] for n in positions), *between)))
    return not any(isinstance(s, Store) and s.buffer == buffer for s in statements(between)) and not any(
        isinstance(node, Load) and node.buffer == buffer for node in postorder(e for s in stmts for e in expressions(s))
    )


# ── which loops ──────────────────────────────────────────────────────────────────────────────────────────────────────


def print_vectors(registers: RegisterArrays, parent: StatementPrinter, loop: For) -> bool:
    """Print a loop over invocations as vectors, its last iterations one by one; False where it is no such loop."""
    if runs_once(loop):
        parent.once(loop)
        return True
    if (lanes := registers.lanes(loop)) is not None:
        _print_all(parent, loop, lanes)
        return True
    vectors = _vectors_of(parent, loop)
    if vectors is None:
        return False
    narrow, lanes = vectors.narrow, vectors.wide
    nodes = postorder(e for s in statements(loop.body) for e in expressions(s))
    parent.vectorized.append(len(nodes))
    number = parent.number
    start, stop = parent.values.operand(loop.start), parent.values.operand(loop.stop)
    end, is_whole = stop, start == "0" and lanes.alignment(loop.stop) % lanes.width == 0
    if not is_whole:
        out, t = parent.scope.out, TYPES[u32]
        is_some = out.value(f"icmp ult {t} {start}, {stop}")
        count = out.value(f"sub {t} {stop}, {start}")
        whole = out.value(f"and {t} {count}, {-lanes.width}")
        end = out.value(f"add {t} {start}, {whole}")
        end = out.value(f"select i1 {is_some}, {t} {end}, {t} {start}")
    _print_loop(parent, loop, lanes, start, end, constants_in_memory=vectors.constants_in_memory)
    if not is_whole and not parent.scope.spellings.masked_memory:
        parent.one_by_one(loop, end, stop)
        return True
    if not is_whole:
        _print_loop(parent, loop, narrow, end, stop, masks=True)
    parent.number = number + sum(1 for _ in statements(loop.body))
    return True


def _print_loop(
    parent: StatementPrinter,
    loop: For,
    lanes: VectorLanes,
    start: str,
    stop: str,
    *,
    masks: bool = False,
    constants_in_memory: bool = False,
) -> None:
    """Vectors from `start` to `stop`. `masks`: the last may have lanes behind it, which are not active."""
    scope, out, t = parent.scope, parent.scope.out, TYPES[u32]
    counting = Counting(out, t, "u", start, lanes.width)
    counter = counting.open()
    counting.test(out.value(f"icmp ult {t} {counter}, {stop}"))
    values = VectorValues(scope, lanes, counter, constants_in_memory=constants_in_memory)
    counted = scope.symbols[lanes.counter] = values.counted()
    if masks:
        inside = out.value(f"icmp ult {values.type(u32)} {counted}, {values.splat(stop, u32)}")
        values.mask = values.where(inside)
    VectorPrinter(parent, loop, scope, values, parent.number).vector(loop.body)
    counting.close(ROLLED)


def _print_all(parent: StatementPrinter, loop: For, lanes: VectorLanes) -> None:
    """Print every vector of a loop, one behind the other."""
    number = parent.number
    assert isinstance(loop.start, Literal)
    assert loop.trip_count
    firsts = range(0, loop.trip_count, lanes.width)
    all_fit = len(firsts) <= parent.scope.spellings.vector_registers
    for first in firsts:
        values = VectorValues(parent.scope, lanes, str(loop.start.bits + first), in_order=all_fit)
        parent.scope.symbols[lanes.counter] = values.counted()
        VectorPrinter(parent, loop, parent.scope, values, number).vector(loop.body)
    parent.number += sum(1 for _ in statements(loop.body))


@dataclass(frozen=True, slots=True)
class LoopVectors:
    """The lanes of a register, and those of as many as make one vector.

    `constants_in_memory`: floats are loaded where they are used.
    """

    narrow: VectorLanes
    wide: VectorLanes
    constants_in_memory: bool = False


def _vectors_of(parent: StatementPrinter, loop: For) -> LoopVectors | None:
    """How a loop is made of vectors; None if it is left to LLVM."""
    scope = parent.scope
    stmts = tuple(statements(loop.body))
    nodes = postorder(e for s in stmts for e in expressions(s))
    if loop.start.dtype is not u32 or loop.step != 1 or not _can_mask(loop, stmts, nodes):
        return None
    of = partial(VectorLanes, loop, lets=scope.lets, mutable=parent.mutable, bounds=scope.bounds)
    lanes = of(_width(scope, loop, stmts, nodes, scope.spellings.vector_bits))
    inner = [s for s in stmts if isinstance(s, For)]

    def fits(lanes: VectorLanes) -> bool:
        has_lanes = all(_has_contiguous_lanes(s, lanes) and not _moves_alone(s, lanes) for s in inner)
        return has_lanes and _are_apart(stmts, nodes, lanes)

    if not fits(lanes):
        return None
    loops = [s for s in inner if any(jumps_of(*s.body)) or not is_better_unrolled(s)]
    indices = [n.index for n in nodes if isinstance(n, Load)] + [s.index for s in stmts if isinstance(s, Store)]
    filled = interleaved_stores(loop.body, lanes)
    permuted = (s for s in stmts if isinstance(s, Store) and s not in filled and _is_permuted(s, lanes))
    gives_up = any(map(lanes.may_be_adjacent, indices)) or any(permuted)
    gives_up = gives_up or any(lanes.is_hidden(index) or lanes.is_reversed(index) for index in indices)
    gathers = scope.spellings.gathers
    least_bits = u32.bits if looks_up(loop) and not gathers else 0
    guarded = [n.index for n in nodes if isinstance(n, Load) and n.checked and n.dtype.bits >= least_bits]
    gives_up = gives_up or any(lanes.varies(index) and not lanes.is_in_row(index) for index in guarded)
    small = [n.index for n in nodes if isinstance(n, Load) and n.dtype.bits < u32.bits]
    gives_up = gives_up or (gathers and any(lanes.varies(i) and lanes.pattern(i) is None for i in small))
    atomics = [s for s in stmts if isinstance(s, Atomic)]
    if atomics:  # which take as long as what is beside them, unless several are one
        loads = [n.index for n in nodes if isinstance(n, Load)]
        is_gathered = any(lanes.varies(index) and not lanes.is_in_row(index) for index in loads)
        gives_up = not is_gathered and all(_is_combined(s, lanes) for s in atomics)
    if parent.is_rare:
        return LoopVectors(lanes, lanes) if loops and scope.spellings.masked_memory else None
    if not (loops or gives_up or len(nodes) > LONG):
        at_once = vectors_at_once(stmts, lanes, scope.spellings.vector_registers)
        chains = of(_doubled(lanes.width, min(at_once * lanes.width, _most_lanes(scope, loop, lanes))))
        if chains.width > lanes.width and fits(chains):
            return LoopVectors(lanes, chains, constants_in_memory=True)
    has_rows = any(_has_rows(body, lanes) for body in (loop.body, *(s.body for s in inner)))
    if has_rows and not loops and len(nodes) <= LONG:
        narrow = of(_width(scope, loop, stmts, nodes, _ROW_BITS))
        lanes = narrow if fits(narrow) else lanes
    wide = of(_wider(scope, loop, stmts, lanes))
    if not (loops or gives_up or len(nodes) > LONG or has_rows or wide.width > lanes.width):
        return None
    return LoopVectors(lanes, wide if fits(wide) else lanes)


def _atomics_of_source(stmts: Iterable[Stmt]) -> list[Atomic]:
    """The atomics of the source. Traps are atomics too, but rare."""
    return [s for s in stmts if isinstance(s, Atomic) and s.buffer.name != TRAPS]


def _is_combined(stmt: Atomic, lanes: VectorLanes) -> bool:
    """Whether the atomics of all lanes are one with the combination of their values."""
    return stmt.op in COMBINED and stmt.result is None and not lanes.varies(stmt.index)


def _has_contiguous_lanes(loop: For, lanes: VectorLanes) -> bool:
    """Whether lanes begin a loop at one index, or are neighbours in each iteration, and better there than alone.

    Alone, they sum integers up in vectors of iterations, and leave the loop early without waiting for each other.
    """
    if not lanes.varies(loop.start):
        return True
    stmts = tuple(statements(loop.body))
    if any(jumps_of(*loop.body)) or (loop.step == 1 and is_reduction(loop, stmts)):
        return False
    return lanes.is_in_row(loop.start)


def interleaved_stores(body: Body, lanes: VectorLanes) -> set[Store]:
    """Stores of a body that together write all of adjacent elements of memory, which LLVM makes vectors of.

    Such are the components of colours, points and complex numbers.
    """
    groups: dict[Group, list[Store]] = {}
    for stmt in body:
        if isinstance(stmt, Store) and stmt.buffer.memory is not Memory.PRIVATE:
            groups.setdefault((stmt.buffer, split(stmt.index)[0]), []).append(stmt)
    return {store for stores in groups.values() if _fill_memory(stores, lanes) for store in stores}


def _fill_memory(stores: Sequence[Store], lanes: VectorLanes) -> bool:
    """Whether stores at constant distances from one index write all of adjacent elements of memory."""
    root = split(stores[0].index)[0]
    pattern = lanes.pattern(root)
    if pattern is None or stores[0].buffer.memory is Memory.PRIVATE or not can_address(root, pattern):
        return False
    steps = {b - a for a, b in pairwise(pattern.offsets)}
    distances = sorted(split(s.index)[1] for s in stores)
    return steps == {len(stores)} and distances == list(range(distances[0], distances[0] + len(stores)))


def _moves_alone(loop: For, lanes: VectorLanes) -> bool:
    """Whether lanes end a loop at different iterations, and do in it what vectors do one by one.

    They divide integers, or move elements that no vector loads or stores: nothing gathers elements of 8 and 16 bits,
    and what is stored anywhere is stored one by one.
    """
    if not (lanes.varies(loop.stop) or any(jumps_of(*loop.body))):
        return False
    stmts = tuple(statements(loop.body))
    nodes = {node for s in stmts for node in postorder(expressions(s))}
    if any(_is_division(node) and lanes.varies(node) for node in nodes):
        return True
    indices = [node.index for node in nodes if isinstance(node, Load) and node.dtype.bits < 32]
    indices += [s.index for s in stmts if isinstance(s, Store) and s.buffer.memory is not Memory.PRIVATE]
    return any(lanes.varies(index) and not lanes.is_in_row(index) for index in indices)


def _is_division(node: Expr) -> bool:
    """Whether an expression divides integers by what is no constant; vectors have no instruction for it."""
    return isinstance(node, Apply) and node.op.id in ("raw_div", "raw_rem") and not isinstance(node.args[1], Literal)


def _is_permuted(stmt: Store, lanes: VectorLanes) -> bool:
    """Whether lanes store to a permutation of adjacent elements, or with gaps."""
    if (pattern := lanes.pattern(stmt.index)) is None or pattern.is_uniform:
        return False
    return any(b - a != 1 for a, b in pairwise(pattern.offsets))


def _can_mask(loop: For, stmts: tuple[Stmt, ...], nodes: list[Expr]) -> bool:
    """Whether every statement has a form for vectors, and nothing is summed up over invocations.

    Lanes may wait in a loop for an atomic of another lane, which has left the loop and waits for them. None waits for a
    trap.
    """
    inner = declared_locals(loop.body).keys()
    return not any(
        not isinstance(s, _KINDS)
        or (isinstance(s, For) and (s.is_parallel or _atomics_of_source(statements(s.body))))
        or (isinstance(s, Assign) and s.name not in inner)
        for s in stmts
    ) and not any(isinstance(node, Call) for node in nodes)


def _are_apart(stmts: tuple[Stmt, ...], nodes: list[Expr], lanes: VectorLanes) -> bool:
    """Whether lanes store to different elements, where the loop also loads from that memory.

    An atomic on memory of a workgroup is a load and a store here; other programs keep their invocations apart.
    """
    read = {node.buffer for node in nodes if isinstance(node, Load)}
    for stmt in stmts:
        if isinstance(stmt, Store) and stmt.buffer.memory is Memory.PRIVATE and stmt.buffer in read:
            pattern = lanes.pattern(stmt.index)
            if pattern is None or not can_address(stmt.index, pattern):
                return False
            if len(set(pattern.offsets)) < len(pattern.offsets):
                return False
    return True


def _width(scope: FunctionScope, loop: For, stmts: tuple[Stmt, ...], nodes: list[Expr], bits: int) -> int:
    """How many lanes a register has, of which `bits` are used at most; fewer if the loop has fewer iterations."""
    variables = [s.value.dtype for s in stmts if isinstance(s, Var)]
    elements = [node.dtype for node in nodes if isinstance(node, Load)]
    elements += [s.buffer.dtype for s in stmts if isinstance(s, Store)]
    elements += [s.buffer.dtype for s in _atomics_of_source(stmts)]
    width = min(bits, scope.spellings.vector_bits) // max([32, *(t.bits for t in (*variables, *elements))])
    return min(width, max(2, 1 << (scope.bounds.of(loop.stop) - 1).bit_length()))


def _wider(scope: FunctionScope, loop: For, stmts: tuple[Stmt, ...], lanes: VectorLanes) -> int:
    """The lanes of several registers, where a loop has few variables, and results or rows of memory are waited for."""
    inner = [s for s in stmts if isinstance(s, For)]
    again = postorder(e for loop in inner for s in statements(loop.body) for e in expressions(s))
    masked = sum(lanes.varies(s.start) for s in inner)
    width, variables = lanes.width, sum(isinstance(s, Var) for s in stmts) + _OF_MASKED * masked
    in_rows = all(lanes.is_in_row(node.index) for node in again if isinstance(node, Load))
    if not inner or not (in_rows or all(_follows_loads(s, lanes) for s in inner)):
        return width
    most = min(_REGISTERS * width // max(1, variables), _most_lanes(scope, loop, lanes))
    return _doubled(width, most)


def _follows_loads(loop: For, lanes: VectorLanes) -> bool:
    """Whether each iteration of a loop loads at an index that the one before it has found, as a binary search does.

    Its latency is that of the loads, so several registers make one vector: more loads are under way at once. No lane
    may leave the loop before the others.
    """
    stmts = tuple(statements(loop.body))
    if any(jumps_of(*loop.body)) or any(lanes.varies(bound) for bound in (loop.start, loop.stop)):
        return False
    if any(isinstance(s, (For, If)) for s in stmts):
        return False
    moving: set[Expr] = {Local(s.name, s.value.dtype) for s in stmts if isinstance(s, Assign)}
    for stmt in stmts:
        if isinstance(stmt, Let) and any(node in moving for node in postorder((stmt.value,))):
            moving.add(Local(stmt.name, stmt.value.dtype))
    loads = [node for node in postorder(e for s in stmts for e in expressions(s)) if isinstance(node, Load)]
    return any(lanes.varies(n.index) and any(e in moving for e in postorder((n.index,))) for n in loads)


def _doubled(width: int, most: int) -> int:
    """A width, doubled as often as it is at most `most`."""
    while 2 * width <= most:
        width *= 2
    return width


def _most_lanes(scope: FunctionScope, loop: For, lanes: VectorLanes) -> int:
    """As many as a vector of several registers may have."""
    most = min(_WIDEST, scope.bounds.of(loop.stop))
    return most if scope.spellings.masked_memory else min(most, lanes.alignment(loop.stop))


def _has_rows(body: Body, lanes: VectorLanes) -> bool:
    """Whether vectors transpose rows of a body."""
    return bool(row_groups(body, lanes)) or any(not row.is_interleaved for row in row_stores(body, lanes).values())


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _accesses_own(loop: For) -> bool:
    """Whether a loop accesses memory of an invocation or a workgroup."""
    stmts = tuple(statements(loop.body))
    buffers = [s.buffer for s in stmts if isinstance(s, (Store, Atomic))]
    buffers += [node.buffer for node in postorder(e for s in stmts for e in expressions(s)) if isinstance(node, Load)]
    return any(buffer.memory is Memory.PRIVATE for buffer in buffers)


def _before_jumps(body: Body) -> Body:
    for position, stmt in enumerate(body):
        if any(jumps_of(stmt)):
            return body[: position + 1] if isinstance(stmt, If) else body[:position]
    return body


def _is_flat(body: Body) -> bool:
    """Whether a body is a little arithmetic, which lanes that are not active may compute, too."""
    stmts = tuple(statements(body))
    if not all(isinstance(s, (Let, Var, Assign, If, Break, Continue)) for s in stmts):
        return False
    nodes = postorder(e for s in stmts for e in expressions(s))
    return len(nodes) <= _FLAT and not any(map(_is_costly, nodes))


def _is_costly(node: Expr) -> bool:
    return isinstance(node, (Load, Call)) or (isinstance(node, Apply) and node.op.id in ("raw_div", "raw_rem"))
