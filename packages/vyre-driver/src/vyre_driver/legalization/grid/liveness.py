"""What has to survive the end of a kernel: locals and arrays that a later kernel may read before it sets them.

Segments are the nodes of the flow, loops lead back to their first segment. The sets are kept as dictionaries, in the
order of the program, so that nothing depends on hashing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vyre_driver.legalization.grid.pieces import KernelSegment, Piece
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Load, Local
from vyre_foundation.ir.stmt import Assign, Atomic, Body, Stmt, Store
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.validate.declared import declared_locals

Name = str | Buffer
"""What may live: a local by its name, workgroup or private memory by its declaration."""
Names = dict[Name, None]

_CARRIED = (Memory.WORKGROUP, Memory.PRIVATE)


@dataclass(frozen=True, slots=True)
class SegmentEffects:
    """What one segment does to locals and arrays.

    `exposed` are read before they are surely set here, `killed` surely set, `written` maybe set; `mentioned` is all
    that is named here and comes from elsewhere. Arrays are never surely set as a whole.
    """

    exposed: Names
    killed: Names
    written: Names
    mentioned: Names


def touches(body: Body) -> SegmentEffects:
    """What the statements of a segment do, in their order."""
    own: Names = dict.fromkeys(declared_locals(body))
    killed, written = dict(own), dict(own)
    exposed: Names = {}
    mentioned: Names = {}
    for stmt in body:
        for inner in statements((stmt,)):
            reads = _reads(inner)
            writes = _writes(inner)
            exposed.update((name, None) for name in reads if name not in killed)
            written.update((name, None) for name in writes)
            mentioned.update((name, None) for name in (*reads, *writes) if name not in own)
        if isinstance(stmt, Assign):
            killed[stmt.name] = None
    return SegmentEffects(exposed, killed, written, mentioned)


def _reads(stmt: Stmt) -> Iterable[Name]:
    names: Names = {}
    for node in postorder(expressions(stmt)):
        if isinstance(node, Local):
            names[node.name] = None
        elif isinstance(node, Load) and node.buffer.memory in _CARRIED:
            names[node.buffer] = None
    if isinstance(stmt, Atomic) and stmt.buffer.memory in _CARRIED:
        names[stmt.buffer] = None
    return names


def _writes(stmt: Stmt) -> Iterable[Name]:
    if isinstance(stmt, Assign):
        return (stmt.name,)
    if isinstance(stmt, (Store, Atomic)) and stmt.buffer.memory in _CARRIED:
        return (stmt.buffer,)
    return ()


@dataclass(frozen=True, slots=True)
class Carried:
    """What kernels hand over. For every segment by number: what it takes over, and what it leaves to others.

    `unset` are arrays that a segment may take over before any has left something: they are zero then.
    """

    taken: dict[int, Names]
    left: dict[int, Names]
    unset: Names


def carried(pieces: tuple[Piece, ...], done: dict[int, SegmentEffects], spared: frozenset[Name]) -> Carried:
    """What lives across the cuts, without what is `spared` because it is computed again."""
    live, reached = _Liveness(pieces, done), _Reached(pieces, done)
    taken: dict[int, Names] = {}
    left: dict[int, Names] = {}
    for number, touch in done.items():
        left[number] = {n: None for n in touch.written if n in live.out[number] and n not in spared}
        taken[number] = {}
        for name in touch.mentioned:
            if isinstance(name, str):
                wanted = name in live.into[number]
            else:  # what is left as a whole was written in part
                wanted = name in reached.into[number] and (name in live.into[number] or name in left[number])
            if wanted and name not in spared:
                taken[number][name] = None
    return Carried(taken, left, _unset(pieces, taken, left))


class _Liveness:
    """What is read later before it is set, by one walk backwards.

    What is live at the head of a loop is what is live behind it, or what an iteration reads before it sets it.
    """

    def __init__(self, pieces: tuple[Piece, ...], done: dict[int, SegmentEffects]) -> None:
        self._done = done
        self._exposed: dict[int, Names] = {}
        self.into: dict[int, Names] = {}
        self.out: dict[int, Names] = {}
        self._find_exposed(pieces)
        self._find_live(pieces, {})

    def _find_exposed(self, pieces: tuple[Piece, ...]) -> Names:
        """What `pieces` read before they surely set it; loops, which may have no iteration, set nothing surely."""
        exposed: Names = {}
        for piece in reversed(pieces):
            if isinstance(piece, KernelSegment):
                exposed = self._before(piece, exposed)
            else:
                self._exposed[piece.number] = self._find_exposed(piece.pieces)
                exposed = {**exposed, **self._exposed[piece.number]}
        return exposed

    def _find_live(self, pieces: tuple[Piece, ...], after: Names) -> None:
        for piece in reversed(pieces):
            if isinstance(piece, KernelSegment):
                self.out[piece.number] = after
                after = self.into[piece.number] = self._before(piece, after)
            else:
                after = {**after, **self._exposed[piece.number]}
                self._find_live(piece.pieces, after)

    def _before(self, segment: KernelSegment, after: Names) -> Names:
        touch = self._done[segment.number]
        return {**touch.exposed, **{n: None for n in after if n not in touch.killed}}


class _Reached:
    """Forwards: what may have been written before a segment, by this iteration or by one before it."""

    def __init__(self, pieces: tuple[Piece, ...], done: dict[int, SegmentEffects]) -> None:
        self.into: dict[int, Names] = {}
        self._done = done
        self._inside: dict[int, Names] = {}
        self._find_written(pieces)
        self._find(pieces, {})

    def _find_written(self, pieces: tuple[Piece, ...]) -> Names:
        """What `pieces` may write."""
        written: Names = {}
        for piece in pieces:
            if isinstance(piece, KernelSegment):
                written.update(self._done[piece.number].written)
            else:
                inside = self._inside[piece.number] = self._find_written(piece.pieces)
                written.update(inside)
        return written

    def _find(self, pieces: tuple[Piece, ...], before: Names) -> None:
        for piece in pieces:
            if isinstance(piece, KernelSegment):
                self.into[piece.number] = before
                before = {**before, **self._done[piece.number].written}
            else:
                before = {**before, **self._inside[piece.number]}
                self._find(piece.pieces, before)


def _unset(pieces: tuple[Piece, ...], taken: dict[int, Names], left: dict[int, Names]) -> Names:
    """Arrays that may be taken over before they were surely left by someone."""
    unset: Names = {}

    def walk(pieces: tuple[Piece, ...], sure: Names) -> Names:
        for piece in pieces:
            if isinstance(piece, KernelSegment):
                taken_here = (n for n in taken[piece.number] if isinstance(n, Buffer))
                unset.update((n, None) for n in taken_here if n not in sure)
                sure = {**sure, **left[piece.number]}
            else:
                walk(piece.pieces, sure)  # may run no round at all
        return sure

    walk(pieces, {})
    return unset
