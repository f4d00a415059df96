"""Private arrays that are too large for the stack of a thread live in scratch memory.

A compiler that runs the invocations of a workgroup one after the other in one thread keeps the private memory of all of
them at the same time, on the stack of that thread: 16 KiB of each of 1024 invocations end the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vyre_driver.legalization.coordinates import add, multiply, slot
from vyre_driver.legalization.dead_initialisation import dead_initialisations
from vyre_driver.legalization.declare import declare, next_binding, scratch
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.target import Groups, Target
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Buffer, Memory, Per, PerLaunch
from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Literal, Load, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, For, Let, Stmt, Store
from vyre_foundation.ir.walk import rebuilt, rewrite_body, transform, with_expressions
from vyre_foundation.ops import OPS

MAX_BYTES = 256 * 1024
"""Of private arrays of a workgroup. Threads have 8 MiB of stack as a rule, and some that are made by hand 1 MiB."""


def spill_private(program: Program, ranges: Ranges, target: Target) -> Program:
    """Move private arrays that exceed the stack to scratch memory.

    ``private t: u32[4096]; t[i]``  →  ``scratch t_spilled: u32[4096 per invocation]; t_spilled[slot * 4096 + i]``

    The largest arrays go first, until the rest fits. What lies outside of an array is outside of the scratch memory.
    """
    spilled = _too_large(program) if target.groups is Groups.LOOPS else []
    if not spilled:
        return program
    fresh, binding = Fresh.of(program), next_binding(program)
    homes = {
        array: scratch(fresh(f"{array.name}_spilled"), array.dtype, PerLaunch(Per.INVOCATION, _count(array)), number)
        for number, array in enumerate(spilled, binding)
    }
    spill = _Spill(homes, Local(fresh("slot"), u32), ranges)
    unseen = dead_initialisations(program)
    dirty = [array for array in spilled if array not in unseen]
    body = (
        Let(spill.slot.name, slot(program)),
        *[spill.clear(array, fresh(f"{array.name}_k")) for array in dirty],
        *rewrite_body(program.body, spill.stmt),
    )
    others = tuple([buffer for buffer in program.buffers if buffer not in homes])
    return declare(replace(program, buffers=others), body, *homes.values())


def _too_large(program: Program) -> list[Buffer]:
    """The arrays that are to be spilled, in the order of the program."""
    arrays = [b for b in program.buffers if b.memory is Memory.PRIVATE and b.count]
    left = sum(map(_size, arrays))
    spilled = set[Buffer]()
    for array in sorted(arrays, key=_size, reverse=True):
        if left * program.workgroup_volume <= MAX_BYTES:
            break
        left -= _size(array)
        spilled.add(array)
    return [array for array in arrays if array in spilled]


def _count(array: Buffer) -> int:
    assert isinstance(array.count, int)
    return array.count


def _size(array: Buffer) -> int:
    return _count(array) * array.dtype.size


class _Spill:
    """`homes` are the scratch buffers of the arrays, `slot` is the number of the invocation in the launch."""

    def __init__(self, homes: Mapping[Buffer, Buffer], slot: Local, ranges: Ranges) -> None:
        self.slot = slot
        self._homes, self._ranges = homes, ranges
        self._memo: dict[Expr, Expr] = {}

    def stmt(self, stmt: Stmt) -> Stmt | Body:
        match stmt:
            case Store(array, index, value, checked) if array in self._homes:
                at, is_known = self._at(array, index, self._expr(index))
                return Store(self._homes[array], at, self._expr(value), checked=checked and not is_known)
            case _:
                return with_expressions(stmt, self._expr)

    def clear(self, array: Buffer, name: str) -> For:
        """Private memory is zero when an invocation starts."""
        index, zero = self._element(array, Local(name, u32)), Literal(array.dtype, 0)
        store = Store(self._homes[array], index, zero, checked=False)
        return For(name, literal(u32, 0), literal(u32, _count(array)), 1, (store,))

    def _expr(self, root: Expr) -> Expr:
        return transform(root, self._node, self._memo)

    def _node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        match node:
            case Load(array, index) if array in self._homes:
                at, is_known = self._at(array, index, args[0])
                return self._ranges.carry(node, Load(self._homes[array], at, checked=node.checked and not is_known))
            case Length(array) if array in self._homes:
                return literal(u32, _count(array))
            case _:
                return self._ranges.carry(node, rebuilt(node, args))

    def _at(self, array: Buffer, source: Expr, index: Expr) -> tuple[Expr, bool]:
        """Where an element is, or nowhere; and whether it is known to be there."""
        count, dtype, known = _count(array), index.dtype, self._ranges.of(source)
        at = self._element(array, index if dtype is u32 else Cast(u32, index))
        inside: list[Expr] = []
        if known.low < 0:
            inside.append(Apply(OPS["ge"], index, literal(dtype, 0)))
        if known.high >= count:
            inside.append(Apply(OPS["lt"], index, literal(dtype, count)))
        if not inside:
            return at, True
        holds = inside[0] if len(inside) == 1 else Apply(OPS["and"], *inside)
        return Select(holds, at, literal(u32, u32.highest)), False  # no buffer has 2**32 elements

    def _element(self, array: Buffer, index: Expr) -> Expr:
        return add(multiply(self.slot, literal(u32, _count(array))), index)
