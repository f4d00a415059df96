"""Text to tokens. White space and comments (``# …`` and ``// …`` to the end of the line) separate them."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from vyre_foundation.text.errors import text_error


class Kind(Enum):
    """What a token is, as an error message says it."""

    NAME = "a name between backticks"
    WORD = "a word"
    NUMBER = "a number"
    STRING = "a string"
    SIGN = "a sign"
    END = "the end of the text"


class Token(NamedTuple):
    """`text` is without quotes and escapes; `at` is the offset of its first character."""

    kind: Kind
    text: str
    at: int

    def __str__(self) -> str:
        return self.kind.value if self.kind is Kind.END else f"`{self.text}`"


_TOKEN = re.compile(
    r"""
      (?: \s+ | (?: \# | // ) [^\n]* )+
    | (?P<NUMBER> 0[xX][0-9a-fA-F]+ | [0-9]+ (?: \.[0-9]+ )? (?: [eE][-+]?[0-9]+ )? )
    | (?P<WORD>   [A-Za-z_][A-Za-z0-9_]* )
    | (?P<SIGN>   \.\. | << | >> | [=!<>]= | [-+*/%&|^~!<>=(){}\[\],;:.@] )
    | (?P<NAME>   ` (?: [^`\\\n] | \\. )* ` )
    | (?P<STRING> " (?: [^"\\\n] | \\. )* " )
    """,
    re.VERBOSE,
)
_KINDS: dict[str | None, Kind] = {kind.name: kind for kind in Kind}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "\\": "\\", "`": "`", '"': '"'}


def tokenize(text: str) -> list[Token]:
    """The tokens of `text`, the last of them `END`."""
    tokens: list[Token] = []
    at = 0
    for found in _TOKEN.finditer(text):
        if found.start() != at:
            break
        kind = _KINDS.get(found.lastgroup)
        if kind is not None:
            word = found.group()
            quoted = kind is Kind.NAME or kind is Kind.STRING
            tokens.append(Token(kind, _unescape(text, at, word) if quoted else word, at))
        at = found.end()
    if at < len(text):
        raise text_error(text, at, _unreadable(text[at]), "write names that are no words between backticks")
    tokens.append(Token(Kind.END, "", at))
    return tokens


def end_of(text: str, token: Token) -> int:
    """The offset behind `token`, which stands in `text`."""
    found = _TOKEN.match(text, token.at)
    return len(text) if found is None else found.end()


def _unreadable(character: str) -> str:
    if character in '`"':
        return f"a {character} is not closed on its line"
    return f"got {character!r}, which starts no token"


def _unescape(text: str, at: int, quoted: str) -> str:
    def replace(escape: re.Match[str]) -> str:
        code, letter = escape.groups()
        if code is not None and int(code, 16) < 0x110000:
            return chr(int(code, 16))
        if letter not in _ESCAPED:
            raise text_error(
                text, at + escape.start() + 1, f"no escape is {escape.group()}", r"use \\ \n \t \` \" \u{…}"
            )
        return _ESCAPED[letter]

    return _ESCAPE.sub(replace, quoted[1:-1]) if "\\" in quoted else quoted[1:-1]
