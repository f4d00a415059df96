"""The capabilities of a target, which are all that legalization knows about it."""

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
    """In parallel, in all cases."""
    LOOPS = "loops"
    """Preferably one after another: the compiler vectorizes loops, and handles barriers poorly or incorrectly."""
    MIXED = "work items, or loops where invocations part"
    """As vectors, as long as control flow does not diverge."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Whether one work item runs a whole workgroup, and the reason. It can run a batch of `most` workgroups on x."""

    as_loops: bool
    reason: str = ""
    most: int = 1

    def __str__(self) -> str:
        groups = "a workgroup" if self.most == 1 else f"up to {self.most} workgroups"
        how = f"one work item runs {groups}" if self.as_loops else "every invocation is a work item"
        return f"{how}: {self.reason}"


@dataclass(frozen=True, slots=True)
class SubgroupCaps:
    """The native collectives of a target, and the subgroup sizes for which they are correct."""

    sizes: frozenset[int]
    ops: frozenset[tuple[SubgroupOp, DType]]

    @property
    def is_usable(self) -> bool:
        """Whether there is a native collective."""
        return bool(self.sizes and self.ops)

    def has(self, op: SubgroupOp, dtype: DType, size: int) -> bool:
        """Return whether `op` on values of `dtype` is native in subgroups of this size."""
        return size in self.sizes and (op, dtype) in self.ops


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The capabilities of a target.

    `ops` has the (op id, operand type) pairs that the target spells with exactly the meaning of the op table.
    `arithmetic` has the types that registers can hold, `memory` the types of buffers; a type that is not in `memory` is
    stored as the unsigned integer of its size, so u8, u16 and u32 are always in it. `casts` has (from, to) pairs, exact
    for values that fit; `bitcasts` has pairs that keep the bits. `calls` has dialect ops with a native form. `language`
    is the language in which dialects may state source, empty if kernels are not printed in one. `atomics` and
    `subgroup_ops` have native forms; `subgroup_sizes` has the sizes for which the native collectives work on
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
        """The native collectives of the target."""
        return SubgroupCaps(self.subgroup_sizes, self.subgroup_ops)

    def has_atomic(self, op: AtomicOp, dtype: DType) -> bool:
        """Return whether there is an atomic, or a compare-exchange from which it can be composed."""
        return bool({(op, dtype), (AtomicOp.COMPARE_EXCHANGE, dtype)} & self.atomics)

    def spells(self, op: str, operand: DType) -> bool:
        """Return whether the target spells `op` on operands of this type."""
        return (op, operand) in self.ops


def unsupported(target: Target, what: str) -> UnsupportedFeature:
    """Return the error for a feature that the target neither has nor can compose."""
    fix = "compute with types and ops that the device supports, or choose a backend whose capabilities list them"
    return UnsupportedFeature(what, backend=target.name, fix=fix)
