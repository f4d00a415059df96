"""Plain data out of files that anybody may have written: JSON without surprises, and fields of the right types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")

LARGEST = 2**63
"""Numbers of a file are smaller: what is larger could not be shown or computed with."""
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (int, float),
    "str | None": (str, type(None)),
}


def read_json(text: str) -> Any:
    """The value of a JSON text; `ValueError` for anything else, for numbers that are none, and for endless nesting."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def require(value: object, *kinds: type, what: str) -> Any:
    """`value`, if it is of one of `kinds`, or `ValueError`. A truth value is no number."""
    fits = isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)
    if not fits or (isinstance(value, (int, float)) and not -LARGEST < value < LARGEST):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise ValueError(f"{what} is {_shown(value)}, expected {wanted}")
    return value


def texts(value: object, what: str) -> dict[str, str]:
    """`value`, if it is an object whose values are texts."""
    found = require(value, dict, what=what)
    return {name: require(text, str, what=f"{what}.{name}") for name, text in found.items()}


def checked(cls: type[T], facts: object, /, **given: Any) -> T:
    """The dataclass `cls` of an object of JSON: its fields are texts and numbers, but for those `given`."""
    found = require(facts, dict, what=cls.__name__)
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    if unknown := found.keys() - known.keys():
        raise ValueError(f"{cls.__name__} has no field {sorted(unknown)[0]!r}")
    values = dict(given)
    for name, field in known.items():
        if name in values:
            continue
        if name in found:
            values[name] = require(found[name], *_KINDS[str(field.type)], what=f"{cls.__name__}.{name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{cls.__name__} lacks the field {name!r}")
    return cls(**values)


def without(facts: object, *names: str) -> dict[str, Any]:
    """An object without some of its fields."""
    found: Mapping[str, Any] = require(facts, dict, what="the entry")
    return {name: value for name, value in found.items() if name not in names}


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
