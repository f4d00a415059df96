"""Colours for programs in the text form, by the words that its parser knows."""

from __future__ import annotations

from typing import Any

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from vyre_foundation.dtype import DTYPES
from vyre_foundation.text.syntax import RESERVED


class VyreLexer(RegexLexer):
    """``.vyre``"""

    name = "vyre"
    aliases = ("vyre",)
    filenames = ("*.vyre",)
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"(#|//).*", Comment.Single),
            (words([t.name for t in DTYPES], r"\b", r"\b"), Keyword.Type),
            (words(["program", *sorted(RESERVED)], r"\b", r"\b"), Keyword),
            (r'"(\\.|[^"\\])*"', String),
            (r"`(\\.|[^`\\])*`", Name),
            (r"[A-Za-z_][\w.]*|%\d+", Name),
            (r"@?\d[\w.]*", Number),
            (r"[-+*/%<>=!&|^~]+", Operator),
            (r"[^\s\w]", Punctuation),
        ]
    }


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    app.add_lexer("vyre", VyreLexer)
    return {"parallel_read_safe": True}
