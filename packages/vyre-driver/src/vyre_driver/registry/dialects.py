"""Which ops there are: those of the language and those of every installed dialect, as one table.

A dialect needs nothing from a backend: each of its ops is a composition, so it runs on all of them at once, and where
it has a text in the language of a target, the target takes that. It is announced by an entry point of the group
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
"""The id of an op as one object for each text: compared by identity, hashed once."""

DialectRegistration: TypeAlias = Callable[[], Dialect]
"""What an entry point of the group ``vyre.dialects`` names; called once, when somebody first calls a dialect's op."""

LANGUAGE = "vyre"
"""The dialect that the language itself counts as."""


def intern_string(text: str) -> InternedOpId:
    """The one object for this id in this process."""
    return InternedOpId(sys.intern(text))


class Category(Enum):
    """Who gives an op its meaning."""

    INTRINSIC = "intrinsic"
    """The op table of the language; every backend spells it or lowers it."""
    COMPOSITE = "composite"
    """Other ops: the call is expanded before lowering."""


@dataclass(frozen=True, slots=True)
class TypedParam:
    """One operand or result."""

    name: str
    type: DType


@dataclass(frozen=True, slots=True)
class Signature:
    """Types that an op takes and gives. Most ops have one signature for each type of their operands."""

    inputs: tuple[TypedParam, ...]
    outputs: tuple[TypedParam, ...]
    attrs: tuple[AttrSchema, ...] = ()

    def __str__(self) -> str:
        taken = ", ".join([*(p.type.name for p in self.inputs), *map(str, self.attrs)])
        return f"({taken}) -> {', '.join(p.type.name for p in self.outputs)}"


@dataclass(frozen=True, slots=True)
class OpBackendTarget:
    """An op that has a form of its own for `target`, the language that a backend's kernels are printed in."""

    op: InternedOpId
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpDef:
    """An op. `laws` hold bit for bit for integers; compositions state none, but `lowerings`."""

    id: InternedOpId
    dialect: str
    category: Category
    signatures: tuple[Signature, ...]
    summary: str
    laws: Laws | None = None
    lowerings: LoweringTable = NO_LOWERINGS

    @property
    def targets(self) -> tuple[OpBackendTarget, ...]:
        """Where a text stands in for the composition."""
        return tuple(OpBackendTarget(self.id, language) for language in sorted(self.lowerings.texts))


@dataclass(frozen=True, slots=True)
class DialectRegistry:
    """All ops at one moment, by id: those of the language first, then those of dialects in order."""

    ops: Mapping[InternedOpId, OpDef]
    dialects: tuple[Dialect, ...]
    problems: tuple[DialectProblem, ...]

    @classmethod
    def current(cls) -> DialectRegistry:
        """What is installed and registered now."""
        language = (_of_language(op) for op in OPS.values() if op.tier is Tier.LANGUAGE)
        found = (*language, *map(_of_dialect, registered_ops()))
        return cls(MappingProxyType({op.id: op for op in found}), installed_dialects(), dialect_problems())

    def lookup(self, id: str) -> OpDef:
        """The op with this id; `UnknownCallee` if there is none."""
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
