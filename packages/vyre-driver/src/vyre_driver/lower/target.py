"""What a target can write down: the only thing that legalization knows about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from vyre_foundation.dtype import DType, bool_, f32, i32, u32
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`ops` are the (op id, operand type) pairs that the target spells with exactly the meaning of the op table.

    `arithmetic` are the types that registers can hold; other types exist in memory only, as unsigned integers of their
    size. `atomics` and `subgroup_ops` are native forms; `subgroup_sizes` are the sizes for which the native collectives
    work on consecutive local ids. `grid_barrier`: the target has one (else programs are split).
    """

    name: str
    ops: frozenset[tuple[str, DType]]
    arithmetic: frozenset[DType] = frozenset((bool_, u32, i32, f32))
    atomics: frozenset[tuple[AtomicOp, DType]] = frozenset()
    subgroup_ops: frozenset[tuple[SubgroupOp, DType]] = frozenset()
    subgroup_sizes: frozenset[int] = field(default=frozenset())
    grid_barrier: bool = False

    def spells(self, op: str, operand: DType) -> bool:
        return (op, operand) in self.ops
