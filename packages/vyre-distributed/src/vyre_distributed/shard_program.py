"""The program of a shard: that of the launch, over slices of its buffers and a range of its workgroups.

    out[global_id.x] = a[global_id.x] + a[length(a) - 1]
        →   out[global_id.x + shard[0] - shard[1]] = a[global_id.x + shard[0]] + a[shard[2] - 1]

All shards of a launch run one program. What differs is in the words of a uniform buffer. Words of offsets that are
equal in every shard are one word, so that an optimizer sees that they cancel out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vyre_distributed.shards import Shard, Sharding
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Load, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, IndirectDispatch, Stmt, Store
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.ops import OPS

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class ShardProgram:
    """A program, the words of each shard in order, and the name of the buffer that takes them."""

    program: Program
    words: tuple[Words, ...]
    parameter: str


def shard_program(sharding: Sharding) -> ShardProgram:
    """The program that every shard of a launch runs. Its inputs are those of the launch, all outputs, and the words."""
    return _Writer(sharding).write()


class _Writer:
    def __init__(self, sharding: Sharding) -> None:
        self._sharding, self._plan, self._program = sharding, sharding.plan, sharding.plan.program
        taken = {buffer.name for buffer in self._program.buffers}
        self._parameter = next(name for n in range(len(taken) + 1) if (name := f"shard{n or ''}") not in taken)
        self._columns: dict[tuple[str, tuple[int, ...]], int] = {}
        self._sliced = {
            name
            for name in sharding.shards[0].needs
            if any(shard.needs[name].count != self._plan.lengths[name] for shard in sharding.shards)
        }
        self._buffers = {buffer: self._declared(buffer) for buffer in self._program.buffers}
        binding = sum(buffer.binding is not None for buffer in self._program.buffers)
        self._binding = binding

    def write(self) -> ShardProgram:
        # The number of words is known when all are used: the rules run twice, and the second finds every column.
        for _ in range(2):
            words = Buffer(self._parameter, u32, Access.READ, Memory.UNIFORM, max(1, len(self._columns)), self._binding)
            body = rewrite_body(self._program.body, self._rule(words))
        bound = [buffer for buffer in self._buffers.values() if buffer.binding is not None]
        others = [buffer for buffer in self._buffers.values() if buffer.binding is None]
        program = replace(self._program, buffers=(*bound, words, *others), body=body)
        columns = list(self._columns)
        rows = [[values[n] for _, values in columns] or [0] for n in range(len(self._sharding.shards))]
        return ShardProgram(program, tuple(np.array(row, np.uint32) for row in rows), self._parameter)

    def _declared(self, buffer: Buffer) -> Buffer:
        """The declaration in the program of a shard: inputs bring their lengths, outputs their first contents."""
        if not buffer.memory.is_host_visible:
            return buffer if isinstance(buffer.count, int) else buffer.replace(count=self._plan.lengths[buffer.name])
        access = Access.READ_WRITE if buffer.access.writes else Access.READ
        fixed = isinstance(buffer.count, int) and buffer.name not in self._sliced
        return buffer.replace(access=access, count=buffer.count if fixed else RUNTIME, output_range=None)

    def _rule(self, words: Buffer) -> Callable[[Stmt], Stmt]:
        memo: dict[Expr, Expr] = {}

        def node(expr: Expr) -> Expr:
            match expr:
                case Id(IdKind.WORKGROUP_ID, axis) if axis == self._sharding.axis:
                    return _apply("add", expr, self._first(words, 1))
                case Id(IdKind.GLOBAL_ID, axis) if axis == self._sharding.axis:
                    return _apply("add", expr, self._first(words, self._program.workgroup_size[axis]))
                case Id(IdKind.NUM_WORKGROUPS, axis):
                    return self._word(words, f"groups {axis}", lambda shard: self._plan.grid[axis])
                case Length(buffer) if buffer.memory.is_host_visible:
                    return self._word(words, f"length {buffer.name}", lambda shard: self._plan.lengths[buffer.name])
                case Length(buffer):
                    return Length(self._buffers[buffer])
                case Load(buffer, index):
                    return Load(self._buffers[buffer], self._index(words, buffer, index))
            return expr

        def statement(stmt: Stmt) -> Stmt:
            stmt = with_expressions(stmt, lambda root: rewrite(root, node, memo))
            match stmt:
                case Store() | Atomic():
                    index = self._index(words, stmt.buffer, stmt.index)
                    return replace(stmt, buffer=self._buffers[stmt.buffer], index=index)
                case IndirectDispatch():  # the grid of a shard is given, which wins
                    return replace(stmt, buffer=self._buffers[stmt.buffer])
            return stmt

        return statement

    def _first(self, words: Buffer, scale: int) -> Expr:
        return self._word(words, "offset", lambda shard: shard.first * scale)

    def _index(self, words: Buffer, buffer: Buffer, index: Expr) -> Expr:
        """An index into a buffer as one into its slice."""
        if buffer.name not in self._sliced:
            return index
        start = self._word(words, "offset", lambda shard: shard.needs[buffer.name].start)
        return _apply("sub", index, start if index.dtype is u32 else Cast(index.dtype, start))

    def _word(self, words: Buffer, kind: str, value: Callable[[Shard], int]) -> Expr:
        column = kind, tuple(value(shard) for shard in self._sharding.shards)
        number = self._columns.setdefault(column, len(self._columns))
        return Load(words, literal(u32, number))


def _apply(op: str, x: Expr, y: Expr) -> Expr:
    return Apply(OPS[op], x, y)
