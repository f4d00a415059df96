"""The one file that knows the hash: the digest of bytes, and the identity of programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blake3 import blake3

if TYPE_CHECKING:
    from vyre_foundation.ir.program import Program


def digest(data: bytes) -> bytes:
    """BLAKE3-256."""
    return blake3(data).digest()


def fingerprint(program: Program) -> str:
    """BLAKE3-256 of the wire form of the canonical `program`, in hexadecimal.

    It identifies meaning and interface: equal for programs that differ only in the program's name, the names of locals,
    regions, the order of commutative operands and the order of declarations; different for all others.
    """
    from vyre_foundation.wire.canonical import encode_canonical

    return digest(encode_canonical(program)).hex()
