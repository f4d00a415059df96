"""The function that reads the text form. What it needs is imported when there is some text."""

from __future__ import annotations

import vyre_foundation.text
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir.argument import shown
from vyre_foundation.ir.program import Program


def parse(text: str) -> Program:
    """The program that `text` writes, or `TextError`; it is not validated."""
    given: object = text
    if not isinstance(given, str):
        fix = "pass the text of a program; `decode` reads bytes"
        raise TypeMismatch(f"parse got {shown(given)}, expected a string", fix=fix)
    return vyre_foundation.text.parser.program_in(text)
