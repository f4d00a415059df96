"""The ops of the language and of every installed dialect, as one table.

A dialect works on every backend without changes there, because each of its ops is a composition. If it has source in
the language of a target, the target uses that source. A dialect is found by an entry point of the group
``vyre.dialects``, or by a manifest in a folder of `VYRE_DIALECT_PATH`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import NewType, TypeAlias

from vyre_foundation.dialects import (
    Composition,
    Dialect as Dialect,
    DialectProblem,
    UnknownCallee,
    default_validator as default_validator,
    dialect_problems,
    installed_dialects,
    registered_ops,
)
from vyre_foundation.dialects.attributes import AttrSchema as AttrSchema, AttrType as AttrType
from vyre_foundation.dialects.lowering import (
    NO_LOWERINGS,
    LoweringCtx as LoweringCtx,
    LoweringTable as LoweringTable,
    ReferenceKind as ReferenceKind,
    TextBuilder as TextBuilder,
    TextModule as TextModule,
)
from vyre_foundation.dialects.mutation import MutationClass as MutationClass
from vyre_foundation.dtype import DType
from vyre_foundation.ops import OPS, Laws, Op, Tier

InternedOpId = NewType("InternedOpId", str)
"""The interned id of an op, which can be compared by identity."""

DialectRegistration: TypeAlias = Callable[[], Dialect]
"""The object of an entry point of the group ``vyre.dialects``. It is called once, at the first use of a dialect."""

LANGUAGE = "vyre"
"""The name of the dialect of the ops of the language."""


def intern_string(text: str) -> InternedOpId:
    """Return the interned object for an id in this process."""
    return InternedOpId(sys.intern(text))


class Category(Enum):
    """How an op is defined."""

    INTRINSIC = "intrinsic"
    """By the op table of the language. Every backend spells it or lowers it."""
    COMPOSITE = "composite"
    """By other ops. Calls are expanded before lowering."""


@dataclass(frozen=True, slots=True)
class TypedParam:
    """An operand or a result of an op."""

    name: str
    type: DType


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of the operands and results of an op. Most ops have one signature for each type of operands."""

    inputs: tuple[TypedParam, ...]
    outputs: tuple[TypedParam, ...]
    attrs: tuple[AttrSchema, ...] = ()

    def __str__(self) -> str:
        taken = ", ".join([*(p.type.name for p in self.inputs), *map(str, self.attrs)])
        return f"({taken}) -> {', '.join(p.type.name for p in self.outputs)}"


@dataclass(frozen=True, slots=True)
class OpBackendTarget:
    """An op with source in `target`, the language in which a backend prints kernels."""

    op: InternedOpId
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpDef:
    """An op. `laws` hold bit for bit for integers. Compositions have `lowerings` instead of laws."""

    id: InternedOpId
    dialect: str
    category: Category
    signatures: tuple[Signature, ...]
    summary: str
    laws: Laws | None = None
    lowerings: LoweringTable = NO_LOWERINGS

    @property
    def targets(self) -> tuple[OpBackendTarget, ...]:
        """The targets with source that replaces the composition."""
        return tuple(OpBackendTarget(self.id, language) for language in sorted(self.lowerings.texts))


@dataclass(frozen=True, slots=True)
class DialectRegistry:
    """All ops by id: those of the language first, then those of dialects in order."""

    ops: Mapping[InternedOpId, OpDef]
    dialects: tuple[Dialect, ...]
    problems: tuple[DialectProblem, ...]

    @classmethod
    def current(cls) -> DialectRegistry:
        """Return the ops that are installed and registered now."""
        language = (_of_language(op) for op in OPS.values() if op.tier is Tier.LANGUAGE)
        found = (*language, *map(_of_dialect, registered_ops()))
        return cls(MappingProxyType({op.id: op for op in found}), installed_dialects(), dialect_problems())

    def lookup(self, id: str) -> OpDef:
        """Return the op with an id, or raise `UnknownCallee` if there is none."""
        if id not in self.ops:
            known = ", ".join(sorted({op.dialect for op in self.ops.values()}))
            fix = "install the distribution that defines it; `vyre ops` lists what there is"
            raise UnknownCallee(f"no op {id!r} is known (dialects: {known})", fix=fix)
        return self.ops[InternedOpId(id)]

    def __iter__(self) -> Iterator[OpDef]:
        return iter(self.ops.values())


def _of_language(op: Op) -> OpDef:
    names = "xyz"[: op.arity]
    return OpDef(
        id=intern_string(op.id),
        dialect=LANGUAGE,
        category=Category.INTRINSIC,
        signatures=tuple(
            Signature(tuple(TypedParam(name, operand) for name in names), (TypedParam("result", result),))
            for operand, result in op.results.items()
        ),
        summary=op.summary,
        laws=op.laws,
    )


def _of_dialect(row: Composition) -> OpDef:
    attributes = len(row.attrs)
    return OpDef(
        id=intern_string(row.id),
        dialect=row.id.partition(".")[0],
        category=Category.COMPOSITE,
        signatures=tuple(
            Signature(
                tuple(TypedParam(f"x{n}", operand) for n, operand in enumerate(operands[: len(operands) - attributes])),
                (TypedParam("result", result),),
                row.attrs,
            )
            for operands, result in row.signatures.items()
        ),
        summary=row.summary,
        lowerings=row.lowerings,
    )
