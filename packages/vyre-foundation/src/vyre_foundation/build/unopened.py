"""Blocks that a call makes, and that a `with` statement has to open: without one the call would do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from vyre_foundation.errors import BuildError
from vyre_foundation.ir.origin import Line, Origin


class Unopened(Protocol):
    """A block that no `with` statement has opened yet."""

    @property
    def word(self) -> str:
        """The call that made it, for messages."""

    @property
    def line(self) -> Line:
        """The line of that call."""


class UnopenedBlocks:
    """The blocks of a recording that no `with` statement has opened."""

    def __init__(self) -> None:
        self._blocks: dict[int, Unopened] = {}

    def add(self, block: Unopened) -> None:
        """Enter a block that was made."""
        self._blocks[id(block)] = block

    def require(self, block: Unopened) -> None:
        """Raise `BuildError` if a block was opened before."""
        if id(block) not in self._blocks:
            raise BuildError(f"the block of {block.word} is opened twice", fix=f"call {block.word} for each block")

    def open(self, block: Unopened) -> None:
        """Take out a block that is opened; `BuildError` if it was opened before."""
        self.require(block)
        del self._blocks[id(block)]

    def findings(self) -> list[tuple[Line, str, str]]:
        """The line of each block, what is wrong there, and the remedy."""
        blocks = self._blocks.values()
        return [(b.line, f"the block of {b.word} is never opened", f"write `with {b.word}`") for b in blocks]


def without_effect(findings: Sequence[tuple[Line, str, str]]) -> BuildError:
    """The error for lines without an effect: where, what is wrong and the remedy, in the order of the lines."""
    *others, (line, message, fix) = sorted(findings)
    lines = [f"{Origin(*at)}: {what}. Fix: {do}" for at, what, do in others]
    return BuildError("\n".join([*lines, f"{Origin(*line)}: {message}"]), fix=fix)


class LineBlock(AbstractContextManager[None]):
    """The block of `at`, in which another line is stated."""

    def __init__(self, blocks: UnopenedBlocks, word: str, line: Line, stating: AbstractContextManager[None]) -> None:
        """Remember what the `with` statement will do.

        Args:
            blocks: Those of the recording.
            word: The call that made the block, for messages.
            line: The line of the call.
            stating: States the line while it is open.
        """
        self.word, self.line = word, line
        self._blocks, self._stating = blocks, stating
        blocks.add(self)

    def __enter__(self) -> None:
        self._blocks.open(self)
        self._stating.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return self._stating.__exit__(kind, error, trace)
