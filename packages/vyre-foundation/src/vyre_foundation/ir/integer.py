"""Integer fields of the IR are plain ints: 1, True and NumPy's 1 are equal, and must not be three programs."""

from __future__ import annotations

from operator import index
from typing import Any

from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir.argument import shown


def integer(where: str, field: str, value: Any) -> int:
    """`value` as a plain int; `DeclarationError` for what is no integer."""
    try:
        return int(index(value))
    except TypeError:
        message = f"got the {field} {shown(value)}, expected an integer"
        raise DeclarationError(message, fix="pass an int", where=where) from None
