"""The identity of programs."""

from __future__ import annotations

from vyre_foundation.ir.argument import require
from vyre_foundation.ir.kinds import naming_wrong_kinds
from vyre_foundation.ir.program import Program
from vyre_foundation.wire.canonical import encode_canonical
from vyre_foundation.wire.digest import digest
from vyre_foundation.wire.errors import Unencodable


def fingerprint(program: Program) -> str:
    """BLAKE3-256 of the wire form of the canonical `program`, in hexadecimal.

    It identifies meaning and interface: equal for programs that differ only in the program's name, the names of locals,
    regions, the order of commutative operands and the order of declarations; different for all others.
    """
    require(fingerprint, Program, program)
    with naming_wrong_kinds(program.name, program.body, Unencodable):
        return digest(encode_canonical(program)).hex()
