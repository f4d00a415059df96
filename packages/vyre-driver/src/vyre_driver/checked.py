"""JSON from outside: of bounded size and depth, and with fields of the types that they must have.

Everything that is wrong is a `ValueError`, which the reader of a format turns into its own error.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 32

_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def read_json(data: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> Any:
    """The value that `data` writes in UTF-8.

    `ValueError` for other bytes, for more than `max_bytes` of them, for more than `max_depth` brackets around each
    other, for numbers that are not finite, and for a name that an object has twice.
    """
    if len(data) > max_bytes:
        raise ValueError(f"{len(data)} bytes of JSON, expected at most {max_bytes}")
    text = data.decode("utf-8")
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", _STRING.sub('""', text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > max_depth:
            raise ValueError(f"JSON with more than {max_depth} brackets around each other")
    return json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object)


class Fields:
    """The fields of a JSON object, each asked for by its type; `ValueError` names one that is missing or of another."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise ValueError(f"got {_kind(value)}, expected an object")
        self._fields: dict[str, object] = value

    def names(self) -> Iterable[str]:
        """The names of all fields, in the order of the text."""
        return self._fields.keys()

    def text(self, name: str) -> str:
        """A string, which may be empty."""
        found = self._get(name)
        return found if isinstance(found, str) else self._refuse(name, found, "a string")

    def flag(self, name: str) -> bool:
        """True or false; 0 and 1 are refused."""
        found = self._get(name)
        return found if isinstance(found, bool) else self._refuse(name, found, "true or false")

    def number(self, name: str) -> int | float:
        """A number, whole or not; true and false are refused."""
        found = self._get(name)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            self._refuse(name, found, "a number")
        return found

    def whole(self, name: str, least: int = 0, most: int = 2**63 - 1) -> int:
        """A whole number in ``least … most``."""
        found = self._get(name)
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
            self._refuse(name, found, f"a whole number in {least} … {most}")
        return found

    def items(self, name: str) -> list[Any]:
        """A list, whose items may be of any type."""
        found = self._get(name)
        return found if isinstance(found, list) else self._refuse(name, found, "a list")

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        return texts(self.items(name), name)

    def fields(self, name: str) -> Fields:
        """An object, whose own fields are asked for in the same way."""
        found = self._get(name)
        return Fields(found) if isinstance(found, dict) else self._refuse(name, found, "an object")

    def _get(self, name: str) -> object:
        if name not in self._fields:
            raise ValueError(f"there is no {name!r}")
        return self._fields[name]

    def _refuse(self, name: str, found: object, needed: str) -> NoReturn:
        raise ValueError(f"{name!r}: got {_kind(found)}, expected {needed}")


def texts(value: object, name: str) -> tuple[str, ...]:
    """`value` as texts; `ValueError` calls it `name` where it is no list of them."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name!r}: got {_kind(value)}, expected a list of strings")
    return tuple(value)


def _kind(value: object) -> str:
    match value:
        case None | bool():
            return json.dumps(value)
        case int() | float():
            return "a number" if abs(value) > 2**64 else repr(value)
        case str():
            return "a string"
        case list():
            return "a list"
        case _:
            return "an object"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has a name twice")
    return found
