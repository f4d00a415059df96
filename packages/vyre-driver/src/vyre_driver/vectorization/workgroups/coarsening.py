"""Coarsening: a work item runs a batch of workgroups, for programs that cannot observe where a workgroup ends.

A batch is one loop over the invocations of all its workgroups. Vectors want loops that are longer than most workgroups,
and loops around them cover more at once. The size of a batch is chosen at the launch: where the grid is small every
worker should have some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vyre_driver.legalization.coordinates import multiply
from vyre_driver.legalization.declare import next_binding
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.schedule import RUNS
from vyre_driver.vectorization.workgroups.structure import Choice, Limited, LockstepLoop, Node, Phase, UniformLoop
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Barrier, Break, For, Let
from vyre_foundation.ir.walk import program_expressions, statements
from vyre_foundation.ops import OPS

_MOST_CHECKED = 4096
"""Invocations in a batch, on x, where one that is out of bounds has all of the batch check its accesses."""
_MOST_INVOCATIONS = 16384
"""In another batch, on x. A copy of 64 KiB at once takes 0.92 times as long as one of 16 KiB (Emerald Rapids)."""
_MOST_BYTES = 16 * 1024
"""Of the spilled locals of a batch, which should stay in the fastest memory."""
_FIRST, _GROUPS = (Id(kind, 0) for kind in (IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS))


def coarsening_limit(program: Program, nodes: Iterable[Node], spilled: Iterable[DType]) -> int:
    """The most workgroups in a batch; 1 where the program can observe their borders, or a batch would not be faster.

    `spilled` are the types of the locals that live in memory.
    """
    size = program.workgroup_size[0]
    shared = any(b.memory is Memory.WORKGROUP for b in program.buffers)
    if size == 1 or shared or _tells_groups_apart(program) or any(map(_is_no_vector, nodes)):
        return 1
    private = sum(b.dtype.size * b.count for b in program.buffers if _is_private(b) and isinstance(b.count, int))
    each = (private + sum(dtype.size for dtype in spilled)) * program.workgroup_volume
    is_checked = any(isinstance(node, Load) and node.checked for node in program_expressions(program))
    most = _MOST_CHECKED if is_checked else _MOST_INVOCATIONS
    return max(1, min(most // size, _MOST_BYTES // max(1, each)))


def _is_no_vector(node: Node) -> bool:
    """Whether a loop stays inside of the loop over invocations, or has parts of its own."""
    match node:
        case LockstepLoop():
            return True
        case UniformLoop(_, inner) | Limited(_, inner):
            return any(map(_is_no_vector, inner))
        case Choice(_, then, orelse):
            return any(map(_is_no_vector, (*then, *orelse)))
        case Phase(body):
            return any(isinstance(s, Break) or (isinstance(s, For) and s.trip_count is None) for s in statements(body))
        case _:
            return False


def _is_private(buffer: Buffer) -> bool:
    return buffer.memory is Memory.PRIVATE


def _tells_groups_apart(program: Program) -> bool:
    own = (Id(IdKind.LOCAL_ID, 0), _FIRST)
    return any(node in own for node in program.code.others) or any(
        isinstance(stmt, Barrier) for stmt in statements(program.body)
    )


def runs_buffer(binding: int) -> Buffer:
    """See `RUNS`."""
    return Buffer(RUNS, u32, Access.READ, Memory.UNIFORM, 2, binding)


@dataclass(frozen=True, slots=True)
class GroupBatch:
    """The workgroups of one work item: `first` is the global id on x of its first invocation, `end` their number."""

    buffer: Buffer
    group: Local
    first: Local
    end: Local
    size: int

    @classmethod
    def of(cls, program: Program, first: Local, fresh: Fresh, ranges: Ranges, most: int) -> GroupBatch:
        """Of `program`, whose workgroups are as they were written."""
        group, end = Local(fresh("first_group"), u32), Local(fresh("end_x"), u32)
        size = program.workgroup_size[0]
        ranges.learn(first, 0, u32.highest + 1 - size)
        ranges.learn(end, size, size * most)
        return cls(runs_buffer(next_binding(program)), group, first, end, size)

    def lets(self) -> Iterator[Let]:
        """Bind the locals: the first workgroup of the batch, its first invocation, and its invocations on x."""
        width = literal(u32, self.size)
        run, groups = self._launch_word(0), self._launch_word(1)
        left = Apply(OPS["sub"], groups, self.group)
        yield Let(self.group.name, multiply(_FIRST, run))
        yield Let(self.first.name, multiply(self.group, width))
        yield Let(self.end.name, multiply(Apply(OPS["min"], run, left), width))

    @property
    def images(self) -> dict[Expr, Expr]:
        """What the launch is to the program."""
        return {_GROUPS: self._launch_word(1)}

    def _launch_word(self, index: int) -> Expr:
        return Load(self.buffer, literal(u32, index), checked=False)
