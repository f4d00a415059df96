"""A body cut at its grid barriers: stretches without one, and the loops around those.

Grid barriers stand at the top of a program or in loops there, through regions; so do the cuts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vyre_foundation.ir.stmt import Barrier, Body, For, Region, Scope, Stmt
from vyre_foundation.ir.walk import statements


@dataclass(frozen=True, slots=True)
class Segment:
    """Statements of one kernel. `number` is its position among the segments, in program order."""

    number: int
    body: Body


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop around grid barriers. `number` is its position among such loops, in program order."""

    number: int
    stmt: For
    pieces: tuple[Piece, ...]


Piece = Segment | Loop


def has_grid_barrier(body: Body) -> bool:
    return any(isinstance(s, Barrier) and s.scope is Scope.GRID for s in statements(body))


def cut(body: Body) -> tuple[Piece, ...]:
    """``a; grid_barrier; for i: (b; grid_barrier; c)``  →  ``a | for i: (b | c)``; empty pieces are gone."""
    return _Cutter().pieces(body)


class _Cutter:
    def __init__(self) -> None:
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
                case Region() if has_grid_barrier(stmt.body):
                    yield from self._walk(stmt.body)
                case For() if has_grid_barrier(stmt.body):
                    yield from self._close()
                    number, self._loops = self._loops, self._loops + 1
                    pieces = self.pieces(stmt.body)
                    if pieces:
                        yield Loop(number, stmt, pieces)
                    else:
                        self._loops = number  # numbers are those of the loops that are left, without gaps
                case _:
                    self._open.append(stmt)

    def _close(self) -> Iterator[Segment]:
        """What has gathered since the last cut."""
        if self._open:
            yield Segment(self._segments, tuple(self._open))
            self._segments += 1
            self._open = []


def segments(pieces: tuple[Piece, ...]) -> Iterator[Segment]:
    """All segments, in program order."""
    for piece in pieces:
        if isinstance(piece, Segment):
            yield piece
        else:
            yield from segments(piece.pieces)


def loops(pieces: tuple[Piece, ...]) -> Iterator[Loop]:
    """All loops, outer before inner."""
    for piece in pieces:
        if isinstance(piece, Loop):
            yield piece
            yield from loops(piece.pieces)
