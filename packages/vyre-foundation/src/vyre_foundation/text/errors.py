"""The one error of the text form: it shows the line."""

from __future__ import annotations

from vyre_foundation.errors import VyreError


class TextError(VyreError, ValueError):
    """Text that is not a program. `line` and `column` count from 1; `snippet` shows the place."""

    code = "E131"

    @property
    def line(self) -> int:
        """The line of the text, from 1."""
        return int(self.fields["line"])

    @property
    def column(self) -> int:
        """The column in the line, from 1."""
        return int(self.fields["column"])

    @property
    def snippet(self) -> str:
        """The line of the text, and below it a mark at the column."""
        return str(self.fields["snippet"])

    def __str__(self) -> str:
        return f"{self.where}: {self.message}\n{self.snippet}\nFix: {self.fix}"


def text_error(text: str, offset: int, message: str, fix: str) -> TextError:
    """The error `message` at `offset` of `text`."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line, column = text.count("\n", 0, offset) + 1, offset - start + 1
    code, mark = _around(text, start, len(text) if end < 0 else end, column - 1)
    margin = " " * len(str(line))
    snippet = f"  {line} | {code}\n  {margin} | {' ' * mark}^"
    where = f"line {line}, column {column}"
    return TextError(message, fix=fix, where=where, line=line, column=column, snippet=snippet)


MAX_SHOWN = 100
"""Characters of a line in a message."""


def _around(text: str, start: int, end: int, mark: int) -> tuple[str, int]:
    """The part of the line ``start … end`` that is worth showing, and where the mark is in it."""
    left = max(0, mark - 60) if end - start > MAX_SHOWN else 0
    code = text[start + left : min(end, start + left + MAX_SHOWN)]
    return "".join(character if character.isprintable() else " " for character in code), mark - left
