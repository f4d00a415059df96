"""The errors of every layer: one base class, a stable code, and a remedy that is never missing.

An error reads *where: what happened. Fix: what to do*. Concrete errors subclass `VyreError`, one class per thing
that the reader can do about it, and state their `code` once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class VyreError(Exception):
    """Base of all errors: `str()` always ends with ``Fix: <remedy>``.

    `message` says what was received and what was expected, `fix` what to do, `where` names the place, and keyword
    `fields` have the facts for programs that process errors.
    """

    code: ClassVar[str] = "E000"

    origin: tuple[str, int] | None = None
    """The file and the line that `ProgramBuilder.at` states, if the error was raised in its block."""

    def __init__(self, message: str, *, fix: str, where: str = "", **fields: Any) -> None:
        if not fix.strip():
            raise ValueError(f"{type(self).__name__} needs a remedy. Fix: pass a non-empty `fix`")
        super().__init__(message)
        self.message = message.rstrip().rstrip(".")
        self.fix = fix.strip().rstrip(".")
        self.where = where
        self.fields: Mapping[str, Any] = fields

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.message}. Fix: {self.fix}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.message, self.fix, self.where, dict(self.fields))


def without_remedy(error: BaseException) -> str:
    """What an error says, as a part of another error, which has a remedy of its own."""
    if not isinstance(error, VyreError):
        return str(error)
    return f"{error.where}: {error.message}" if error.where else error.message


def _restore(cls: type[VyreError], message: str, fix: str, where: str, fields: dict[str, Any]) -> VyreError:
    return cls(message, fix=fix, where=where, **fields)


class TypeMismatch(VyreError, TypeError):
    """An op got operands, or a function an argument, of a type that it does not accept."""

    code = "E101"


class LiteralOutOfRange(VyreError, ValueError):
    """A Python value cannot be represented in the type of the literal."""

    code = "E102"


class DeclarationError(VyreError, ValueError):
    """A buffer, local or program was declared with fields that contradict each other."""

    code = "E103"


class BuildError(VyreError):
    """The builder was used in an invalid way, such as a statement outside of its program."""

    code = "E104"


class DamagedDistribution(VyreError):
    """What is installed cannot be listed: the files that describe a distribution cannot be read."""

    code = "E112"
