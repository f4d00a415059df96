"""Where the parts of a program were written in Python, for messages. An origin is no part of what a program means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Line: TypeAlias = tuple[str, int]
"""A file and the number of a line: what an `Origin` is made of on demand."""


class Origin(NamedTuple):
    """A line of Python source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Origins:
    """The lines that wrote a program, its buffers in their order, and its statements in program order."""

    __slots__ = ("_buffers", "_program", "_statements")

    def __init__(self, program: Line, buffers: Sequence[Line], statements: Sequence[Line]) -> None:
        self._program, self._buffers, self._statements = program, buffers, statements

    @property
    def program(self) -> Origin:
        """The line that began the program."""
        return Origin(*self._program)

    def buffer(self, number: int) -> Origin:
        """The line that declared a buffer."""
        return Origin(*self._buffers[number])

    def statement(self, number: int) -> Origin:
        """The line that wrote a statement."""
        return Origin(*self._statements[number])
