"""Equations over expressions: decompositions read like arithmetic.

An `ExprTerm` is an expression in the registers of a target, with operators that write what the target spells. Numbers
take the type of the other operand. `<<` and `>>` are raw shifts: their counts are below the width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Expr, Literal, literal
from vyre_foundation.validate.facts import Interval

if TYPE_CHECKING:
    from vyre_driver.legalization.forms.forms import Forms

Number = bool | int | float


class ExprTerm:
    """One expression, and the `Forms` that its operators go through. `known` is what facts say about an integer."""

    __slots__ = ("expr", "forms", "known")

    def __init__(self, forms: Forms, expr: Expr, known: Interval | None = None) -> None:
        self.forms, self.expr, self.known = forms, expr, known

    @property
    def dtype(self) -> DType:
        """The type of the expression."""
        return self.expr.dtype

    @property
    def range(self) -> Interval:
        """Every value that this integer can take lies here."""
        if isinstance(self.expr, Literal):
            return Interval(int(self.expr.value), int(self.expr.value))
        return self.known or Interval(self.dtype.lowest, self.dtype.highest)

    def op(self, op: str, *others: ExprTerm | Number) -> ExprTerm:
        """A row of the op table over this term and others."""
        terms = [other if isinstance(other, ExprTerm) else self.number(other) for other in others]
        return ExprTerm(self.forms, self.forms.apply(op, self, *terms))

    # fmt: off
    def __add__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("add", other)
    def __sub__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("sub", other)
    def __mul__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("mul", other)
    def __and__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("and", other)
    def __or__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("or", other)
    def __xor__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("xor", other)
    def __invert__(self) -> ExprTerm: return self.op("not")
    def __neg__(self) -> ExprTerm: return self.op("neg")
    def __abs__(self) -> ExprTerm: return self.op("abs")
    def __lshift__(self, count: ExprTerm | Number) -> ExprTerm: return self.op("raw_shl", count)
    def __rshift__(self, count: ExprTerm | Number) -> ExprTerm: return self.op("raw_shr", count)
    def __lt__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("lt", other)
    def __le__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("le", other)
    def __gt__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("gt", other)
    def __ge__(self, other: ExprTerm | Number) -> ExprTerm: return self.op("ge", other)
    def equals(self, other: ExprTerm | Number) -> ExprTerm:
        """The comparison ``self == other`` as a term; `==` itself compares terms, not their values."""
        return self.op("eq", other)
    def differs(self, other: ExprTerm | Number) -> ExprTerm:
        """The comparison ``self != other`` as a term."""
        return self.op("ne", other)
    # fmt: on

    def where(self, if_true: ExprTerm | Number, if_false: ExprTerm | Number) -> ExprTerm:
        """`if_true` where this condition holds, else `if_false`; at least one of them is a term."""
        if not isinstance(if_true, ExprTerm):
            assert isinstance(if_false, ExprTerm)
            if_true = if_false.number(if_true)
        if not isinstance(if_false, ExprTerm):
            if_false = if_true.number(if_false)
        return ExprTerm(self.forms, self.forms.select(self.expr, if_true.expr, if_false.expr))

    def number(self, value: Number, dtype: DType | None = None) -> ExprTerm:
        """A literal of this term's type, or of another."""
        return ExprTerm(self.forms, literal(dtype or self.dtype, value))

    def cast(self, dtype: DType) -> ExprTerm:
        """The target's own conversion: the value must fit if this is a float and `dtype` an integer type."""
        return ExprTerm(self.forms, self.forms.native_cast(dtype, self.expr))

    def bits(self, dtype: DType) -> ExprTerm:
        """The register's bits as another type of the same width; the payload of a NaN is what it is."""
        return ExprTerm(self.forms, self.forms.native_bitcast(dtype, self.expr))
