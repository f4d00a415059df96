"""Arguments of the wrong kind: what messages say was given and expected, and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from vyre_foundation.errors import TypeMismatch

_KINDS = {
    "Expr": ("an expression", "write `literal(dtype, number)` for a number, and `.expr` behind a value of a builder"),
    "Buffer": ("a buffer", "pass the buffer that the program declares"),
    "DType": ("a type", "pass a type of `vyre_foundation.dtype`, such as `u32`"),
    "Op": ("an op", "take it from the table: `OPS['add']`"),
    "Facts": ("the facts of a program", "pass what `validate(program)` returns"),
    "Origins": ("the lines of a program", "pass the `origins` of a program, or None"),
    "Shapes": ("the shapes of a program", "pass the `shapes` of a program, or None"),
    "Program": ("a program", "pass what the `build()` of a builder returns"),
    "bool": ("a bool", "pass True or False"),
    "str": ("a string", "pass a str"),
    "bytes": ("bytes", "pass its bytes in little-endian order, as in `array.astype('<u4').tobytes()`"),
    "tuple": ("a tuple of statements", "write `(statement,)`"),
}
"""What values of a class are called, and how to get one. Classes go by their names: expressions use this module."""


def require(function: Callable[..., object], kind: type, *given: object) -> None:
    """Refuse arguments of `function` that are no values of `kind`, which Python itself does not check."""
    for each in given:
        if not isinstance(each, kind):
            message = f"{function.__name__.lower()} got {shown(each)}, expected {expected(kind)}"
            raise TypeMismatch(message, fix=remedy(kind, each))


def expected(kind: type) -> str:
    """What a value of `kind`, a class of this table or an enumeration, is called."""
    return _KINDS[kind.__name__][0] if kind.__name__ in _KINDS else f"a member of {kind.__name__}"


def remedy(kind: type, given: object) -> str:
    """What to write in the place of `given`, to have a value of `kind`."""
    if kind.__name__ in _KINDS:
        return _KINDS[kind.__name__][1]
    members = list(kind) if issubclass(kind, Enum) else []
    meant = next((member for member in members if isinstance(given, str) and member.value == given), None)
    return f"write `{meant}`" if meant is not None else f"write one of {', '.join(map(str, members))}"


def shown(given: object) -> str:
    """What a message says of an argument: short values as they are, others by their type."""
    if given is None or isinstance(given, (bool, int, float, str)):
        text = repr(given)
        return text if len(text) <= 40 else f"{text[:36]}…{text[-1]}"
    if isinstance(given, np.dtype):
        return f"the type {shown_type(given)}"
    return f"the type {given.__name__}" if isinstance(given, type) else type(given).__name__


def shown_type(dtype: np.dtype[Any]) -> str:
    """What a message says of a type of NumPy: two that differ in their byte order have one name."""
    return dtype.name if dtype.isnative else f"{dtype.name} in another byte order"
