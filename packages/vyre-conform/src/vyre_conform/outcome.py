"""What came out of a launch."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Fact: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Returned:
    """Outputs in binding order. `again` are those of a second dispatch, where they differed."""

    outputs: tuple[bytes, ...]
    again: tuple[bytes, ...] | None = None
    changed_inputs: tuple[str, ...] = ()
    """Inputs that the backend has written to."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A typed error: the names of its class and of the classes above it, its message, its facts."""

    classes: tuple[str, ...]
    message: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    traceback: str = field(default="", compare=False)

    @property
    def error(self) -> str:
        """The name of the error's class, before those of its bases."""
        return self.classes[0]


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process died: how, and its last words."""

    how: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class TimedOut:
    """Nothing came within this many seconds; the process was ended. Its last words say where it was."""

    seconds: float
    words: str = field(default="", compare=False)


Outcome: TypeAlias = Returned | Raised | Crashed | TimedOut


def raised(error: BaseException) -> Raised:
    """The outcome of an exception with its traceback; facts that are not plain values are written as text."""
    classes = tuple(c.__name__ for c in type(error).__mro__ if issubclass(c, BaseException))
    fields = getattr(error, "fields", {})
    facts = {str(k): v if isinstance(v, (str, int, float, bool)) or v is None else repr(v) for k, v in fields.items()}
    return Raised(classes, str(error), facts, "".join(traceback.format_exception(error)))
