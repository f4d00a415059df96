"""Attributes: operands of a call that are constants, because what the call means is decided where it is written.

    call("geometry.length", x, y, norm="maximum")        call<f32> geometry.length(x, y, 1)

An op says which of its operands are attributes: the last ones, each with a name, a type, and a default if it has one.
To the rest of the language an attribute is a literal like any other, so that nothing but the schema knows of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vyre_foundation.dtype import DType, u32
from vyre_foundation.errors import LiteralOutOfRange, VyreError
from vyre_foundation.ir.expr import Expr, Literal, literal

AttrValue = bool | int | float | str
"""What Python calls an attribute by: a number, or one of the names of a choice."""


class BadAttribute(VyreError, ValueError):
    """An attribute of a call is missing, unknown, or not a value of its type."""

    code = "E111"


@dataclass(frozen=True, slots=True)
class AttrType:
    """A type of the language, or a choice: `choices` are its names, and the first of them is 0 as a u32."""

    dtype: DType = u32
    choices: tuple[str, ...] = ()

    def literal(self, value: AttrValue | Expr) -> Literal:
        """`value` as the operand that it is; `ValueError` or `LiteralOutOfRange` if it is none of this type."""
        if isinstance(value, Expr):
            if isinstance(value, Literal) and self.admits(value):
                return value
            raise ValueError
        if self.choices:
            return literal(u32, self.choices.index(str(value)))
        if isinstance(value, str) or isinstance(value, bool) != (self.dtype.bits == 1):
            raise ValueError
        return literal(self.dtype, value)

    def value(self, operand: Literal) -> AttrValue:
        """What Python calls the operand by."""
        return self.choices[int(operand.value)] if self.choices else operand.value

    def admits(self, operand: Expr) -> bool:
        """Whether `operand` is a constant of this type."""
        if not isinstance(operand, Literal) or operand.dtype is not self.dtype:
            return False
        return not self.choices or operand.value < len(self.choices)

    def __str__(self) -> str:
        return " | ".join(self.choices) or self.dtype.name


@dataclass(frozen=True, slots=True)
class AttrSchema:
    """One attribute of an op. Without a `default` every call states it."""

    name: str
    type: AttrType
    default: AttrValue | None = None

    def operand(self, value: AttrValue | Expr | None) -> Literal:
        """The operand for a value or a literal, or for the default; `BadAttribute` if that cannot be."""
        given = self.default if value is None else value
        if given is None:
            raise BadAttribute(f"attribute {self.name!r} is missing", fix=f"state {self.name}= as {self.type}")
        try:
            return self.type.literal(given)
        except (ValueError, LiteralOutOfRange):
            if isinstance(given, Expr) and not isinstance(given, Literal):
                message = f"attribute {self.name!r} got {given!r}, which is known only when the program runs"
                fix = f"write a constant of {self.type}, or select between calls with different ones"
                raise BadAttribute(message, fix=fix) from None
            message = f"attribute {self.name!r} got {given!r}, expected {self.type}"
            raise BadAttribute(message, fix="pass a value of that type") from None

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + ("" if self.default is None else f" = {self.default}")


def operands_of(schemas: Sequence[AttrSchema], given: Mapping[str, AttrValue | Expr]) -> list[Literal]:
    """The operands for attributes by name, in the order of the schemas."""
    unknown = sorted(given.keys() - {schema.name for schema in schemas})
    if unknown:
        known = ", ".join(schema.name for schema in schemas) or "none"
        raise BadAttribute(f"got the attribute {unknown[0]!r}, the op has {known}", fix="pass what the op has")
    return [schema.operand(given.get(schema.name)) for schema in schemas]


def values_of(schemas: Sequence[AttrSchema], operands: Sequence[Expr]) -> dict[str, AttrValue]:
    """The attributes of a valid call by name."""
    last = operands[len(operands) - len(schemas) :]
    pairs = zip(schemas, last, strict=True)
    return {schema.name: schema.type.value(operand) for schema, operand in pairs if isinstance(operand, Literal)}


def complaint(schemas: Sequence[AttrSchema], operands: Sequence[Expr]) -> str | None:
    """What is wrong with the attributes of a call whose operands have the types of a signature."""
    for schema, operand in zip(schemas, operands[len(operands) - len(schemas) :], strict=True):
        if not schema.type.admits(operand):
            return f"{operand!r} as its attribute {schema.name!r}, expected a literal of {schema.type}"
    return None
