"""The wire form of programs and the identity that follows from it."""

from vyre_foundation.wire.canonical import canonical
from vyre_foundation.wire.decode import decode, decode_expr
from vyre_foundation.wire.encode import encode, encode_expr
from vyre_foundation.wire.errors import (
    BadMagic,
    DigestMismatch,
    Malformed,
    NestingTooDeep,
    NotCanonical,
    TrailingBytes,
    Truncated,
    Unencodable,
    UnknownTag,
    UnsupportedVersion,
    WireError,
)
from vyre_foundation.wire.fingerprint import fingerprint
from vyre_foundation.wire.format import MAGIC

__all__ = [
    "MAGIC",
    "BadMagic",
    "DigestMismatch",
    "Malformed",
    "NestingTooDeep",
    "NotCanonical",
    "TrailingBytes",
    "Truncated",
    "Unencodable",
    "UnknownTag",
    "UnsupportedVersion",
    "WireError",
    "canonical",
    "decode",
    "decode_expr",
    "encode",
    "encode_expr",
    "fingerprint",
]
