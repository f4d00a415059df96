"""Grid barriers on targets that have none: the end of a kernel is one.

A kernel takes over what those before it left: locals and arrays through scratch memory, cheap locals by computing them
again, loop counters from the host. Loops around grid barriers become loops of the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vyre_driver.legalization.declare import declare, next_binding
from vyre_driver.legalization.grid.homes import Homes
from vyre_driver.legalization.grid.liveness import Names, carried, touches
from vyre_driver.legalization.grid.pieces import KernelSegment, Loop, Piece, cut, has_grid_barrier, loops, segments
from vyre_driver.legalization.grid.recompute import needed, recomputable
from vyre_driver.legalization.schedule import COUNTERS, KernelLaunch, Repeat, Step
from vyre_driver.legalization.target import Target
from vyre_foundation.dtype import DType, u32, u64
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Cast, Expr, Id, IdKind, Literal, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Barrier, Body, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import postorder, rewrite, statements
from vyre_foundation.validate.declared import declared_locals, mutable_locals


@dataclass(frozen=True, slots=True)
class Split:
    """Programs without grid barriers, and how to launch them. `buffers` are the bound ones of all of them."""

    kernels: tuple[Program, ...]
    schedule: tuple[Step, ...]
    buffers: tuple[Buffer, ...]


def split_at_grid_barriers(program: Program, target: Target) -> Split:
    """Cut a program into kernels at its grid barriers, where the target has none.

    ``a; grid_barrier; for i: (b; grid_barrier)``  →  kernels a and b, launched as ``a; repeat i: b``
    """
    if target.grid_barrier or not has_grid_barrier(program.body):
        bound = tuple(b for b in program.buffers if b.binding is not None)
        return Split((program,), (KernelLaunch(0),), bound)
    return GridSplitter(program).split()


class GridSplitter:
    """Splits one program at its grid barriers."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._pieces = cut(program.body)
        self._types = declared_locals(program.body)
        self._mutable = mutable_locals(program.body)
        self._counters = {loop.stmt.name: loop for loop in loops(self._pieces)}
        self._lets = {s.name: s.value for s in statements(program.body) if isinstance(s, Let)}
        self._values = recomputable(statements(program.body), self._counters)
        self._touches = {s.number: touches(s.body) for s in segments(self._pieces)}
        spared = frozenset((*self._values, *self._counters))
        self._carried = carried(self._pieces, self._touches, spared)
        self._sidecar = (
            Buffer(COUNTERS, u64, Access.READ, Memory.UNIFORM, len(self._counters), next_binding(program))
            if self._counters
            else None
        )
        self._homes = Homes(program, Fresh.of(program), next_binding(program) + bool(self._counters))
        self._bodies: list[Body] = []

    def split(self) -> Split:
        """The kernels, the order of their launches, and the bound buffers, with those for what lives across a cut."""
        schedule = (*self._clear(), *self._steps(self._pieces))
        sidecar = () if self._sidecar is None else (self._sidecar,)
        added = (*sidecar, *self._homes.buffers)
        whole = declare(self._program, (), *added)
        kernels = tuple(
            replace(whole, name=f"{whole.name}_{number}", body=body) for number, body in enumerate(self._bodies)
        )
        return Split(kernels, schedule, tuple(b for b in whole.buffers if b.binding is not None))

    # ── schedule ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _steps(self, pieces: tuple[Piece, ...]) -> Iterator[Step]:
        for piece in pieces:
            match piece:
                case KernelSegment():
                    if self._has_effects(piece):
                        yield self._launch(self._body(piece))
                case Loop(number, stmt):
                    steps = tuple(self._steps(piece.pieces))
                    if steps:
                        start, stop = self._for_host(stmt.start), self._for_host(stmt.stop)
                        yield Repeat(number, start, stop, stmt.step, steps)

    def _launch(self, body: Body) -> KernelLaunch:
        self._bodies.append(body)
        return KernelLaunch(len(self._bodies) - 1)

    def _has_effects(self, segment: KernelSegment) -> bool:
        """Whether anybody could tell that the segment has run."""
        stores = (s for s in statements(segment.body) if isinstance(s, (Store, Atomic)))
        return bool(self._carried.left[segment.number]) or any(s.buffer.binding is not None for s in stores)

    def _for_host(self, bound: Expr) -> Expr:
        """A bound without locals: it has launch uniformity, so they stand for what the host knows."""

        def known(node: Expr) -> Expr:
            match node:
                case Local(name) if name in self._counters:
                    return self.counter(name)
                case Local(name):
                    return self._for_host(self._lets[name])
                case Id(IdKind.LOCAL_ID | IdKind.SUBGROUP_LANE):
                    return literal(u32, 0)
                case _:
                    return node

        return rewrite(bound, known, {})

    # ── kernels ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _clear(self) -> Iterator[Step]:
        """A kernel of its own for arrays that may be taken over before anybody has left them: they begin as zeros."""
        arrays = [name for name in self._carried.unset if isinstance(name, Buffer)]
        if arrays:
            yield self._launch((*self._homes.bind(arrays), *[self._homes.clear_array(a) for a in arrays]))

    def _body(self, segment: KernelSegment) -> Body:
        taken, left = self._carried.taken[segment.number], self._carried.left[segment.number]
        mentioned = [n for n in self._touches[segment.number].mentioned if isinstance(n, str)]
        again = needed(mentioned, self._values)
        used = {*mentioned, *(n.name for n in postorder(again.values()) if isinstance(n, Local))}
        counted = [name for name in self._counters if name in used]
        return (
            *[Let(name, self.counter(name)) for name in counted],
            *[Let(name, value) for name, value in again.items()],
            *self._homes.bind((*taken, *left)),
            *self._take(taken),
            *self._declare_unread(segment, taken),
            *segment.body,
            *self.leave(left),
        )

    def _take(self, names: Names) -> Iterator[Stmt]:
        arrays = [name for name in names if isinstance(name, Buffer)]
        yield from (self._homes.take_array(array) for array in arrays)
        if any(array.memory is Memory.WORKGROUP for array in arrays):
            yield Barrier()
        for name in names:
            if isinstance(name, str):
                yield self._homes.take(name, self._types[name], mutable=name in self._mutable)

    def _declare_unread(self, segment: KernelSegment, taken: Names) -> Iterator[Stmt]:
        """Mutable locals that the segment sets, and whose old values are not needed."""
        for name in self._touches[segment.number].mentioned:
            if isinstance(name, str) and name in self._mutable and name not in taken:
                yield Var(name, Literal(self._types[name], 0))

    def leave(self, names: Names) -> Iterator[Stmt]:
        """Store what later segments read."""
        arrays = [name for name in names if isinstance(name, Buffer)]
        if any(array.memory is Memory.WORKGROUP for array in arrays):
            yield Barrier()
        yield from (self._homes.leave_array(array) for array in arrays)
        for name in names:
            if isinstance(name, str):
                yield self._homes.leave(name, self._types[name])

    def counter(self, name: str) -> Expr:
        """The host's counter of a loop, in the type of the loop: the low bits of the u64."""
        assert self._sidecar is not None
        value = Load(self._sidecar, literal(u32, self._counters[name].number), checked=False)
        dtype: DType = self._types[name]
        return value if dtype is u64 else Cast(dtype, value)
