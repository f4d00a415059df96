"""Proofs of rewrite rules: by all values where there are few, by the values at which types end where there are many.

`counterexample(rule)` takes every choice of types that the rule allows, and for integers also types of 4 bits, whose
values are few enough to try all of them in every variable. A condition on ranges is taken at its weakest: it holds for
values if it holds for the ranges that have these values alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product, starmap
from math import prod
from random import Random
from typing import Any

import numpy as np

from vyre_foundation.dtype import DType, Kind, bool_, i8, u8
from vyre_foundation.ir.expr import Bitcast, Cast, Select
from vyre_foundation.ops import Op
from vyre_foundation.ops.definition import Result
from vyre_foundation.ops.scalar import bitcast, cast, from_bits, round_float, to_bits
from vyre_foundation.optimize.rules.rule import Condition, Fits, Holds, RewriteRule, Survives, Test
from vyre_foundation.optimize.rules.term import Node, Number, Term, TypeName, Variable, operand_type, variables
from vyre_foundation.testing.values import random_bits, special_bits

u4 = DType("u4", Kind.UNSIGNED, 4, 0)
i4 = DType("i4", Kind.SIGNED, 4, 0)
_SMALLER = {u8: u4, i8: i4}

MANY = 1 << 16
"""The greatest number of cases where tables have the results: all values of two operands of 8 bits, or of four of 4."""
SOME = 1 << 7
"""The number of special cases, and of random ones. Up to twice as many values are all tried."""

Bits = Any
"""The bits of a value in every case: an array of Python integers, or of indices where there are few values."""
Types = Mapping[str, DType]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Types, and values as bits, for which the two sides of a rule differ."""

    types: Types
    values: Mapping[str, int]
    left: int
    right: int


def counterexample(rule: RewriteRule, some: int = SOME) -> Counterexample | None:
    """Values for which `rule` is wrong; None if there is none among those that are tried."""
    for types in _choices(rule):
        found = _refutation(rule, types, some)
        if found is not None:
            return found
    return None


def _choices(rule: RewriteRule) -> Iterator[dict[str, DType]]:
    for types in rule.types.assignments():
        if all(dtype in _SMALLER for dtype in types.values()):
            yield {name: _SMALLER[dtype] for name, dtype in types.items()}
        yield types


class _NoSuchNumber(Exception):
    """A rule names a number that a type does not hold."""


def _refutation(rule: RewriteRule, types: Types, some: int) -> Counterexample | None:
    cases = _Cases(rule, types, some)
    try:
        dtype, left = cases.value(rule.left, types.get("T", bool_))
    except _NoSuchNumber:
        return None  # then it is never met
    right = np.broadcast_to(cases.value(rule.right, dtype)[1], left.shape)
    wrong = np.flatnonzero((left != right) & cases.met)
    if not len(wrong):
        return None
    at = wrong[0]
    values = {name: int(bits[at]) for name, (_, bits) in cases.columns.items()}
    return Counterexample(types, values, int(left[at]), int(right[at]))


class _Cases:
    """The values of all variables of a rule in every case, and `met`: the cases in which its conditions hold."""

    def __init__(self, rule: RewriteRule, types: Types, some: int) -> None:
        self._types = types
        names = variables(rule.left)
        dtypes = [self._dtype(v.type) for v in names]
        in_tables = len(types) == 1 and all(dtype.bits <= 8 for dtype in dtypes)
        rows = _rows(tuple(dtypes), some, MANY if in_tables else 2 * some)
        self.columns = {v.name: (dtype, bits) for v, dtype, bits in zip(names, dtypes, rows, strict=True)}
        self.met = np.ones(len(rows[0]), bool)
        for condition in rule.where:
            self.met &= self._holds(condition)

    def _dtype(self, type: TypeName) -> DType:
        return self._types[type] if isinstance(type, str) else type

    # ── terms ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def value(self, term: Term, dtype: DType) -> tuple[DType, Bits]:
        """The type and the bits of a term in every case; a number is of type `dtype`."""
        match term:
            case Variable(name):
                return self.columns[name]
            case Number():
                literal = term.of(dtype)
                if literal is None:
                    raise _NoSuchNumber
                return dtype, np.full(len(self.met), literal.bits, self._integers(dtype))
            case Node(symbol, args, to):
                operand = operand_type(term, 1 if symbol is Select else 0)
                inner = dtype if operand is None else self._dtype(operand)
                if symbol is Select:
                    condition = self.value(args[0], bool_)[1].astype(bool)
                    arms = [self.value(arg, inner) for arg in args[1:]]
                    return arms[0][0], np.where(condition, arms[0][1], arms[1][1])
                operands = [self.value(arg, inner) for arg in args]
                source, target = operands[0][0], None if to is None else self._dtype(to)
                return _applied(symbol, source, target, [bits for _, bits in operands])
            case _:
                raise AssertionError(term)

    @staticmethod
    def _integers(dtype: DType) -> type:
        return np.intp if dtype.bits <= 16 else object

    # ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _holds(self, condition: Condition) -> Any:
        match condition:
            case Test(_, variable, accept):
                return self._where(variable, accept)
            case Survives(variable, type):
                other = self._dtype(type)
                return self._where(variable, lambda dtype, value: condition.accept(dtype, other, value))
            case Fits(term, type):
                dtype, exact = self._dtype(type), self._exact(term)
                return np.array((exact >= dtype.lowest) & (exact <= dtype.highest), bool)
            case Holds(comparison):
                assert isinstance(comparison.symbol, Op)
                left, right = map(self._exact, comparison.args)
                return np.array(comparison.symbol.meaning(None, left, right), bool)

    def _where(self, variable: Variable, accept: Callable[[DType, Any], bool]) -> Any:
        dtype, bits = self.columns[variable.name]
        return _mapped(lambda pattern: accept(dtype, from_bits(dtype, pattern)), bits).astype(bool)

    def _exact(self, term: Term) -> Any:
        """The values of a term over unbounded integers."""
        match term:
            case Variable(name):
                dtype, bits = self.columns[name]
                return _mapped(lambda pattern: int(from_bits(dtype, pattern)), bits).astype(object)
            case Number(value):
                literal = term.of(self._types["T"])
                return int(literal.value if literal is not None else value)
            case Node(Op() as op, args):
                return op.meaning(None, *map(self._exact, args))
            case _:
                raise AssertionError(term)


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@cache
def _rows(dtypes: tuple[DType, ...], some: int, most: int) -> list[Bits]:
    """Give values to try, one row for each of the types.

    All combinations of all values if these are at most `most`; else all combinations of the most special values, some
    of special ones, and some of random ones.
    """
    sizes = [1 << max(1, dtype.bits) for dtype in dtypes]
    if prod(sizes) <= most:
        rows = [grid.ravel() for grid in np.meshgrid(*map(np.arange, sizes), indexing="ij")]
    else:
        rng = Random(repr(dtypes))
        values = [range(size) if size <= 16 else special_bits(dtype) for size, dtype in zip(sizes, dtypes, strict=True)]
        drawn = list(product(*[_extreme_bits(dtype) for dtype in dtypes])) if len(dtypes) <= 3 else []
        drawn += list(product(*values)) if len(dtypes) == 1 else [tuple(map(rng.choice, values)) for _ in range(some)]
        drawn += [tuple(random_bits(rng, dtype) for dtype in dtypes) for _ in range(some)]
        rows = [np.array(row, object) for row in zip(*drawn, strict=True)]
    return [_canonical(dtype, row) if dtype.is_float else row for dtype, row in zip(dtypes, rows, strict=True)]


