"""Where the parts of a program were written in Python, for messages. An origin is no part of what a program means."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

Line: TypeAlias = tuple[str, int]
"""A file and the number of a line: what an `Origin` is made of on demand."""


def place_text(file: str, line: int, column: int | None = None) -> str:
    """How messages name a place: as ``file:line:column``, and in a cell of a notebook as tracebacks there do."""
    cell = _cell_of(file)
    if cell is not None:
        return f"{cell}, line {line}"
    return f"{file}:{line}" if column is None else f"{file}:{line}:{column}"


def _cell_of(file: str) -> str | None:
    """What IPython calls the cell that it has compiled as a file, such as ``Cell In[3]``."""
    shell = getattr(builtins, "get_ipython", lambda: None)()
    format_code_name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = None if format_code_name is None else format_code_name(file)
    return None if named is None else " ".join(named)


class Origin(NamedTuple):
    """A line of Python source."""

    file: str
    line: int

    def __str__(self) -> str:
        return place_text(*self)


class Origins:
    """The lines that wrote a program, its buffers in their order, and its statements in program order."""

    __slots__ = ("_buffers", "_program", "_statements")

    def __init__(self, program: Line, buffers: Sequence[Line], statements: Sequence[Line]) -> None:
        self._program, self._buffers, self._statements = program, buffers, statements

    def __reduce__(self) -> tuple[Any, ...]:
        return Origins, (self._program, self._buffers, self._statements)

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
