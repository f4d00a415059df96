"""A body cut at its grid barriers: stretches without one, and the loops around those.

Grid barriers stand at the top of a program or in loops there, through regions; so do the cuts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vyre_foundation.ir.stmt import Barrier, Body, For, Region, Scope, Stmt
from vyre_foundation.ir.walk import bodies, statements


@dataclass(frozen=True, slots=True)
class KernelSegment:
    """Statements of one kernel. `number` is its position among the segments, in program order."""

    number: int
    body: Body


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop around grid barriers. `number` is its position among such loops, in program order."""

    number: int
    stmt: For
    pieces: tuple[Piece, ...]


Piece = KernelSegment | Loop


def has_grid_barrier(body: Body) -> bool:
    """Whether a grid barrier is in a body, at any depth."""
    return any(_is_grid_barrier(stmt) for stmt in statements(body))


def _is_grid_barrier(stmt: Stmt) -> bool:
    return isinstance(stmt, Barrier) and stmt.scope is Scope.GRID


def cut(body: Body) -> tuple[Piece, ...]:
    """``a; grid_barrier; for i: (b; grid_barrier; c)``  →  ``a | for i: (b | c)``; empty pieces are gone."""
    return _Cutter(body).pieces(body)


class _Cutter:
    def __init__(self, body: Body) -> None:
        self._around = _around_grid_barriers(body)
        self._segments = self._loops = 0
        self._open: list[Stmt] = []

    def pieces(self, body: Body) -> tuple[Piece, ...]:
        outer, self._open = self._open, []
        pieces = [*self._walk(body), *self._close()]
        self._open = outer
        return tuple(pieces)

    def _walk(self, body: Body) -> Iterator[Piece]:
        for stmt in body:
            match stmt:
                case Barrier(Scope.GRID):
                    yield from self._close()
                case Region() if id(stmt) in self._around:
                    yield from self._walk(stmt.body)
                case For() if id(stmt) in self._around:
                    yield from self._close()
                    number, self._loops = self._loops, self._loops + 1
                    pieces = self.pieces(stmt.body)
                    if pieces:
                        yield Loop(number, stmt, pieces)
                    else:
                        self._loops = number  # numbers are those of the loops that are left, without gaps
                case _:
                    self._open.append(stmt)

    def _close(self) -> Iterator[KernelSegment]:
        """What has gathered since the last cut."""
        if self._open:
            yield KernelSegment(self._segments, tuple(self._open))
            self._segments += 1
            self._open = []


def _around_grid_barriers(body: Body) -> set[int]:
    """The ids of the statements that have a grid barrier inside, from one walk."""
    found: set[int] = set()

    def has_barrier(body: Body) -> bool:
        inside = []
        for stmt in body:
            nested = [has_barrier(each) for each in bodies(stmt)]  # all of them, not up to the first
            if _is_grid_barrier(stmt) or True in nested:
                inside.append(id(stmt))
        found.update(inside)
        return bool(inside)

    has_barrier(body)
    return found


def segments(pieces: tuple[Piece, ...]) -> Iterator[KernelSegment]:
    """All segments, in program order."""
    return (piece for piece in _all(pieces) if isinstance(piece, KernelSegment))


def loops(pieces: tuple[Piece, ...]) -> Iterator[Loop]:
    """All loops, outer before inner."""
    return (piece for piece in _all(pieces) if isinstance(piece, Loop))


def _all(pieces: tuple[Piece, ...]) -> Iterator[Piece]:
    """All pieces, outer before inner, in program order."""
    stack = [*reversed(pieces)]
    while stack:
        piece = stack.pop()
        yield piece
        if isinstance(piece, Loop):
            stack += reversed(piece.pieces)
