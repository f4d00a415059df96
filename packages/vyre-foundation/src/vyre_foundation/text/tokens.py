"""Text to tokens. White space and comments (``# …`` and ``// …`` to the end of the line) separate them.

Tokens are made one by one, as the parser takes them: most have one character, and take a hundred times its memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from vyre_foundation.text.errors import text_error


class TokenKind(Enum):
    """What a token is, as an error message says it."""

    NAME = "a name between backticks"
    WORD = "a word"
    NUMBER = "a number"
    STRING = "a string"
    SIGN = "a sign"
    END = "the end of the text"


class Token(NamedTuple):
    """`text` is without quotes and escapes; `at` is the offset of its first character."""

    kind: TokenKind
    text: str
    at: int

    def __str__(self) -> str:
        return self.kind.value if self.kind is TokenKind.END else f"`{shortened(self.text)}`"


MAX_DIGITS = 40
"""Of a whole number, prefix and leading zeros included. Python converts no decimal number of thousands of digits."""
MAX_SHOWN = 60
"""Characters of a token in a message."""


def shortened(text: str) -> str:
    """`text` as a message shows it."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


_TOKEN = re.compile(
    r"""
      (?: \s++ | (?: \# | // ) [^\n]*+ )*+
      (?:
        (?P<NUMBER> 0[xX][0-9a-fA-F]+ | [0-9]+ (?: \.[0-9]+ )? (?: [eE][-+]?[0-9]+ )? )
      | (?P<WORD>   [A-Za-z_][A-Za-z0-9_]* )
      | (?P<SIGN>   \.\. | << | >> | [=!<>]= | [-+*/%&|^~!<>=(){}\[\],;:.@] )
      | (?P<NAME>   ` [^`\\\n]*+ (?: \\. [^`\\\n]*+ )*+ ` )
      | (?P<STRING> " [^"\\\n]*+ (?: \\. [^"\\\n]*+ )*+ " )
      | (?P<END>    \Z )
      | (?P<OTHER>  [\s\S] )
      )
    """,
    re.VERBOSE,
)
"""What separates, and a token behind it. It matches anywhere, so matches follow each other without a gap.

Repetitions are possessive: one that can be taken back keeps 250 bytes for every character.
"""

_KINDS = {kind.name: kind for kind in TokenKind}
_ELSEWHERE = {"?": "write select(condition, x, y)", "'": "write text between double quotes, and characters as numbers"}
"""What to write instead of signs of other languages."""
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "\\": "\\", "`": "`", '"': '"'}


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of `text`, the last of them `END`; `TextError` where none begins."""
    for found in _TOKEN.finditer(text):
        group: Any = found.lastgroup
        word, at = found[group], found.start(group)
        kind = _KINDS.get(group)
        if kind is None:
            fix = "delete it; names that are no words stand between backticks" if word.isprintable() else "delete it"
            fix = _ELSEWHERE.get(word, fix)
            raise text_error(text, at, _unreadable(word), fix)
        if kind is TokenKind.NAME or kind is TokenKind.STRING:
            word = _unescape(text, at, word)
        yield Token(kind, word, at)
        if kind is TokenKind.END:  # there is another match for nothing behind what separates
            break


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
