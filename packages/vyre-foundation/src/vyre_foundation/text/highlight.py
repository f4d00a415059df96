"""The text form with colours, as HTML."""

from __future__ import annotations

import re

from vyre_foundation.dtype import DTYPES
from vyre_foundation.errors import VyreError
from vyre_foundation.markup import Html, escaped
from vyre_foundation.text.syntax import RESERVED
from vyre_foundation.text.tokens import TokenKind, end_of, tokenize

MAX_LINES = 400
"""Lines that are shown of a long program."""
_TYPES = {dtype.name for dtype in DTYPES}
_COMMENT, _SLASHES = re.compile(r"(?:#|//)[^\n]*"), re.compile(r"//[^\n]*")
_CLASSES = {TokenKind.NUMBER: "n", TokenKind.STRING: "s", TokenKind.NAME: "s"}


def highlighted(text: str, *, hashes: bool = True) -> Html:
    """Colour the text form of a program or a graph.

    Args:
        text: The text. One that has no tokens is shown without colours.
        hashes: Whether ``#`` begins a comment, as in programs.

    Returns:
        A `pre` element with the first lines.
    """
    lines = text.rstrip("\n").split("\n")
    shown = "\n".join(lines[:MAX_LINES])
    try:
        body = _coloured(shown, _COMMENT if hashes else _SLASHES)
    except VyreError:
        body = escaped(shown)
    more = f"\n… {len(lines) - MAX_LINES} more lines" if len(lines) > MAX_LINES else ""
    return Html(f"<pre>{body}{more}</pre>")


def _coloured(text: str, comments: re.Pattern[str]) -> str:
    parts, behind = [], 0
    for token in tokenize(text):
        parts.append(_gap(text[behind : token.at], comments))
        if token.kind is TokenKind.END:
            break
        behind = end_of(text, token)
        word = text[token.at : behind]
        kind = _CLASSES.get(token.kind)
        if token.kind is TokenKind.WORD:
            kind = "t" if word in _TYPES else "k" if word in RESERVED or word in ("program", "graph") else None
        parts.append(f'<span class="{kind}">{escaped(word)}</span>' if kind else escaped(word))
    return "".join(parts)


def _gap(text: str, comments: re.Pattern[str]) -> str:
    """What separates tokens, with its comments."""
    parts, behind = [], 0
    for comment in comments.finditer(text):
        parts.append(f'{escaped(text[behind : comment.start()])}<span class="c">{escaped(comment[0])}</span>')
        behind = comment.end()
    return "".join(parts) + escaped(text[behind:])
