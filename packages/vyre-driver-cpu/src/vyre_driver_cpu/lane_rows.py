"""Rows: adjacent elements of each lane, which a vector loads or stores together.

Rows that are far from lane to lane are transposed. Rows of which one begins where the one before ends are interleaved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from vyre_driver_cpu.lanes import VectorLanes, can_address
from vyre_foundation.dtype import u64
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Literal, Load
from vyre_foundation.ir.stmt import Body, Stmt, Store
from vyre_foundation.ir.walk import expressions, postorder, statements

NEAR = 4
"""Elements for each lane that one access may have, of which the lanes take theirs."""
ROWS = (4, 8, 16)
"""Elements of a row, of rows that are transposed."""

Group = tuple[Buffer, Expr]
"""Accesses to elements at constant distances from one index."""


def split(index: Expr) -> tuple[Expr, int]:
    """An index as another one and a constant that is added."""
    match index:
        case Apply(op, (root, Literal() as step)) if op.id == "add":
            return root, step.bits
        case _:
            return index, 0


def has_rows(body: Body, lanes: VectorLanes) -> bool:
    """Whether vectors transpose rows of a body."""
    return bool(row_groups(body, lanes)) or any(not row.is_interleaved for row in row_stores(body, lanes).values())


# ── loads ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def row_groups(body: Body, lanes: VectorLanes) -> dict[Group, list[list[int]]]:
    """Loads of a block that are rows of adjacent elements, far from lane to lane, with the distances in each row.

    A row that is longer than a vector is split into several.
    """
    found: dict[Group, set[int]] = {}
    for load in _certain_loads(body):
        if not load.checked and load.buffer.access is Access.READ and lanes.varies(load.index):
            root, distance = split(load.index)
            found.setdefault((load.buffer, root), set()).add(distance)
    groups = {}
    for group, distances in found.items():
        ordered = sorted(distances)
        parts = (ordered[first : first + lanes.width] for first in range(0, len(ordered), lanes.width))
        rows = [part for part in parts if is_row(part, lanes.width)]
        if rows and are_apart(group[1], lanes):
            groups[group] = rows
    return groups


def is_row(distances: Iterable[int], width: int) -> bool:
    """Whether elements are side by side, and as many as can be transposed."""
    ordered = sorted(distances)
    return len(ordered) in ROWS and len(ordered) <= width and ordered[-1] - ordered[0] + 1 == len(ordered)


def are_apart(index: Expr, lanes: VectorLanes) -> bool:
    """Whether an index differs so much from lane to lane that one access cannot cover all lanes, as far as is known.

    Only for an index that does not wrap between lanes, and that has one value wherever it is computed.
    """
    pattern = lanes.pattern(index)
    if pattern is None:
        if index.dtype is not u64 or not lanes.varies(index) or not lanes.is_steady(index):
            return False
        return lanes.is_scaled(index) or not lanes.may_be_adjacent(index)
    return can_address(index, pattern) and max(pattern.offsets) - min(pattern.offsets) >= NEAR * lanes.width


def _certain_loads(body: Body) -> Iterator[Load]:
    """What the statements of a block load themselves, whatever their conditions are."""
    for node in postorder(e for stmt in body for e in expressions(stmt)):
        if isinstance(node, Load):
            yield node


# ── stores ───────────────────────────────────────────────────────────────────────────────────────────────────────────


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
