"""Reductions, scans and votes from exchanges, in the orders that the language prescribes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from vyre_driver.legalization.subgroup.exchange import Exchange
from vyre_foundation.dtype import DType, bool_, u32, u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Select, literal
from vyre_foundation.ops import OPS


def reduce(exchange: Exchange, op: str, value: Expr, lane: Expr, size: int) -> Expr:
    """The reduction of `value` over a subgroup of `size` lanes, in every lane.

    The butterfly, from the greatest distance to the least: ``x = op(x, x[lane ^ distance])``.
    """
    for distance in reversed(list(_powers(size))):
        other = exchange.fetch(value, Apply(OPS["xor"], lane, literal(u32, distance)))
        value = exchange.bind("reduced", Apply(OPS[op], value, other))
    return value


def inclusive_scan(exchange: Exchange, op: str, value: Expr, lane: Expr, size: int) -> Expr:
    """The scan of `value` over a subgroup of `size` lanes, each lane's own value included.

    Kogge and Stone, from the least distance to the greatest: ``x = op(x[lane - distance], x)`` where there is one.
    """
    for distance in _powers(size):
        other, exists = _before(exchange, value, lane, distance)
        value = exchange.bind("scanned", Select(exists, Apply(OPS[op], other, value), value))
    return value


def exclusive_scan(exchange: Exchange, op: str, value: Expr, lane: Expr, size: int) -> Expr:
    """The inclusive scan of the lane before, and the identity in the first lane."""
    identity = identity_literal(op, value.dtype)
    if size == 1:
        return identity
    other, exists = _before(exchange, inclusive_scan(exchange, op, value, lane, size), lane, 1)
    return exchange.bind("scanned", Select(exists, other, identity))


def ballot(exchange: Exchange, value: Expr, lane: Expr, size: int) -> Expr:
    """Every lane's own bit, put together; up to 32 lanes fit a u32."""
    word = u32 if size <= 32 else u64
    position = lane if word is u32 else Cast(word, lane)
    bit = Select(value, Apply(OPS["shl"], literal(word, 1), position), literal(word, 0))
    votes = reduce(exchange, "or", bit, lane, size)
    return votes if word is u64 else Cast(u64, votes)


def _before(exchange: Exchange, value: Expr, lane: Expr, distance: int) -> tuple[Expr, Expr]:
    """The value `distance` lanes before (of some lane, where there is none), and whether there is one."""
    step = literal(u32, distance)
    exists = Apply(OPS["ge"], lane, step)
    return exchange.fetch(value, Select(exists, Apply(OPS["sub"], lane, step), lane)), exists


def _powers(size: int) -> Iterator[int]:
    """The powers of two below `size`, from 1."""
    return (1 << k for k in range(size.bit_length() - 1))


def identity_literal(op: str, dtype: DType) -> Expr:
    """Give the identity element of a reduction."""
    if dtype.is_float:
        value = {"add": 0.0, "min": math.inf, "max": -math.inf}[op]
        return literal(dtype, value)
    match op:
        case "min":
            return literal(dtype, dtype.highest)
        case "max":
            return literal(dtype, dtype.lowest)
        case "and":
            return Literal(dtype, (1 << dtype.bits) - 1 if dtype is not bool_ else 1)
        case _:
            return literal(dtype, 0)
