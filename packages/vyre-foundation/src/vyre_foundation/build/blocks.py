"""Blocks: the statements that a branch, a loop or a region holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TypeVar

from vyre_foundation.build.caller import caller, caller_frame
from vyre_foundation.build.rebinding import BLOCKS, OpenBlock
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.stmt import Body, Stmt

if TYPE_CHECKING:
    from vyre_foundation.build.recording import RecordingState

T_co = TypeVar("T_co", covariant=True)


class Block(AbstractContextManager[T_co, None]):
    """A block of statements for one `with` statement; the loop's gives its counter."""

    def __init__(
        self,
        builder: RecordingState,
        word: str,
        statement: Callable[[Body], Stmt],
        given: Callable[[], T_co],
        *,
        is_loop: bool = False,
        is_transparent: bool = False,
        is_continued: bool = False,
    ) -> None:
        """Remember what the `with` statement will do; nothing is recorded before it.

        Args:
            builder: Receives the statement.
            word: The call that made the block, for messages.
            statement: Makes the statement of the body.
            given: Makes what the `with` statement binds.
            is_loop: Whether the body may run several times.
            is_transparent: Whether the body always runs, once.
            is_continued: Whether the statement takes the place of the one before it.
        """
        self.word, self.line = word, builder.line or caller()
        self._builder, self._statement, self._given = builder, statement, given
        self._is_loop, self._is_transparent, self._is_continued = is_loop, is_transparent, is_continued
        self._open: OpenBlock | None = None
        builder._unopened.add(self)

    def __enter__(self) -> T_co:
        self._builder._unopened.require(self)
        self._builder._require_open()
        self._builder._unopened.open(self)
        given = self._given()
        self._builder._bodies.append([])
        self._builder._lines.append([])
        if not self._is_transparent:
            self._open = BLOCKS.enter(id(caller_frame()), is_loop=self._is_loop)
        return given

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        body, lines = self._builder._bodies.pop(), self._builder._lines.pop()
        if self._open is not None:
            BLOCKS.leave(self._open)
        if kind is None:
            self._builder._bodies[-1].append(self._statement(tuple(body)))
            self._builder._lines[-1] += lines if self._is_continued else [self.line, *lines]

    def __iter__(self) -> NoReturn:
        fix = "write `with p.range(…) as k`; `for k in range(…)` writes its body that many times"
        raise BuildError(f"got {self.word} in a `for` of Python, which would run while the program is built", fix=fix)

    def __bool__(self) -> NoReturn:
        raise BuildError(f"got {self.word} as a condition of Python", fix=f"write `with {self.word}`")


class WhileBlock(Block[None]):
    """The block of a loop with a condition: `given` records the condition at the beginning of the body."""

    def __enter__(self) -> None:
        begin, self._given = self._given, nothing
        super().__enter__()
        before, self._builder.line = self._builder.line, self.line
        begin()
        self._builder.line = before


def nothing() -> None:
    """What a `with` statement of a block without a counter binds."""
