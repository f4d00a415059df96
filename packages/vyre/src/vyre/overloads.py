"""Names that are an operation of the language on values, and an algorithm on arrays."""

from __future__ import annotations

import numbers
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar, overload

import vyre_algorithms
import vyre_foundation.functions as operations
from vyre_driver.errors import InvalidInput
from vyre_foundation.build import Number, Operand, Operators, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from vyre_driver import DeviceArray
    from vyre_driver.graph.recorded import RecordedRange

_V = TypeVar("_V", bound=Value)


@overload
def min(x: _V, y: _V | Number, /, *others: _V | Number) -> _V: ...
@overload
def min(x: Operand, y: Operand, /, *others: Operand) -> Value: ...
@overload
def min(x: npt.NDArray[Any] | DeviceArray | RecordedRange, /, axis: int | None = None, **options: Any) -> Any: ...
@overload
def min(x: Iterable[_V], /) -> _V: ...
def min(x: Any, /, *operands: Any, **options: Any) -> Any:
    """Choose the least of several values, or find the least element of an array.

    Args:
        x: A value or a number, in kernels and recorded programs; a list of them; or an array.
        *operands: The other values or numbers; for an array its axes, or nothing.
        **options: Those of `vyre.algorithms.min`.

    Returns:
        A value, as the op `min` of the language defines it, which prefers numbers to NaN; or what
        `vyre.algorithms.min` returns, where a NaN is less than all.
    """
    return _either("min", x, operands, options)


@overload
def max(x: _V, y: _V | Number, /, *others: _V | Number) -> _V: ...
@overload
def max(x: Operand, y: Operand, /, *others: Operand) -> Value: ...
@overload
def max(x: npt.NDArray[Any] | DeviceArray | RecordedRange, /, axis: int | None = None, **options: Any) -> Any: ...
@overload
def max(x: Iterable[_V], /) -> _V: ...
def max(x: Any, /, *operands: Any, **options: Any) -> Any:
    """Choose the greatest of several values, or find the greatest element of an array.

    Args:
        x: A value or a number, in kernels and recorded programs; a list of them; or an array.
        *operands: The other values or numbers; for an array its axes, or nothing.
        **options: Those of `vyre.algorithms.max`.

    Returns:
        A value, as the op `max` of the language defines it, which prefers numbers to NaN; or what
        `vyre.algorithms.max` returns, where a NaN is greater than all.
    """
    return _either("max", x, operands, options)


def _either(name: str, x: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if not operands and isinstance(x, (list, tuple)) and any(isinstance(each, Operators) for each in x):
        if len(x) == 1:
            return x[0]
        x, operands = x[0], tuple(x[1:])
    is_value = isinstance(x, Operators) or (isinstance(x, numbers.Number) and bool(operands))
    if operands and not is_value and (isinstance(operands[0], float) or getattr(operands[0], "shape", ())):
        other = repr(operands[0]) if isinstance(operands[0], float) else "y[i]"
        needed, got = "an axis, as the first argument is an array", f"a {type(operands[0]).__name__}"
        fix = f"write vyre.{name}(x[i], {other}) in a kernel, for each element"
        raise InvalidInput("axis", needed=needed, got=got, fix=fix)
    if is_value and operands and not options:
        return reduce(getattr(operations, name), operands, x)
    return getattr(operations if is_value else vyre_algorithms, name)(x, *operands, **options)
