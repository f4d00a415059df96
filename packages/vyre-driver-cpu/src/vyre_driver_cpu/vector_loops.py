"""Which loops over invocations are made of vectors by this backend, and how wide these are; LLVM has the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from vyre_driver.legalization.schedule import TRAPS
from vyre_driver_cpu.chains import vectors_at_once
from vyre_driver_cpu.lane_rows import has_rows, interleaved_stores
from vyre_driver_cpu.lanes import VectorLanes, can_address
from vyre_driver_cpu.loops import is_better_unrolled, is_reduction, looks_up
from vyre_driver_cpu.spelling import COMBINED
from vyre_driver_cpu.statements import StatementPrinter
from vyre_driver_cpu.values import FunctionScope
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Call, Expr, Literal, Load, Local
from vyre_foundation.ir.stmt import Assign, Atomic, Break, Continue, For, If, Let, Region, Stmt, Store, Var
from vyre_foundation.ir.walk import expressions, jumps_of, postorder, statements
from vyre_foundation.validate.declared import declared_locals

_KINDS = (Let, Var, Assign, Store, Atomic, If, For, Region, Break, Continue)
LONG_BODY = 400
"""Operations of a body without loops: more take LLVM's vectorizer too long."""
_MOST_JUMPS = 64
"""Jumps in a loop of vectors, whose following statements are printed inside of each other."""
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
class LoopVectors:
    """The lanes of a register, and those of as many as make one vector.

    `constants_in_memory`: floats are loaded where they are used.
    """

    narrow: VectorLanes
    wide: VectorLanes
    constants_in_memory: bool = False


def vectors_of(parent: StatementPrinter, loop: For) -> LoopVectors | None:
    """How a loop is made of vectors; None if it is left to LLVM."""
    scope = parent.scope
    stmts = tuple(statements(loop.body))
    nodes = postorder(e for s in stmts for e in expressions(s))
    if loop.start.dtype is not u32 or loop.step != 1 or not can_mask(loop, stmts, nodes):
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
    gives_up = _gives_up(loop, stmts, nodes, lanes, gathers=scope.spellings.gathers)
    if parent.is_rare:
        return LoopVectors(lanes, lanes) if loops and scope.spellings.masked_memory else None
    if not (loops or gives_up or len(nodes) > LONG_BODY):
        at_once = vectors_at_once(stmts, lanes, scope.spellings.vector_registers)
        chains = of(_doubled(lanes.width, min(at_once * lanes.width, _most_lanes(scope, loop, lanes))))
        if chains.width > lanes.width and fits(chains):
            return LoopVectors(lanes, chains, constants_in_memory=True)
    transposes = any(has_rows(body, lanes) for body in (loop.body, *(s.body for s in inner)))
    if transposes and not loops and len(nodes) <= LONG_BODY:
        narrow = of(_width(scope, loop, stmts, nodes, _ROW_BITS))
        lanes = narrow if fits(narrow) else lanes
    wide = of(_wider(scope, loop, stmts, lanes))
    if not (loops or gives_up or len(nodes) > LONG_BODY or transposes or wide.width > lanes.width):
        return None
    return LoopVectors(lanes, wide if fits(wide) else lanes)


def _gives_up(loop: For, stmts: tuple[Stmt, ...], nodes: list[Expr], lanes: VectorLanes, *, gathers: bool) -> bool:
    """Whether LLVM makes no vectors of the accesses of a loop, or worse ones."""
    loads = [node for node in nodes if isinstance(node, Load)]
    indices = [load.index for load in loads]
    scattered = {index for index in indices if lanes.varies(index) and not lanes.is_in_row(index)}
    atomics = [s for s in stmts if isinstance(s, Atomic)]
    if atomics:  # which take as long as what is beside them, unless several are one
        return not scattered and all(is_combined(s, lanes) for s in atomics)
    indices += [s.index for s in stmts if isinstance(s, Store)]
    if any(lanes.may_be_adjacent(i) or lanes.is_hidden(i) or lanes.is_reversed(i) for i in indices):
        return True
    filled = interleaved_stores(loop.body, lanes)
    if any(isinstance(s, Store) and s not in filled and _is_permuted(s, lanes) for s in stmts):
        return True
    least_bits = u32.bits if looks_up(loop) and not gathers else 0
    if any(load.checked and load.dtype.bits >= least_bits and load.index in scattered for load in loads):
        return True
    small = {load.index for load in loads if load.dtype.bits < u32.bits}
    return gathers and any(lanes.pattern(index) is None for index in small & scattered)


def _atomics_of_source(stmts: Iterable[Stmt]) -> list[Atomic]:
    """The atomics of the source. Traps are atomics too, but rare."""
    return [s for s in stmts if isinstance(s, Atomic) and s.buffer.name != TRAPS]


def is_combined(stmt: Atomic, lanes: VectorLanes) -> bool:
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


def can_mask(loop: For, stmts: tuple[Stmt, ...], nodes: list[Expr]) -> bool:
    """Whether every statement has a form for vectors, few of them jump, and nothing is summed up over invocations.

    Lanes may wait in a loop for an atomic of another lane, which has left the loop and waits for them. None waits for a
    trap.
    """
    if sum(isinstance(s, (Break, Continue)) for s in stmts) > _MOST_JUMPS:
        return False
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
