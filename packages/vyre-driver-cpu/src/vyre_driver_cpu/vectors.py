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

from collections.abc import Callable, Set
from dataclasses import dataclass

from vyre_driver.codegen.placement import Life
from vyre_driver_cpu.lane_rows import RowStores, row_stores, split
from vyre_driver_cpu.lanes import VectorLanes
from vyre_driver_cpu.loops import chunk_of
from vyre_driver_cpu.nontemporal import FENCE, is_faster, nontemporal_loop
from vyre_driver_cpu.registers import RegisterArrays, runs_once
from vyre_driver_cpu.spelling import COMBINED, TYPES
from vyre_driver_cpu.statements import BY_FOUR, ROLLED, UNROLLED, Chunks, Counting, StatementPrinter, sign_of
from vyre_driver_cpu.values import FunctionScope
from vyre_driver_cpu.vector_loops import LONG_BODY, is_combined, vectors_of
from vyre_driver_cpu.vector_values import VectorValues
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Call, Expr, Literal, Load, Local
from vyre_foundation.ir.stmt import Assign, Atomic, Body, Break, Continue, For, If, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import expressions, jumps_of, postorder, statements

_FLAT = 24
"""Operations that are cheaper for no lane than a branch around them."""


@dataclass(frozen=True, slots=True)
class LoopMasks:
    """Masks of a loop, as addresses: lanes that have not left it, and of them those that go on in this iteration."""

    live: str | None
    going: str


def is_made_of_vectors(printer: StatementPrinter) -> bool:
    """Whether loops over invocations are vectors already, and long: then LLVM has little to do."""
    return not printer.left_to_llvm and sum(printer.vectorized) > LONG_BODY


class VectorPrinter(StatementPrinter):
    """Prints the body of a loop over invocations for a vector of them."""

    def __init__(
        self, parent: StatementPrinter, loop: For, scope: FunctionScope, values: VectorValues, number: int
    ) -> None:
        self.asks, self.mutable, self.private = parent.asks, parent.mutable, parent.private
        self.number, self._rare, self._of_invocations = number, 0, 1
        self._times = parent.times_in(loop) // values.lanes.width + 1
        self._loops, self._copy = [], ""
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
        if is_combined(stmt, vectors.lanes):
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


# ── which loops ──────────────────────────────────────────────────────────────────────────────────────────────────────


def print_vectors(registers: RegisterArrays, parent: StatementPrinter, loop: For) -> bool:
    """Print a loop over invocations as vectors, its last iterations one by one; False where it is no such loop."""
    if runs_once(loop):
        parent.once(loop)
        return True
    if (lanes := registers.lanes(loop)) is not None:
        _print_all(parent, loop, lanes)
        return True
    vectors = vectors_of(parent, loop)
    if vectors is None:
        return _print_nontemporal(parent, loop)
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


def _print_nontemporal(parent: StatementPrinter, loop: For) -> bool:
    """Print a loop with non-temporal stores for large results, and what is left of it for LLVM; False without these."""
    if (found := nontemporal_loop(parent, loop)) is None:
        return False
    lanes = found.lanes
    scope, out, t, number = parent.scope, parent.scope.out, TYPES[u32], parent.number
    start, stop = parent.values.operand(loop.start), parent.values.operand(loop.stop)
    count = out.value(f"call {t} @llvm.usub.sat.{t}({t} {stop}, {t} {start})")
    condition = is_faster(parent, found, start, count)
    past, rest, before = out.name("past"), out.name("rest"), out.block
    end = out.value(f"add {t} {start}, {out.value(f'and {t} {count}, {-lanes.width}')}")
    out.branch(condition, past, rest)
    out.open(past)
    scope.known.enter()
    _print_loop(parent, loop, lanes, start, end, past_caches={store.buffer for store in found.stores})
    scope.known.leave()
    out.add(FENCE)
    last = out.block
    out.open(rest)
    parent.number = number
    parent.loop(loop, out.value(f"phi {t} [ {start}, %{before} ], [ {end}, %{last} ]"), stop)
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
    past_caches: Set[Buffer] = frozenset(),
) -> None:
    """Vectors from `start` to `stop`. `masks`: the last may have lanes behind it, which are not active.

    Stores of whole vectors to the buffers of `past_caches` are non-temporal.
    """
    scope, out, t = parent.scope, parent.scope.out, TYPES[u32]
    counting = Counting(out, t, "u", start, lanes.width)
    counter = counting.open()
    counting.test(out.value(f"icmp ult {t} {counter}, {stop}"))
    values = VectorValues(scope, lanes, counter, constants_in_memory=constants_in_memory, past_caches=past_caches)
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
