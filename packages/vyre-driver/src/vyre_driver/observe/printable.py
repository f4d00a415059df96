"""Text on streams whose encoding lacks some of its characters: they become the nearest in ASCII, and nothing fails."""

from __future__ import annotations

import codecs
import io
from typing import TextIO

ERRORS = "vyre.nearest"
"""The name of the error handler."""
_NEAREST = {
    "–": "-", "—": "-", "−": "-", "×": "x", "÷": "/", "·": ".", "•": "*", "…": "...", "µ": "u", "μ": "u",
    "→": "->", "←": "<-", "↔": "<->", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "±": "+-", "√": "sqrt", "π": "pi",
    "²": "^2", "³": "^3", "½": "1/2", "∞": "inf", "“": '"', "”": '"', "‘": "'", "’": "'", "─": "-", "│": "|", "✓": "+",
}  # fmt: skip


def _nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(_NEAREST.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing), error.end


codecs.register_error(ERRORS, _nearest)


def degrade(*streams: TextIO | None) -> None:
    """Have `streams` write the nearest ASCII for a character that they cannot encode, or its escape.

    Streams that are no encoded files (in tests, or None where a process has no standard output) stay as they are.
    """
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=ERRORS)
