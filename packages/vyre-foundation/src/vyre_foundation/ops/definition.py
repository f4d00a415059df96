"""What one row of the op table says.

A row holds all that is true of an op on every target: its types, its exact meaning, the laws that rewrites may use,
and witnesses: literal numbers written by hand, boundaries first. A concrete driver adds one thing, the spelling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from inspect import signature
from typing import Any

from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ops.scalar import Scalar, round_float, wrap

Meaning = Callable[..., Any]


class Result(Enum):
    """How the result type follows from the operand type (all operands of an op have one type)."""

    SAME = "same"
    BOOL = "bool"
    UNSIGNED = "unsigned"


class Tier(Enum):
    """Who may write an op: any program, or only a legalizer that has established its precondition."""

    LANGUAGE = "language"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class Laws:
    """Algebra that holds bit for bit. `identity` and `absorbing` are right operands: x op e == x, x op z == z.

    A value is a number, or "ones" (all bits set), "lowest", "highest" of the operand type.
    """

    commutative: bool = False
    associative: bool = False
    idempotent: bool = False
    involution: bool = False
    identity: int | float | str | None = None
    absorbing: int | float | str | None = None
    self_inverse: bool = False
    """x op x == 0."""


NO_LAWS = Laws()


@dataclass(frozen=True, slots=True)
class Witness:
    """One fact written by hand: ``op(*operands) == result`` with operands of `dtype`."""

    dtype: DType
    operands: tuple[Scalar, ...]
    result: Scalar


def at(dtype: DType, *rows: tuple[Scalar, ...]) -> tuple[Witness, ...]:
    """Witnesses in one type; the last column of each row is the result."""
    return tuple(Witness(dtype, row[:-1], row[-1]) for row in rows)


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One op: `id` in text and reports, `tag` on the wire, `arity` operands of one type out of `accepts`.

    `meaning(dtype, *values)` gives the mathematical result; `evaluate` wraps or rounds it to the result type.
    A raw op has a `precondition(dtype, *values)`: where it is false there is no meaning, and evaluators say so.
    """

    id: str
    tag: int
    arity: int
    accepts: tuple[DType, ...]
    result: Result
    meaning: Meaning
    summary: str
    laws: Laws = NO_LAWS
    float_laws: Laws = NO_LAWS
    witnesses: tuple[Witness, ...] = ()
    tier: Tier = Tier.LANGUAGE
    precondition: Meaning | None = None
    results: dict[DType, DType] = field(init=False, repr=False)
    """Operand type -> result type, for exactly the accepted types."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", {t: self._result_of(t) for t in self.accepts})

    def _result_of(self, operand: DType) -> DType:
        match self.result:
            case Result.SAME:
                return operand
            case Result.BOOL:
                return bool_
            case Result.UNSIGNED:
                return operand.unsigned

    def __repr__(self) -> str:
        return f"<op {self.id}>"

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of the operands, which are those of the meaning: x, y, z, and the count of a shift."""
        return tuple(signature(self.meaning).parameters)[1:]

    def laws_for(self, operand: DType) -> Laws:
        """The laws that hold for operands of this type."""
        return self.float_laws if operand.is_float else self.laws

    def evaluate(self, operand: DType, *values: Scalar) -> Scalar:
        """The exact result, in the result type, for values of type `operand`."""
        result = self.results[operand]
        value = self.meaning(operand, *values)
        if result.is_float:
            return round_float(result, value)
        return wrap(result, value) if result.is_integer else bool(value)
