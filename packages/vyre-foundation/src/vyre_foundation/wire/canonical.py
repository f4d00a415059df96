"""The canonical form: one program for all spellings of one meaning."""

from __future__ import annotations

from operator import attrgetter

from vyre_foundation.ir.program import Program
from vyre_foundation.wire.encode import encode_as


def encode_canonical(program: Program) -> bytes:
    """The wire form of the canonical program."""
    return encode_as(program, attrgetter("args"), str)
