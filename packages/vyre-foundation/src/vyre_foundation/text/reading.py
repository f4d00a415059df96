"""The function that reads the text form. What it needs is imported when there is some text."""

from __future__ import annotations

import vyre_foundation.text
from vyre_foundation.ir.argument import require
from vyre_foundation.ir.program import Program


def parse(text: str) -> Program:
    """The program that `text` writes, or `TextError`; it is not validated."""
    require(parse, str, text)
    return vyre_foundation.text.parser.program_in(text)
