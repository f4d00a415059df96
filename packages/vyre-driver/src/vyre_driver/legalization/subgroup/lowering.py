"""Subgroups: native where the target has exactly that op, else from its shuffles, else through workgroup memory.

Subgroup ops are in control flow that all invocations of a workgroup take together, so barriers are legal there.
"""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.legalization.coordinates import local_index
from vyre_driver.legalization.declare import declare
from vyre_driver.legalization.subgroup.collectives import ballot, exclusive_scan, inclusive_scan, reduce
from vyre_driver.legalization.subgroup.exchange import Exchange, ExchangeMemory, Shuffle
from vyre_driver.legalization.target import Target
from vyre_foundation.dtype import DType, u32, u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, Let, Stmt, Subgroup, SubgroupOp
from vyre_foundation.ir.walk import rewrite, rewrite_body, statements, with_expressions
from vyre_foundation.ops import OPS


def lower_subgroups(program: Program, target: Target) -> Program:
    """Compose subgroup operations that the target lacks.

    ``let s = reduce_add x``  →  ``lanes[i] = x; barrier; let y = lanes[i ^ 1]; let s = x + y`` for every distance

    Lane numbers become computations on local ids. The result has a subgroup size only if native ops are left.
    """
    if program.subgroup_size is None:
        return program
    return _Lowering(program, program.subgroup_size, target).program()


class _Lowering:
    def __init__(self, program: Program, size: int, target: Target) -> None:
        self._program, self._size, self._target = program, size, target
        self._caps = target.subgroups
        self._fresh = Fresh.of(program)
        self._index = Local(self._fresh("local_index"), u32)
        self._lane = Local(self._fresh("lane"), u32)
        self._first = Local(self._fresh("first_lane"), u32)
        self._arrays: dict[DType, Buffer] = {}

    def program(self) -> Program:
        memo: dict[Expr, Expr] = {}
        named = rewrite_body(
            self._program.body, lambda stmt: with_expressions(stmt, lambda e: rewrite(e, self._id, memo))
        )
        body = rewrite_body(named, self._stmt)
        numbers = () if body is self._program.body else self._numbers()
        lowered = declare(self._program, (*numbers, *body), *self._arrays.values())
        native = any(isinstance(stmt, Subgroup) for stmt in statements(body))
        return lowered if native else replace(lowered, subgroup_size=None)

    def _numbers(self) -> Body:
        """The position in the workgroup, in the subgroup, and of the subgroup's first lane: sizes are powers of two."""
        mask = literal(u32, self._size - 1)
        return (
            Let(self._index.name, local_index(self._program)),
            Let(self._lane.name, Apply(OPS["and"], self._index, mask)),
            Let(self._first.name, Apply(OPS["sub"], self._index, self._lane)),
        )

    def _id(self, node: Expr) -> Expr:
        match node:
            case Id(IdKind.SUBGROUP_LANE):
                return self._lane
            case Id(IdKind.SUBGROUP_SIZE):
                return literal(u32, self._size)
            case _:
                return node

    def _stmt(self, stmt: Stmt) -> Stmt | Body:
        if not isinstance(stmt, Subgroup):
            return stmt
        if stmt.result is None:
            return ()
        dtype = stmt.value.dtype
        if dtype in self._target.arithmetic and self._caps.has(stmt.op, dtype, self._size):
            return stmt if stmt.lane is None else replace(stmt, lane=self._masked(stmt.lane))
        exchange = self._exchange(stmt)
        value = exchange.bind(stmt.result, stmt.value)
        result = self._composed(stmt, exchange, value)
        return (*exchange.out, Let(stmt.result, result), *exchange.closing())

    def _composed(self, stmt: Subgroup, exchange: Exchange, value: Expr) -> Expr:
        lane, size = self._lane, self._size
        match stmt.op.family, stmt.op.combine:
            case "reduce", str(op):
                return reduce(exchange, op, value, lane, size)
            case "inclusive_scan", str(op):
                return inclusive_scan(exchange, op, value, lane, size)
            case "exclusive_scan", str(op):
                return exclusive_scan(exchange, op, value, lane, size)
            case "any", _:
                return reduce(exchange, "or", value, lane, size)
            case "all", _:
                return reduce(exchange, "and", value, lane, size)
            case "ballot", _:
                return ballot(exchange, value, lane, size)
        assert stmt.lane is not None
        other = self._masked(stmt.lane)
        return exchange.fetch(value, Apply(OPS["xor"], lane, other) if stmt.op is SubgroupOp.SHUFFLE_XOR else other)

    def _masked(self, lane: Expr) -> Expr:
        return Apply(OPS["and"], lane, literal(u32, self._size - 1))

    def _exchange(self, stmt: Subgroup) -> Exchange:
        dtype = stmt.value.dtype
        if stmt.op is SubgroupOp.BALLOT:
            dtype = u32 if self._size <= 32 else u64
        carrier = Shuffle.carrier(dtype, self._target) if self._size in self._caps.sizes else None
        if carrier is not None:
            return Shuffle(self._fresh, [], carrier)
        if dtype not in self._arrays:
            self._arrays[dtype] = ExchangeMemory.array(dtype, self._program.workgroup_volume, self._fresh)
        return ExchangeMemory(self._fresh, [], self._arrays[dtype], self._index, self._first)
