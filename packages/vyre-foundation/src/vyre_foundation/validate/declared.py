"""What a program declares and touches: its locals, the use of its buffers, and the features that it needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter

from vyre_foundation.dtype import DType, bf16, f16, f64, i64, u64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Id, IdKind, Load
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Atomic,
    Barrier,
    Body,
    For,
    IndirectDispatch,
    Let,
    Scope,
    Stmt,
    Store,
    Subgroup,
    Trap,
    Var,
)
from vyre_foundation.ir.walk import statements
from vyre_foundation.validate.facts import Feature, Usage

_BY_DTYPE = {f16: Feature.F16, bf16: Feature.BF16, f64: Feature.F64, i64: Feature.INT64, u64: Feature.INT64}
_DECLARING = frozenset((Let, Var, For, Atomic, Subgroup))
_SUBGROUP_IDS = (IdKind.SUBGROUP_LANE, IdKind.SUBGROUP_SIZE)


def declaration(stmt: Stmt) -> tuple[str, DType] | None:
    """The local that `stmt` declares, if it declares one."""
    if stmt.__class__ not in _DECLARING:
        return None
    match stmt:
        case Let() | Var():
            return stmt.name, stmt.value.dtype
        case For():
            return stmt.name, stmt.start.dtype
        case Atomic() if stmt.result is not None:
            return stmt.result, stmt.buffer.dtype
        case Subgroup() if stmt.result is not None:
            return stmt.result, stmt.op.result_type(stmt.value.dtype)
        case _:
            return None


def declared_locals(body: Body) -> dict[str, DType]:
    """Every local of the program and its type."""
    return dict(d for d in map(declaration, statements(body)) if d is not None)


def mutable_locals(body: Body) -> frozenset[str]:
    """The locals that `Assign` may change."""
    return frozenset(s.name for s in statements(body) if isinstance(s, Var))


def buffer_usage(program: Program) -> Mapping[str, Usage]:
    """How the program touches each of its buffers."""
    loads = {node.buffer.name for node in program.code.of(Load)}
    loads |= {stmt.buffer.name for stmt in program.of(IndirectDispatch)}
    stores = {stmt.buffer.name for stmt in program.of(Store)}
    atomics = {stmt.buffer.name for stmt in program.of(Atomic)}
    names = (*(b.name for b in program.buffers), *sorted(loads | stores | atomics))
    return {name: Usage(name in loads, name in stores, name in atomics) for name in dict.fromkeys(names)}


def features(program: Program) -> frozenset[Feature]:
    """What the program needs beyond 32-bit integers and f32."""
    return frozenset(_needed(program))


def _needed(program: Program) -> Iterator[Feature]:
    dtypes = {*map(attrgetter("dtype"), (*program.buffers, *program.code.others))}
    dtypes.update(stmt.op.result_type(stmt.value.dtype) for stmt in program.of(Subgroup))
    if program.of(Subgroup) or not {node.kind for node in program.code.of(Id)}.isdisjoint(_SUBGROUP_IDS):
        yield Feature.SUBGROUP
    if any(stmt.buffer.dtype.bits == 64 for stmt in program.of(Atomic)):
        yield Feature.ATOMIC64
    if any(stmt.scope is Scope.GRID for stmt in program.of(Barrier)):
        yield Feature.GRID_BARRIER
    if program.of(Trap):
        yield Feature.TRAP
    if program.of(IndirectDispatch):
        yield Feature.INDIRECT_DISPATCH
    if any(b.memory is Memory.PERSISTENT for b in program.buffers):
        yield Feature.PERSISTENT
    for dtype in dtypes & _BY_DTYPE.keys():
        yield _BY_DTYPE[dtype]
