"""Expressions made of what a target spells: an op that is not spelled becomes its decomposition.

A decomposition is a function ``rule(x, y, …)`` over terms of a register type; it is exact, total for all operands, and
made of other ops, which are decomposed in turn until everything is spelled. It gives None where it knows no way.
"""

from __future__ import annotations

from collections.abc import Callable

from vyre_driver.errors import UnsupportedFeature
from vyre_driver.legalization.forms import (
    bits,
    compare,
    division,
    floats,
    integers,
    narrow,
    rounding,
    saturation,
    shifts,
)
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_driver.legalization.target import Target, unsupported
from vyre_foundation.dtype import DType, bf16, bool_, f16, f32, i8, i16, i32, u8, u16, u32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Literal, Select, literal
from vyre_foundation.ops import OPS, Result
from vyre_foundation.ops.scalar import cast, to_bits

Rule = Callable[..., "ExprTerm | None"]

RULES: dict[str, Rule] = {
    **integers.RULES,
    **saturation.RULES,
    **division.RULES,
    **shifts.RULES,
    **bits.RULES,
    **compare.RULES,
    **floats.RULES,
    **rounding.RULES,
}

CARRIERS = {u8: u32, u16: u32, i8: i32, i16: i32, f16: f32, bf16: f32}
"""The register type that holds a type which the target has in memory only."""


class Forms:
    """Builds expressions for one target; raises `UnsupportedFeature` where it spells too little."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def carrier(self, dtype: DType) -> DType:
        """The type of the registers that hold values of `dtype`."""
        if dtype in self.target.arithmetic:
            return dtype
        carrier = CARRIERS.get(dtype)
        if carrier is None or carrier not in self.target.arithmetic:
            raise self.unsupported(f"values of type {dtype}")
        return carrier

    def wide(self, dtype: DType) -> DType:
        """The register type of at least 32 bits that holds values of `dtype`."""
        return CARRIERS.get(dtype, dtype)

    def widened(self, x: ExprTerm) -> ExprTerm:
        """`x` in a register of at least 32 bits."""
        return ExprTerm(self, self.native_cast(self.wide(x.dtype), x.expr), x.known)

    def storage(self, dtype: DType) -> DType:
        """The type of the memory that holds values of `dtype`: itself, or the unsigned integers of its size."""
        self.carrier(dtype)
        if dtype in self.target.memory and dtype in self.target.arithmetic:
            return dtype
        stored = dtype if dtype.is_integer and dtype in self.target.memory else dtype.unsigned
        if stored not in self.target.memory:
            raise self.unsupported(f"{dtype} in memory")
        return stored

    def unsupported(self, what: str) -> UnsupportedFeature:
        """The error that says that the target cannot express `what`."""
        return unsupported(self.target, what)

    def apply(self, op: str, *operands: ExprTerm) -> Expr:
        """``op(operands…)`` for operands of a register type."""
        dtype = operands[0].dtype
        row = OPS[op]
        args = [x.expr for x in operands]
        values = [x.value for x in args if isinstance(x, Literal)]
        if len(values) == len(args) and (row.precondition is None or row.precondition(dtype, *values)):
            return literal(row.results[dtype], row.evaluate(dtype, *values))
        if (op, dtype) in self.target.ops:
            return Apply(row, *args)
        if dtype in CARRIERS:
            return self._through_carrier(op, dtype, operands)
        rule = RULES.get(op)
        result = rule(*operands) if rule is not None else None
        if result is None:
            raise self.unsupported(f"{op} on {dtype}")
        return result.expr

    def _through_carrier(self, op: str, dtype: DType, operands: tuple[ExprTerm, ...]) -> Expr:
        """An op on a narrow register type that only the wider type has: there and back again."""
        result = self.narrow(op, dtype, *[self.widened(x) for x in operands])
        match OPS[op].result:
            case Result.BOOL:
                return result
            case Result.SAME:
                return self.native_cast(dtype, result)
            case Result.UNSIGNED:
                return self.native_cast(dtype.unsigned, result)

    def narrow(self, op: str, dtype: DType, *operands: ExprTerm) -> Expr:
        """``op`` as the narrow `dtype` defines it, over operands in its carrier; the result is in a carrier too."""
        result = narrow.apply(op, dtype, *operands)
        if result is None:
            raise self.unsupported(f"{op} on {dtype}")
        return result.expr

    def select(self, condition: Expr, if_true: Expr, if_false: Expr) -> Expr:
        """A selection, or its value where the condition is a literal or both values are one."""
        if isinstance(condition, Literal):
            return if_true if condition.bits else if_false
        return if_true if if_true is if_false else Select(condition, if_true, if_false)

    def native_cast(self, dtype: DType, value: Expr) -> Expr:
        """The conversion that the target spells; a float must fit the integer type `dtype`."""
        source = value.dtype
        if source is dtype:
            return value
        if isinstance(value, Literal) and dtype in self.target.arithmetic:
            return Literal(dtype, to_bits(dtype, cast(source, dtype, value.value)))
        if (source, dtype) in self.target.casts:
            return Cast(dtype, value, checked=not (source.is_float and dtype.is_integer))
        if source is bool_:
            return self.select(value, literal(dtype, 1), literal(dtype, 0))
        if source.is_integer and dtype.is_integer and source.bits == dtype.bits:
            return self.native_bitcast(dtype, value)
        raise self.unsupported(f"the conversion of {source} to {dtype}")

    def native_bitcast(self, dtype: DType, value: Expr) -> Expr:
        """The bits of a register as another type. A way there and back between integers is no way."""
        source = value.dtype
        if source is dtype:
            return value
        if isinstance(value, Literal) and dtype in self.target.arithmetic:
            return Literal(dtype, value.bits)
        if isinstance(value, Bitcast) and value.value.dtype is dtype and dtype.is_integer and source.is_integer:
            return value.value
        if (source, dtype) in self.target.bitcasts:
            return Bitcast(dtype, value)
        if source.is_integer and dtype.is_integer and (source, dtype) in self.target.casts:
            return Cast(dtype, value)
        raise self.unsupported(f"the bits of {source} as {dtype}")
