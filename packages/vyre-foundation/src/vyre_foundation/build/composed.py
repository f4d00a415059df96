"""Functions that GPU languages have and that are compositions of ops here: bounds, interpolation, whole divisions.

Each docstring gives the composition, which defines the result bit for bit, also for NaN and division by zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar, overload

from vyre_foundation.build.values import (
    Number,
    Operand,
    Value,
    apply,
    builder_of,
    common_dtype,
    constant,
    operand,
    select,
)
from vyre_foundation.dtype import FLOATS, INTEGERS, NUMBERS, bool_
from vyre_foundation.errors import TypeMismatch

V = TypeVar("V", bound=Value)


_OF_FLOATS = {"floor_div": "floor(x / y)", "floor_mod": "x - floor(x / y) * y", "ceil_div": "ceil(x / y)"}
"""What the functions of integers are of floats."""


def _values(name: str, operands: Sequence[Operand], kind: str = "") -> list[Value]:
    """Operands of one type as values; `kind` is "float" or "integer", or empty for any numbers."""
    dtype = common_dtype(operands, {"": NUMBERS, "float": FLOATS, "integer": INTEGERS}[kind])
    if dtype is bool_ or (kind == "float" and not dtype.is_float) or (kind == "integer" and not dtype.is_integer):
        message = f"{name} takes {kind + 's' if kind else 'numbers'}, got {dtype}"
        fix = f"convert the operands first, as in x.cast({'f32' if kind == 'float' else 'i32'})"
        if kind == "integer" and dtype.is_float:
            fix = f"write {_OF_FLOATS[name]}, where each operation is rounded"
        raise TypeMismatch(message, fix=fix)
    return [Value(operand(x, dtype), builder_of(x)) for x in operands]


@overload
def clamp(x: V, low: V | Number, high: V | Number) -> V: ...
@overload
def clamp(x: Operand, low: Operand, high: Operand) -> Value: ...
def clamp(x: Operand, low: Operand, high: Operand) -> Value:
    """Bound a number: ``min(max(x, low), high)``. A NaN gives `low`; where `low` is above `high`, the result is `high`.

    Args:
        x: A value of a numeric type, or a number.
        low: The least result, of the type of `x`.
        high: The greatest result, of the type of `x`.

    Returns:
        A value of the type of the operands.

    Raises:
        TypeMismatch: The operands have different types, or are not numbers.
        BuildError: No operand is a value.
    """
    x, low, high = _values("clamp", (x, low, high))
    return apply("min", apply("max", x, low), high)


@overload
def saturate(x: V) -> V: ...
@overload
def saturate(x: Operand) -> Value: ...
def saturate(x: Operand) -> Value:
    """Bound a float to 0 … 1: ``clamp(x, 0, 1)``. A NaN gives 0, and so does -0.

    Args:
        x: A value of a float type.

    Returns:
        A value of that type.

    Raises:
        TypeMismatch: `x` is not a float.
    """
    (x,) = _values("saturate", (x,), "float")
    return clamp(x, 0.0, 1.0)


@overload
def lerp(x: V, y: V | Number, t: V | Number) -> V: ...
@overload
def lerp(x: Operand, y: Operand, t: Operand) -> Value: ...
def lerp(x: Operand, y: Operand, t: Operand) -> Value:
    """Interpolate linearly: ``x * (1 - t) + y * t``, each operation rounded. GLSL and WGSL call it `mix`.

    Args:
        x: The result where `t` is 0 and `y` is finite: a value of a float type, or a number.
        y: The result where `t` is 1 and `x` is finite.
        t: The place between them; beyond 0 … 1 it extrapolates.

    Returns:
        A value of the type of the operands.

    Raises:
        TypeMismatch: The operands have different types, or are not floats.
        BuildError: No operand is a value.
    """
    x, y, t = _values("lerp", (x, y, t), "float")
    return x * (1.0 - t) + y * t


@overload
def smoothstep(low: V | Number, high: V | Number, x: V) -> V: ...
@overload
def smoothstep(low: Operand, high: Operand, x: Operand) -> Value: ...
def smoothstep(low: Operand, high: Operand, x: Operand) -> Value:
    """Rise smoothly from 0 to 1: ``t * t * (3 - 2 * t)`` with ``t = saturate((x - low) / (high - low))``.

    Args:
        low: Where the rise begins: a value of a float type, or a number.
        high: Where it ends. If it is `low`, the result is 0 up to there and 1 beyond.
        x: The place.

    Returns:
        A value of the type of the operands.

    Raises:
        TypeMismatch: The operands have different types, or are not floats.
        BuildError: No operand is a value.
    """
    low, high, x = _values("smoothstep", (low, high, x), "float")
    t = saturate((x - low) / (high - low))
    return t * t * (3.0 - 2.0 * t)


@overload
def step(edge: V | Number, x: V) -> V: ...
@overload
def step(edge: Operand, x: Operand) -> Value: ...
def step(edge: Operand, x: Operand) -> Value:
    """Return 0 below an edge and 1 from there on: ``select(x < edge, 0, 1)``. A NaN gives 1.

    Args:
        edge: A value of a float type, or a number.
        x: The place.

    Returns:
        A value of the type of the operands.

    Raises:
        TypeMismatch: The operands have different types, or are not floats.
        BuildError: No operand is a value.
    """
    edge, x = _values("step", (edge, x), "float")
    return select(x < edge, constant(x.dtype, 0), constant(x.dtype, 1))


@overload
def fract(x: V) -> V: ...
@overload
def fract(x: Operand) -> Value: ...
def fract(x: Operand) -> Value:
    """Return the fraction of a float: ``x - floor(x)``. Just below an integer it rounds to 1.

    Args:
        x: A value of a float type.

    Returns:
        A value of that type.

    Raises:
        TypeMismatch: `x` is not a float.
    """
    (x,) = _values("fract", (x,), "float")
    return x - apply("floor", x)


@overload
def radians(x: V) -> V: ...
@overload
def radians(x: Operand) -> Value: ...
def radians(x: Operand) -> Value:
    """Convert degrees to radians: ``x * c``, where c is π/180 rounded to binary64, and then to the type.

    Args:
        x: A value of a float type.

    Returns:
        A value of that type.

    Raises:
        TypeMismatch: `x` is not a float.
    """
    (x,) = _values("radians", (x,), "float")
    return x * (math.pi / 180)


@overload
def degrees(x: V) -> V: ...
@overload
def degrees(x: Operand) -> Value: ...
def degrees(x: Operand) -> Value:
    """Convert radians to degrees: ``x * c``, where c is 180/π rounded to binary64, and then to the type.

    Args:
        x: A value of a float type.

    Returns:
        A value of that type.

    Raises:
        TypeMismatch: `x` is not a float.
    """
    (x,) = _values("degrees", (x,), "float")
    return x * (180 / math.pi)


@overload
def floor_div(x: V, y: V | Number) -> V: ...
@overload
def floor_div(x: Operand, y: Operand) -> Value: ...
def floor_div(x: Operand, y: Operand) -> Value:
    """Divide integers and round down, as ``//`` of Python; ``div(x, 0) = x``, and the least value by -1 is itself.

    It is ``div(x, y) - 1`` where the remainder is not 0 and has another sign than `y`, else ``div(x, y)``.

    Args:
        x: A value of an integer type, or a number.
        y: The divisor, of the type of `x`.

    Returns:
        A value of the type of the operands.

    Raises:
        TypeMismatch: The operands have different types, or are not integers.
        BuildError: No operand is a value.
    """
    x, y = _values("floor_div", (x, y), "integer")
    quotient = apply("div", x, y)
    return select(_is_between(x, y), quotient - 1, quotient) if x.dtype.is_signed else quotient


@overload
def floor_mod(x: V, y: V | Number) -> V: ...
@overload
def floor_mod(x: Operand, y: Operand) -> Value: ...
def floor_mod(x: Operand, y: Operand) -> Value:
    """Return the remainder of `floor_div`, with the sign of the divisor, as ``%`` of Python; ``floor_mod(x, 0) = 0``.

    It is ``rem(x, y) + y`` where the remainder is not 0 and has another sign than `y`, else ``rem(x, y)``.

    Args:
        x: A value of an integer type, or a number.
        y: The divisor, of the type of `x`.

    Returns:
        A value of the type of the operands.

    Raises:
        TypeMismatch: The operands have different types, or are not integers.
        BuildError: No operand is a value.
    """
    x, y = _values("floor_mod", (x, y), "integer")
    rest = apply("rem", x, y)
    return select(_is_between(x, y), rest + y, rest) if x.dtype.is_signed else rest


@overload
def ceil_div(x: V, y: V | Number) -> V: ...
@overload
def ceil_div(x: Operand, y: Operand) -> Value: ...
def ceil_div(x: Operand, y: Operand) -> Value:
    """Divide integers and round up, as the number of blocks of `y` that hold `x`; ``ceil_div(x, 0) = x``.

    It is ``div(x, y) + 1`` where the remainder is not 0 and has the sign of `y`, else ``div(x, y)``.

    Args:
        x: A value of an integer type, or a number.
        y: The divisor, of the type of `x`.

    Returns:
        A value of the type of the operands.

    Raises:
        TypeMismatch: The operands have different types, or are not integers.
        BuildError: No operand is a value.
    """
    x, y = _values("ceil_div", (x, y), "integer")
    quotient, rest = apply("div", x, y), apply("rem", x, y)
    is_more = rest != 0
    if x.dtype.is_signed:
        is_more = is_more & ((rest ^ y) >= 0)
    return select(is_more, quotient + 1, quotient)


def _is_between(x: Value, y: Value) -> Value:
    """Whether the quotient of signed integers is negative and not whole."""
    rest = apply("rem", x, y)
    return (rest != 0) & ((rest ^ y) < 0)
