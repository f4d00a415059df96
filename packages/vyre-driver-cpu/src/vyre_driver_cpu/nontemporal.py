"""Loops whose results bypass the caches: non-temporal stores write them.

A plain store of a line fetches the line first. A non-temporal store of a whole line does not: a loop that loads one
array and stores another moves a third less. But what it has written is in no cache. So a loop is printed twice, and
decides when it runs::

    if the results are larger than the caches, and begin at a line: vectors, and non-temporal stores of them
    what is left: one invocation after the other, of which LLVM makes vectors
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from vyre_driver_cpu.lanes import VectorLanes
from vyre_driver_cpu.loops import is_stream
from vyre_driver_cpu.spelling import LINE
from vyre_driver_cpu.statements import StatementPrinter
from vyre_driver_cpu.vector_loops import can_mask
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Length, Load, Local
from vyre_foundation.ir.stmt import For, Store
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.validate.declared import declared_locals

FENCE = "call void @llvm.x86.sse.sfence()"
"""What is stored before it is seen by other threads before what is stored behind it."""
_SIZE_BEHIND_STOP = 12
"""Bytes from the word that cancels a launch to the least size of such results (see `launch.Grid`)."""
LEAST_LINES = 64
"""Lines that a loop stores at once at least: the fence waits for the last ones."""
_MOST_RESULTS = 4
"""Results of one loop. More were not measured."""


@dataclass(frozen=True, slots=True)
class NontemporalLoop:
    """A loop whose `stores` may bypass the caches, and vectors of which each store fills lines.

    `walked` is a buffer whose elements it stores, or loads side by side, and whose length is known: the results have
    about as many.
    """

    loop: For
    stores: tuple[Store, ...]
    lanes: VectorLanes
    walked: Buffer


def nontemporal_loop(parent: StatementPrinter, loop: For) -> NontemporalLoop | None:
    """A loop that is left to LLVM, if all that it stores may bypass the caches: neighbours, which it does not load."""
    scope = parent.scope
    if not scope.spellings.nontemporal or parent.is_rare or not is_stream(loop):
        return None
    if loop.start.dtype is not u32 or loop.step != 1:
        return None
    stmts, own = tuple(statements(loop.body)), declared_locals(loop.body).keys()
    nodes = postorder(e for s in stmts for e in expressions(s))
    loads = [node for node in nodes if isinstance(node, Load)]
    stores = [s for s in loop.body if isinstance(s, Store)]
    buffers, loaded = dict.fromkeys(s.buffer for s in stores), {load.buffer for load in loads}
    if not 0 < len(stores) == len(buffers) <= _MOST_RESULTS or buffers.keys() & loaded:
        return None
    width = LINE // min(buffer.dtype.size for buffer in buffers)
    lanes = VectorLanes(loop, width, lets=scope.lets, mutable=parent.mutable, bounds=scope.bounds)
    for store in stores:
        pattern, parts = lanes.pattern(store.index), postorder((store.index,))
        if store.buffer.memory is not Memory.STORAGE or pattern is None or not pattern.is_row:
            return None
        if lanes.may_wrap(store.index) or any(isinstance(part, Local) and part.name in own for part in parts):
            return None
    if not (can_mask(loop, stmts, nodes) and all(lanes.is_in_row(load.index) for load in loads)):
        return None
    walked = [*buffers, *(load.buffer for load in loads if lanes.varies(load.index))]
    known = (b for b in walked if isinstance(b.count, int) or Length(b) in scope.symbols)
    return next((NontemporalLoop(loop, tuple(stores), lanes, b) for b in known), None)


def is_faster(parent: StatementPrinter, found: NontemporalLoop, first: str, count: str) -> str:
    """Whether results are large, and `count` invocations from `first` on store many elements that begin at a line."""
    scope, out, buffer = parent.scope, parent.scope.out, found.walked
    place = out.value(f"getelementptr inbounds i8, ptr %stop, i64 {_SIZE_BEHIND_STOP}")
    large = out.value(f"load i64, ptr {place}, align 8")
    smallest = min(store.buffer.dtype.size for store in found.stores)
    length = str(buffer.count)
    if not isinstance(buffer.count, int):
        length = out.value(f"zext i32 {scope.symbols[Length(buffer)]} to i64")
    size = out.value(f"mul nuw i64 {length}, {smallest}")
    conditions = [f"icmp uge i64 {size}, {large}", f"icmp uge i32 {count}, {LEAST_LINES * found.lanes.width}"]
    scope.known.enter()
    scope.symbols[found.lanes.counter] = first
    for store in found.stores:
        address = out.value(f"ptrtoint ptr {parent.values.address(store.buffer, store.index)} to i64")
        conditions.append(f"icmp eq i64 {out.value(f'and i64 {address}, {LINE - 1}')}, 0")
    scope.known.leave()
    return reduce(lambda a, b: out.value(f"and i1 {a}, {b}"), map(out.value, conditions))
