"""What a target can write down: the only thing that legalization knows about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from vyre_driver.errors import UnsupportedFeature
from vyre_foundation.dtype import DType, bool_, f32, i32, u8, u16, u32
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp as SubgroupOp
from vyre_foundation.passes import Pass


class Groups(Enum):
    """How a target runs the invocations of a workgroup."""

    ITEMS = "work items"
    """Side by side, whatever they do."""
    LOOPS = "loops"
    """Best one after the other: its compiler makes vectors of loops, and little, or worse, of barriers."""
    MIXED = "work items, or loops where invocations part"
    """As vectors, as long as all go the same way."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Whether one work item runs a whole workgroup, and why. `most` is how many in a row on x it can run."""

    as_loops: bool
    reason: str = ""
    most: int = 1

    def __str__(self) -> str:
        groups = "a workgroup" if self.most == 1 else f"up to {self.most} workgroups"
        how = f"one work item runs {groups}" if self.as_loops else "every invocation is a work item"
        return f"{how}: {self.reason}"


@dataclass(frozen=True, slots=True)
class SubgroupCaps:
    """The collectives that a target has itself, and the sizes of subgroups for which they are right."""

    sizes: frozenset[int]
    ops: frozenset[tuple[SubgroupOp, DType]]

    @property
    def is_usable(self) -> bool:
        """Whether there is any."""
        return bool(self.sizes and self.ops)

    def has(self, op: SubgroupOp, dtype: DType, size: int) -> bool:
        """Whether `op` on values of `dtype` needs no composition in subgroups of this size."""
        return size in self.sizes and (op, dtype) in self.ops


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`ops` are the (op id, operand type) pairs that the target spells with exactly the meaning of the op table.

    `arithmetic` are the types that registers can hold, `memory` those that buffers can have; a type that memory lacks
    is stored as the unsigned integer of its size, so u8, u16 and u32 are always in it. `casts` are (from, to) pairs,
    exact for values that fit; `bitcasts` likewise keep the bits. `calls` are dialect ops with a native form. `language`
    is what dialects may state texts in, empty if kernels are not printed in one. `atomics`
    and `subgroup_ops` are native forms; `subgroup_sizes` are the sizes for which the native collectives work on
    consecutive local ids. `grid_barrier`: the target has one (else programs are split). `groups`: how it
    runs a workgroup. `wide_indices`: u64 indices are cheaper than u32 ones. `loop_versioning`: code without checks
    is so much faster that a second copy is worth its size.
    `functions`: rare ops are better called than inlined. `masks`: its emitter runs loops with divergent exits in
    lockstep itself. `masked_memory`: it has instructions for loads and stores of some invocations of a vector.
    `passes` run last: workarounds for flaws of the compiler.
    `replacements` run in place of the passes of the optimizer and of lowering that have their names.
    """

    name: str
    ops: frozenset[tuple[str, DType]]
    memory: frozenset[DType] = frozenset((u8, u16, u32, i32, f32))
    arithmetic: frozenset[DType] = frozenset((bool_, u32, i32, f32))
    casts: frozenset[tuple[DType, DType]] = frozenset()
    bitcasts: frozenset[tuple[DType, DType]] = frozenset()
    calls: frozenset[tuple[str, DType]] = frozenset()
    language: str = ""
    atomics: frozenset[tuple[AtomicOp, DType]] = frozenset()
    subgroup_ops: frozenset[tuple[SubgroupOp, DType]] = frozenset()
    subgroup_sizes: frozenset[int] = field(default=frozenset())
    grid_barrier: bool = False
    groups: Groups = Groups.ITEMS
    wide_indices: bool = False
    loop_versioning: bool = False
    functions: bool = False
    masks: bool = False
    masked_memory: bool = False
    passes: tuple[Pass[Any], ...] = ()
    replacements: tuple[Pass[Any], ...] = ()

    @property
    def subgroups(self) -> SubgroupCaps:
        """What the target does in subgroups without help."""
        return SubgroupCaps(self.subgroup_sizes, self.subgroup_ops)

    def has_atomic(self, op: AtomicOp, dtype: DType) -> bool:
        """Whether there is an atomic, or a compare-exchange of which it is made."""
        return bool({(op, dtype), (AtomicOp.COMPARE_EXCHANGE, dtype)} & self.atomics)

    def spells(self, op: str, operand: DType) -> bool:
        """Whether the target spells `op` on operands of this type."""
        return (op, operand) in self.ops


def unsupported(target: Target, what: str) -> UnsupportedFeature:
    """The error for what neither the target nor anything made of its words can do."""
    fix = "compute with types and ops that the device supports, or choose a backend whose capabilities list them"
    return UnsupportedFeature(what, backend=target.name, fix=fix)
