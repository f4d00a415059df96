"""The operations of reductions and scans: what is combined, and the value that changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from vyre_algorithms.arguments import Array, as_dtype, of_kind, type_of
from vyre_algorithms.tree import Reduction, State
from vyre_driver.errors import InvalidInput
from vyre_foundation import DType, Value, constant, functions as f, select
from vyre_foundation.dtype import bool_, f32, i64, u32, u64

SCANNED = ("sum", "prod", "min", "max", "any", "all", "and", "or", "xor")
"""The operations of scans."""
REDUCED = (*SCANNED, "argmin", "argmax")
"""Those of reductions."""


def result_type(operation: str, array: Array, dtype: object, among: Sequence[str]) -> DType:
    """The type of what an operation gives, which is one of `among`; `dtype` is that of sums and products, or None."""
    if operation not in among:
        other = {"add": "sum", "mul": "prod"}.get(operation)
        fix = f"pass {other!r}" if other else "pass the name of an operation"
        raise InvalidInput("operation", needed=f"one of {', '.join(among)}", got=repr(operation), fix=fix)
    match operation:
        case "sum" | "prod":
            return sum_type(array, dtype)
        case "any" | "all":
            return bool_
        case "argmin" | "argmax":
            return i64
        case "and" | "or" | "xor":
            return of_kind(array, "biu", "bools or integers")
        case _:
            return type_of(array)


def sum_type(array: Array, dtype: object) -> DType:
    """The type of the sums of the elements of an array, if the caller asks for `dtype`."""
    if dtype is not None:
        result = as_dtype(dtype)
        if result is bool_:
            raise InvalidInput("dtype", needed="a type of numbers", got="bool", fix="use any or all")
        return result
    own = type_of(array)
    if own.is_float:
        return own
    return u64 if own.is_integer and not own.is_signed else i64


@lru_cache(maxsize=1024)
def reduction_of(operation: str, dtype: DType, result: DType) -> Reduction:
    """What is combined for an operation over elements of `dtype`, if it gives `result`."""
    if operation in ("argmin", "argmax"):
        return _extreme_index(operation, dtype)
    if operation in ("min", "max"):
        first = _first_of(operation, dtype)
        return _simple(operation, dtype, dtype, _last_of(operation, dtype), first)
    if operation in ("any", "all"):
        return _simple(operation, dtype, bool_, operation == "all", f.and_ if operation == "all" else f.or_)
    if operation in ("and", "or", "xor"):
        combine = {"and": f.and_, "or": f.or_, "xor": f.xor}[operation]
        return _simple(operation, dtype, dtype, all_ones(dtype) if operation == "and" else 0, combine)
    state = f32 if result.is_float and result.bits == 16 else result
    if operation == "prod":
        return _simple(operation, dtype, state, 1, f.mul)
    zero = -0.0 if state.is_float else 0  # −0 + x is x for every x; 0 + (−0) is not
    if operation == "sum":
        return _simple(operation, dtype, state, zero, f.add)
    products = lambda values, _: (values[0].cast(state) * values[1].cast(state),)
    added = _simple(operation, dtype, state, zero, f.add)
    return Reduction(operation, (dtype, dtype), (state,), added.identity, products, added.combine)


@lru_cache(maxsize=64)
def squares_of(dtype: DType, state: DType, is_one_block: bool) -> Reduction:
    """The sum of the squares of the distances of elements of `dtype` from a value of each sequence.

    With `is_one_block` that is their mean, which the program finds itself.
    """
    added = reduction_of("sum", dtype, state)

    def leaf(values: Sequence[Value], index: Value) -> State:
        (element,) = added.leaf(values[:1], index)
        distance = element - values[1]
        return (distance * distance,)

    if is_one_block:
        return replace(added, name="variance", leaf=leaf, added=added)
    return replace(added, name="squares", leaf=leaf, centre=state)


@lru_cache(maxsize=256)
def segmented(plain: Reduction, exclusive: bool) -> Reduction:
    """The same for segments: pairs of a state and whether a segment has begun, which drops what was before.

    The last array says where segments begin. With `exclusive`, what is there is the identity.
    """

    def leaf(values: Sequence[Value], index: Value) -> State:
        begins, state = values[-1], plain.leaf(values[:-1], index)
        if exclusive:
            state = tuple(select(begins, a, b) for a, b in zip(plain.identity, state, strict=True))
        return (*state, begins)

    def combine(a: State, b: State) -> State:
        both = plain.combine(a[:-1], b[:-1])
        return (*(select(b[-1], new, old) for new, old in zip(b[:-1], both, strict=True)), a[-1] | b[-1])

    name = f"{plain.name}_of_segments"
    identity = (*plain.identity, constant(bool_, False))
    return Reduction(name, (*plain.inputs, bool_), (*plain.state, bool_), identity, leaf, combine)


def _simple(
    operation: str, dtype: DType, state: DType, identity: float, combine: Callable[[Value, Value], Value]
) -> Reduction:
    cast = lambda values, _: (values[0] if state is dtype else values[0].cast(state),)
    one: State = (constant(state, identity),)
    return Reduction(operation, (dtype,), (state,), one, cast, lambda a, b: (combine(a[0], b[0]),))


def all_ones(dtype: DType) -> int:
    """The bool or the integer of which every bit is 1."""
    return -1 if dtype.is_signed else dtype.highest


def _last_of(operation: str, dtype: DType) -> float:
    """The value that loses against every other."""
    if dtype.is_float:
        return math.inf if operation.endswith("min") else -math.inf
    return dtype.highest if operation.endswith("min") else dtype.lowest


def _first_of(operation: str, dtype: DType) -> Callable[[Value, Value], Value]:
    """The lesser or greater of two values, where a NaN wins."""
    if dtype is bool_:
        return f.and_ if operation == "min" else f.or_
    choose = f.min if operation == "min" else f.max
    if not dtype.is_float:
        return choose
    wins = f.lt if operation == "min" else f.gt
    return lambda a, b: select(f.eq(a, b), choose(a, b), select(wins(b, a) | f.is_nan(b), b, a))


def _extreme_index(operation: str, dtype: DType) -> Reduction:
    """Pairs of a value and its index: the value that wins, and of equal ones the lower index."""
    state = u32 if dtype is bool_ else dtype
    identity: State = (constant(state, _last_of(operation, state)), constant(u32, 0xFFFF_FFFF))
    beats = f.lt if operation.endswith("min") else f.gt

    def combine(a: State, b: State) -> State:
        better = beats(b[0], a[0]) | (f.eq(b[0], a[0]) & f.lt(b[1], a[1]))
        if state.is_float:
            nan_a, nan_b = f.is_nan(a[0]), f.is_nan(b[0])
            better = select(nan_a, nan_b & f.lt(b[1], a[1]), nan_b | better)
        return select(better, b[0], a[0]), select(better, b[1], a[1])

    def append(a: State, b: State) -> State:
        better = beats(b[0], a[0])
        if state.is_float:
            better = better | (f.is_nan(b[0]) & ~f.is_nan(a[0]))
        return select(better, b[0], a[0]), select(better, b[1], a[1])

    cast = lambda values, index: (values[0] if state is dtype else values[0].cast(state), index)
    return Reduction(operation, (dtype,), (state, u32), identity, cast, combine, append=append)
