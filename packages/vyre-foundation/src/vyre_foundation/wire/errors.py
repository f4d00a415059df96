"""What the wire form can refuse: one class for each thing that the reader can do about it, each with the `offset`."""

from __future__ import annotations

from vyre_foundation.errors import VyreError


class WireError(VyreError, ValueError):
    """Bytes that are not a program, or a program that cannot be encoded. `offset` is the position of the fault."""

    code = "E120"

    @property
    def offset(self) -> int | None:
        """Where in the bytes the error was found; None if it belongs to no place."""
        offset: int | None = self.fields.get("offset")
        return offset


class BadMagic(WireError):
    """The bytes do not start as a program does."""

    code = "E121"


class UnsupportedVersion(WireError):
    """The bytes are of another version of the format."""

    code = "E122"


class DigestMismatch(WireError):
    """The bytes changed after they were written."""

    code = "E123"


class Truncated(WireError):
    """The bytes end too early."""

    code = "E124"


class TrailingBytes(WireError):
    """Bytes follow the end of the program."""

    code = "E125"


class NotCanonical(WireError):
    """The bytes are not the canonical encoding of a program, which is unique."""

    code = "E126"


class UnknownTag(WireError):
    """A tag that the format does not have."""

    code = "E127"


class NestingTooDeep(WireError):
    """Statements are nested deeper than `MAX_NESTING`."""

    code = "E128"


class Malformed(WireError):
    """The parts do not form a program: an ill-typed expression, a reference to nothing, or a name that is not UTF-8."""

    code = "E129"


class Unencodable(WireError):
    """A program with a field that the wire form cannot represent; no valid program has one."""

    code = "E130"