def _extreme_bits(dtype: DType) -> list[int]:
    """Both zeros, units, ends, infinities and NaN; for integers also counts at the width."""
    if dtype is bool_:
        return [0, 1]
    if not dtype.is_float:
        top = 1 << dtype.bits
        return [0, 1, 2, dtype.bits - 1, dtype.bits, top // 2 - 1, top // 2, top - 1]
    sign, one, infinity = 1 << (dtype.bits - 1), to_bits(dtype, 1.0), to_bits(dtype, math.inf)
    return [dtype.nan_bits, *(bits | s for bits in (0, 1, one, infinity - 1, infinity) for s in (0, sign))]


def _canonical(dtype: DType, bits: Bits) -> Bits:
    """With one NaN, because a program cannot tell others from it."""
    return _mapped(lambda pattern: to_bits(dtype, from_bits(dtype, pattern)), bits)


def _applied(symbol: Any, source: DType, target: DType | None, operands: list[Bits]) -> tuple[DType, Bits]:
    if symbol is Cast or symbol is Bitcast:
        assert target is not None
        (bits,) = operands
        return target, _mapped(lambda pattern: _converted(symbol, source, target, pattern), bits)
    result = _result(symbol, source)
    if source.bits <= 8 and symbol.arity <= 2:
        return result, _table(symbol, source)[tuple(bits.astype(np.intp) for bits in operands)]
    if len(operands) == 1:
        return result, _mapped(lambda x: _evaluated(symbol, source, x), operands[0])
    with np.errstate(all="ignore"):  # flags of the host's conversions say nothing here
        return result, np.frompyfunc(lambda *bits: _evaluated(symbol, source, *bits), symbol.arity, 1)(*operands)


@cache
def _converted(symbol: Any, source: DType, target: DType, pattern: int) -> int:
    convert = cast if symbol is Cast else bitcast
    return to_bits(target, convert(source, target, from_bits(source, pattern)))


def _mapped(function: Callable[[int], int], bits: Bits) -> Bits:
    """A function of one value in every case, computed once for each value."""
    distinct, places = np.unique(bits, return_inverse=True)
    return np.array([function(int(pattern)) for pattern in distinct], object)[places]


@cache
def _table(op: Op, dtype: DType) -> Bits:
    """The results of an op for all values of a type of at most 8 bits."""
    every = [from_bits(dtype, pattern) for pattern in range(1 << max(1, dtype.bits))]
    results = list(starmap(_result_bits(op, dtype), product(every, repeat=op.arity)))
    return np.array(results).reshape((len(every),) * op.arity)


def _evaluated(op: Op, dtype: DType, *bits: int) -> int:
    """`op.evaluate` on bits, also for the types that the op table does not know."""
    return _result_bits(op, dtype)(*[from_bits(dtype, int(pattern)) for pattern in bits])


@cache
def _result_bits(op: Op, dtype: DType) -> Callable[..., int]:
    """From values of `dtype` to the bits of what the op gives for them."""
    result, meaning = _result(op, dtype), op.meaning
    if result.is_float:
        return lambda *values: to_bits(result, round_float(result, meaning(dtype, *values)))
    if result.is_integer:
        mask = (1 << result.bits) - 1
        return lambda *values: int(meaning(dtype, *values)) & mask
    return lambda *values: int(bool(meaning(dtype, *values)))


def _result(op: Op, dtype: DType) -> DType:
    match op.result:
        case Result.BOOL:
            return bool_
        case Result.UNSIGNED:
            return u4 if dtype is i4 else dtype if not dtype.is_signed else dtype.unsigned
        case Result.SAME:
            return dtype
