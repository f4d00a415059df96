"""A position among tokens, and what every part of the parser asks there."""

from __future__ import annotations

from typing import NoReturn

from vyre_foundation.dtype import DTYPES, DType, i64, u64
from vyre_foundation.errors import VyreError
from vyre_foundation.text.errors import text_error
from vyre_foundation.text.syntax import RESERVED
from vyre_foundation.text.tokens import MAX_DIGITS, Token, TokenKind, tokenize

DTYPES_BY_NAME = {dtype.name: dtype for dtype in DTYPES}


class Cursor:
    """Moves over the tokens of `text`; `token` is the one that was not taken yet."""

    __slots__ = ("_next", "_tokens", "text", "token")

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = tokenize(text)
        self.token = next(self._tokens)
        self._next = next(self._tokens, self.token)

    def take(self) -> Token:
        """The token here; then go on."""
        token = self.token
        self.token = self._next
        self._next = next(self._tokens, self._next)
        return token

    @property
    def following(self) -> str:
        """The sign behind the token here, or nothing if that is no sign."""
        return self._next.text if self._next.kind is TokenKind.SIGN else ""

    def is_at(self, text: str) -> bool:
        """Whether the token here is the word or sign `text`."""
        return self.token.text == text and self.token.kind in (TokenKind.WORD, TokenKind.SIGN)

    def skip(self, text: str) -> bool:
        """Go past the word or sign `text`, if it is here."""
        found = self.is_at(text)
        if found:
            self.take()
        return found

    def expect(self, text: str, fix: str = "") -> Token:
        """Go past the word or sign `text`; `fix` is the remedy where another than to write it is likely."""
        if not self.is_at(text):
            self.refuse(f"got {self.token}, expected `{text}`", fix or f"write `{text}` here")
        return self.take()

    def kind(self, kind: TokenKind) -> Token:
        """Go past a token of that kind."""
        if self.token.kind is not kind:
            self.refuse(f"got {self.token}, expected {kind.value}", f"write {kind.value} here")
        return self.take()

    def name(self, what: str) -> str:
        """Go past a name."""
        if self.token.kind is TokenKind.WORD and self.token.text in RESERVED:
            self.refuse(f"got the word {self.token}, expected the name of {what}", "write it between backticks")
        if self.token.kind not in (TokenKind.WORD, TokenKind.NAME):
            self.refuse(f"got {self.token}, expected the name of {what}", "write a word, or anything between backticks")
        return self.take().text

    def integer(self) -> int:
        """Go past a whole number, which may be negative, and fits 64 bits."""
        sign = -1 if self.skip("-") else 1
        token = self.kind(TokenKind.NUMBER)
        if len(token.text) > MAX_DIGITS:
            self.refuse(f"got {token}, expected at most {MAX_DIGITS} digits", "write a number that fits 64 bits", token)
        try:
            number = sign * int(token.text, 0)
        except ValueError:
            self.refuse(
                f"got {token}, expected a whole number", "write decimal digits, or 0x and hexadecimal ones", token
            )
        self.refuse_suffix(token)
        if not i64.lowest <= number <= u64.highest:
            self.refuse(f"got {token}, expected a number that fits 64 bits", "write a smaller one", token)
        return number

    def refuse_suffix(self, number: Token) -> None:
        """Refuse a type, another word or a point directly behind a number, as other languages write literals."""
        suffix = self.token
        if suffix.at != number.at + len(number.text):
            return
        if suffix.text in DTYPES_BY_NAME:
            self.refuse(f"got the type {suffix} behind a number", f"write {number.text}:{suffix.text}", number)
        if suffix.text == "." and suffix.kind is TokenKind.SIGN:
            fix = f"write {number.text}.0" if number.text.isdecimal() else "write a decimal number"
            self.refuse(f"got {suffix} behind a number", fix)
        if suffix.kind is TokenKind.WORD and suffix.text not in ("bytes", "per", "step"):
            fix = "write decimal digits, or 0x and hexadecimal ones, and a type as in 1:u8"
            self.refuse(f"got {suffix} behind a number", fix)

    def dtype(self) -> DType:
        """Go past the name of a type."""
        token = self.kind(TokenKind.WORD)
        if token.text not in DTYPES_BY_NAME:
            self.refuse(f"got {token}, expected a type", f"use one of {' '.join(DTYPES_BY_NAME)}", token)
        return DTYPES_BY_NAME[token.text]

    def refuse(self, message: str, fix: str, at: Token | None = None) -> NoReturn:
        """Raise `TextError` for the token `at`, or for the one here."""
        raise text_error(self.text, (at or self.token).at, message, fix)

    def refuse_as(self, error: VyreError, at: Token) -> NoReturn:
        """Raise `TextError` for what a constructor did not accept."""
        raise text_error(self.text, at.at, error.message, error.fix) from error
