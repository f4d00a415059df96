"""Scratch memory for what lives across a cut, and the statements that bring it there and back.

A local has one element for each invocation, a private array its count, a workgroup array its count for each workgroup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from vyre_driver.legalization.coordinates import add, group_index, local_index, multiply, slot
from vyre_driver.legalization.declare import scratch
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.buffer import Buffer, Memory, Per, PerLaunch
from vyre_foundation.ir.expr import Expr, Literal, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import For, Let, Stmt, Store, Var


class Homes:
    """Where names live between kernels of one program; `buffers` are the homes made so far, in order."""

    def __init__(self, program: Program, fresh: Fresh, binding: int) -> None:
        self._program, self._fresh, self._binding = program, fresh, binding
        self._homes: dict[str | Buffer, Buffer] = {}
        self._slot = Local(fresh("slot"), u32)
        self._group = Local(fresh("group"), u32)

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The scratch buffers made so far, in the order in which they were needed."""
        return tuple(self._homes.values())

    def bind(self, names: Iterable[str | Buffer]) -> Iterator[Stmt]:
        """The numbers that address the homes of `names`: that of the invocation, that of its workgroup."""
        per_group = {isinstance(name, Buffer) and name.memory is Memory.WORKGROUP for name in names}
        if False in per_group:
            yield Let(self._slot.name, slot(self._program))
        if True in per_group:
            yield Let(self._group.name, group_index())

    # ── locals ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def take(self, name: str, dtype: DType, *, mutable: bool) -> Stmt:
        """Bring a local back at the start of a kernel: ``let x = x_kept[slot]``."""
        value = Load(self._home(name, dtype), self._slot, checked=False)
        return Var(name, value) if mutable else Let(name, value)

    def leave(self, name: str, dtype: DType) -> Stmt:
        """Save a local at the end of a kernel: ``x_kept[slot] = x``."""
        return Store(self._home(name, dtype), self._slot, Local(name, dtype), checked=False)

    def _home(self, name: str, dtype: DType) -> Buffer:
        if name not in self._homes:
            self._homes[name] = self._scratch(name, dtype, PerLaunch(Per.INVOCATION))
        return self._homes[name]

    # ── arrays ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_array(self, array: Buffer) -> Stmt:
        """Bring an array back at the start of a kernel, the work shared by the invocations of a workgroup.

        ``for k: w[k] = w_kept[group * count + k]``
        """
        return self._each(array, lambda k: (array, k, Load(self._array_home(array), self._at(array, k), checked=False)))

    def leave_array(self, array: Buffer) -> Stmt:
        """Save an array at the end of a kernel: ``for k: w_kept[group * count + k] = w[k]``."""
        return self._each(array, lambda k: (self._array_home(array), self._at(array, k), Load(array, k, checked=False)))

    def clear_array(self, array: Buffer) -> Stmt:
        """Clear the saved elements of an array: ``for k: w_kept[group * count + k] = 0``."""
        return self._each(array, lambda k: (self._array_home(array), self._at(array, k), Literal(array.dtype, 0)))

    def _each(self, array: Buffer, store: Callable[[Expr], tuple[Buffer, Expr, Expr]]) -> Stmt:
        k = Local(self._fresh(f"{array.name}_k"), u32)
        shared = array.memory is Memory.WORKGROUP
        start = local_index(self._program) if shared else literal(u32, 0)
        step = self._program.workgroup_volume if shared else 1
        return For(k.name, start, literal(u32, _count(array)), step, (Store(*store(k), checked=False),))

    def _at(self, array: Buffer, k: Expr) -> Expr:
        base = self._group if array.memory is Memory.WORKGROUP else self._slot
        return add(multiply(base, literal(u32, _count(array))), k)

    def _array_home(self, array: Buffer) -> Buffer:
        if array not in self._homes:
            per = Per.WORKGROUP if array.memory is Memory.WORKGROUP else Per.INVOCATION
            self._homes[array] = self._scratch(array.name, array.dtype, PerLaunch(per, max(1, _count(array))))
        return self._homes[array]

    def _scratch(self, name: str, dtype: DType, count: PerLaunch) -> Buffer:
        binding = self._binding + len(self._homes)
        return scratch(self._fresh(f"{name}_kept"), dtype, count, binding)


def _count(array: Buffer) -> int:
    assert isinstance(array.count, int)
    return array.count
