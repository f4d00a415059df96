"""Where the parts of a program stand in its text.

A finding names a part by its path, as ``body[2].then[0].value``; here a path becomes characters of the text that the
program was parsed from. The text is searched on demand, so that parsing has nothing to remember.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from vyre_foundation.text.syntax import BUFFER_WORDS
from vyre_foundation.text.tokens import Token, TokenKind, end_of, tokenize

_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class Position(NamedTuple):
    """A part of one line: `line` and `column` count from 1, `width` is at least 1, `code` is the whole line."""

    line: int
    column: int
    width: int
    code: str


def position(text: str, start: int, stop: int) -> Position:
    """The first line of the characters ``start … stop``."""
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    width = max(1, min(stop, end) - start)
    return Position(text.count("\n", 0, start) + 1, start - begin + 1, width, text[begin:end])


class Places:
    """The places of all parts of the program that `text` writes; none if it writes no program."""

    def __init__(self, text: str) -> None:
        self._text, self._spans = text, _Reader(text).spans()
        self._begins = [0, *(found.end() for found in re.finditer("\n", text))]
        """Where lines begin: a search for each part would take time for all of the text before it."""
        self._codes: dict[int, str] = {}

    def find(self, path: str) -> Position | None:
        """The place of `path`, or of the nearest part around it that has one."""
        while path:
            if path in self._spans:
                return self._position(*self._spans[path])
            path = re.sub(r"(^|\.)\w+$|\[\d+\]$", "", path)
        return None

    def _position(self, start: int, stop: int) -> Position:
        """As `position`; parts of one line share its text."""
        line = bisect_right(self._begins, start)
        begin = self._begins[line - 1]
        if begin not in self._codes:
            self._codes[begin] = position(self._text, begin, begin).code
        code = self._codes[begin]
        return Position(line, start - begin + 1, max(1, min(stop, begin + len(code)) - start), code)


Range = tuple[int, int]
"""Numbers of tokens, half open."""


class _Reader:
    """Goes over the tokens of a text that parses, and notes the ranges of its parts by path."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, [*tokenize(text)], 0
        self.ranges: dict[str, Range] = {}

    def spans(self) -> dict[str, tuple[int, int]]:
        """Path → the characters from … to."""
        with suppress(IndexError):  # a text that ends too soon has the places found so far
            self._program()
        return {
            path: (self.tokens[start].at, end_of(self.text, self.tokens[stop - 1]))
            for path, (start, stop) in self.ranges.items()
            if start < stop < len(self.tokens)
        }

    def _program(self) -> None:
        self.ranges["name"] = self.ranges["body"] = self.ranges["buffers"] = (1, 2)
        head = self._find("{", 0)
        shape = self._find("(", 0)
        closing = self._find(")", shape + 1)
        self.ranges["workgroup_size"] = (shape - 1, closing + 1)
        self.ranges["subgroup_size"] = (closing + 1, head) if closing + 1 < head else (shape - 1, closing + 1)
        self.at = head + 1
        self._declarations()
        self._body("body")

    def _declarations(self) -> None:
        number = 0
        while self._word() in (*BUFFER_WORDS, "undeclared"):
            start, is_declared = self.at, self._word() != "undeclared"
            self.at = self._find(";", start) + 1
            data = self._find("=", start, self.at)
            if is_declared:
                self.ranges[f"buffers[{number}]"] = (start, min(data, self.at - 1))
                number += 1

    def _body(self, path: str) -> None:
        """Statements up to and with the closing brace."""
        number = 0
        while not self._is(self.at, "}"):
            if self._is(self.at, "%"):
                self.at = self._find(";", self.at) + 1
            else:
                self._statement(f"{path}[{number}]")
                number += 1
        self.at += 1

    def _statement(self, path: str) -> None:
        start, word = self.at, self._word()
        is_block = word in ("if", "for", "region")
        stop = self._find("{" if is_block else ";", start)
        self.ranges[path] = (start, stop)
        for field, part in self._fields(word, start, stop):
            self.ranges[f"{path}.{field}"] = part
        self.at = stop + 1
        if is_block:
            self._body(f"{path}.{'then' if word == 'if' else 'body'}")
        if is_block and word == "if" and self._word() == "else":
            self._else(f"{path}.orelse")

    def _else(self, path: str) -> None:
        self.at += 1
        if self._word() == "if":
            self._statement(f"{path}[0]")
        else:
            self.at += 1
            self._body(path)

    def _fields(self, word: str, start: int, stop: int) -> Iterator[tuple[str, Range]]:
        """The parts of one statement, up to its semicolon or brace."""
        match word:
            case "if":
                yield "condition", (start + 1, stop)
            case "for":
                dots = self._find("..", start, stop)
                step = self._find("step", dots, stop)
                while step < stop and self._is(step + 1, "("):  # a function of that name is called
                    step = self._find("step", step + 1, stop)
                yield from zip(
                    ("name", "start", "stop", "step"),
                    ((start + 1, start + 2), (start + 3, dots), (dots + 1, step), (step + 1, stop)),
                    strict=True,
                )
            case "region":
                yield "label", (start + 1, start + 2)
            case "let" | "var" if self._word(start + 3) in ("atomic", "subgroup"):
                yield "result", (start + 1, start + 2)
                yield from self._fields(self._word(start + 3), start + 3, stop)
            case "let" | "var":
                yield "name", (start + 1, start + 2)
                yield "value", (start + 3, stop)
            case "atomic":
                element, value, *expected = self._arguments(start, stop)
                yield from self._element(*element)
                yield "value", value
                yield from (("expected", (first + 2, last)) for first, last in expected)
            case "subgroup":
                yield from zip(("value", "lane"), self._arguments(start, stop), strict=False)
            case "trap":
                yield from zip(("code", "tag"), self._arguments(start, stop), strict=False)
            case "indirect_dispatch":
                yield "buffer", (start + 1, start + 2)
                yield "offset", (start + 3, stop - 1)
            case _:
                sign = self._find("=", start, stop)
                yield from self._element(start, sign)
                yield "name", (start, sign)
                yield "value", (sign + 1, stop)

    def _element(self, start: int, stop: int) -> Iterator[tuple[str, Range]]:
        """Find the parts of ``buffer[index]``."""
        yield "buffer", (start, min(start + 1, stop))
        yield "index", (self._find("[", start, stop) + 1, stop - 1)

    def _arguments(self, start: int, stop: int) -> Sequence[Range]:
        """What stands between the commas of ``word op(a, b, …)``."""
        first = self._find("(", start, stop) + 1
        found = []
        while first < stop:
            last = self._find(",", first, stop - 1)
            found.append((first, last))
            first = last + 1
        return found

    def _find(self, text: str, start: int, stop: int | None = None) -> int:
        """The first token `text` that no bracket encloses, from `start` on; `stop` if there is none before it."""
        depth, at = 0, start
        while stop is None or at < stop:
            token = self.tokens[at]
            if depth == 0 and self._is(at, text):
                return at
            if token.kind is TokenKind.SIGN:
                depth += (token.text in _OPENING) - (token.text in _CLOSING)
            at += 1
        return stop

    def _is(self, at: int, text: str) -> bool:
        token: Token = self.tokens[at]
        return token.text == text and token.kind in (TokenKind.SIGN, TokenKind.WORD)

    def _word(self, at: int | None = None) -> str:
        token = self.tokens[self.at if at is None else at]
        return token.text if token.kind is TokenKind.WORD else ""
