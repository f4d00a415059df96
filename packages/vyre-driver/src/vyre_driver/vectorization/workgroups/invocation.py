"""One invocation inside of the loop over its workgroup: what its ids, locals, memory and atomics become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from vyre_driver.legalization.coordinates import add
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.vectorization.workgroups.memory import GroupMemory
from vyre_foundation.dtype import u64
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Load, Local, Select
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.rename import with_names
from vyre_foundation.ir.stmt import Atomic, AtomicOp, Body, Let, Stmt, Store
from vyre_foundation.ir.walk import rebuilt, rewrite_body, transform, with_expressions
from vyre_foundation.ops import OPS


@dataclass(frozen=True, slots=True)
class Workgroup:
    """What all invocations of a workgroup share.

    `memory` and `ranges` are those of the workgroup, `first` are the global ids of its first invocation, by axis, and
    `images` are the expressions that have become others.
    """

    memory: GroupMemory
    ranges: Ranges
    fresh: Fresh
    first: Mapping[int, Expr]
    images: Mapping[Expr, Expr]


class LoopInvocation:
    """The program's expressions and statements as one iteration of the loop runs them.

    `ids` are the local ids by axis, `lane` is the number among the workgroup's invocations. `names` are what locals are
    called here; others that live in memory are read from there.
    """

    def __init__(
        self,
        workgroup: Workgroup,
        ids: Mapping[int, Expr],
        lane: Expr,
        names: Mapping[str, str],
    ) -> None:
        self._workgroup, self._memory = workgroup, workgroup.memory
        self._ids, self._lane, self._names = ids, lane, names
        self._memo: dict[Expr, Expr] = {}

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def expr(self, root: Expr) -> Expr:
        """The expression as this invocation computes it."""
        return transform(root, self._node, self._memo)

    def _node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        return self._workgroup.ranges.carry(node, self._image(node, args))

    def _image(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        match node:
            case Apply():
                return rebuilt(node, args)
            case Id() if node in self._workgroup.images:
                return self._workgroup.images[node]
            case Id(IdKind.LOCAL_ID, axis):
                return self._ids[axis]
            case Id(IdKind.GLOBAL_ID, axis):
                return add(self._workgroup.first[axis], self._ids[axis])
            case Cast(dtype, Id(IdKind.GLOBAL_ID, axis)) if dtype is u64:
                return add(Cast(u64, self._workgroup.first[axis]), Cast(u64, self._ids[axis]))  # ids do not wrap
            case Local(name, dtype) if name in self._names:
                return Local(self._names[name], dtype)
            case Local(name) if name in self._memory.spilled:
                return self.spilled(name)
            case Load(buffer) if buffer in self._memory.arrays:
                return self._memory.load(node, args[0], self._lane)
            case _:
                return rebuilt(node, args)

    def spilled(self, name: str) -> Expr:
        """The local `name`, as another phase has left it."""
        return Load(self._memory.spilled[name], self._lane, checked=False)

    def spill(self, name: str, value: Expr) -> Stmt:
        """Leave the local `name` to other phases."""
        return Store(self._memory.spilled[name], self._lane, value, checked=False)

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def body(self, body: Body) -> Body:
        """The statements as this invocation runs them."""
        return rewrite_body(body, self._stmt)

    def _stmt(self, stmt: Stmt) -> Stmt | Body:
        inner = with_names(with_expressions(stmt, self.expr), self._names)
        match inner:
            case Store(buffer, index) if buffer in self._memory.arrays:
                array, index = self._memory.arrays[buffer], self._memory.index(buffer, index, self._lane)
                return replace(inner, buffer=array, index=index)
            case Atomic(buffer=buffer) if buffer in self._memory.arrays:
                return self._plain(inner)
            case _:
                return inner

    def _plain(self, stmt: Atomic) -> Body:
        """An atomic on memory that no other work item sees."""
        array, index = self._memory.arrays[stmt.buffer], self._memory.index(stmt.buffer, stmt.index, self._lane)
        old = Local(stmt.result or self._workgroup.fresh("old"), array.dtype)
        match stmt.op:
            case AtomicOp.EXCHANGE:
                new = stmt.value
            case AtomicOp.COMPARE_EXCHANGE:
                assert stmt.expected is not None
                new = Select(Apply(OPS["eq"], old, stmt.expected), stmt.value, old)
            case op:
                new = Apply(OPS[op.value], old, stmt.value)
        read = Load(array, index, checked=False)
        return Let(old.name, read), Store(array, index, new, checked=False)
