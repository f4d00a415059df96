"""Which values are one for a whole workgroup, and how memory is walked from lane to lane."""

from __future__ import annotations

from collections.abc import Iterable

from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Literal, Load, Local
from vyre_foundation.ir.stmt import For, Let, Stmt
from vyre_foundation.ir.walk import postorder

_OF_GROUP = (IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS)


class GroupValues:
    """`names` are the locals that have one value for a workgroup: lets of such values, counters of its loops.

    A local has to be among them, or not, before an expression that uses it is asked about.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._answers: dict[Expr, bool] = {}
        self._seen: set[Expr] = set()

    def holds(self, root: Expr) -> bool:
        """Whether `root` is one value for the workgroup at any time.

        That is, whether it is made of literals, lengths, numbers of the workgroup, and loads from memory that no one
        writes.
        """
        for node in postorder((root,), self._seen):
            self._answers[node] = self._is_leaf(node) and all(self._answers[a] for a in node.args)
        return self._answers[root]

    def _is_leaf(self, node: Expr) -> bool:
        match node:
            case Id(kind):
                return kind in _OF_GROUP
            case Local(name):
                return name in self.names
            case Load(buffer):
                return buffer.access is Access.READ
            case _:
                return True


FAR = 1 << 64
"""The stride of rows whose length the launch knows: more than any number that is known."""


class Strides:
    """By how much values grow from an invocation to its neighbour on `axis`.

    A stride is a number that is known, or `FAR` where it is only known to be the same for all; else None.
    """

    def __init__(self, stmts: Iterable[Stmt], axis: int = 0) -> None:
        self._axis = axis
        self._names: dict[str, int | None] = {}
        self._strides: dict[Expr, int | None] = {}
        self._seen: set[Expr] = set()
        for stmt in stmts:
            match stmt:
                case Let(name, value):
                    self._names[name] = self.of(value)
                case For(name, start, stop):
                    self._names[name] = 0 if self.of(start) == self.of(stop) == 0 else None
                case _:
                    pass

    def of(self, root: Expr) -> int | None:
        """The stride of `root`, which may contain locals of the statements that were given."""
        for node in postorder((root,), self._seen):
            self._strides[node] = self._of(node, [self._strides[a] for a in node.args])
        return self._strides[root]

    def _of(self, node: Expr, inner: list[int | None]) -> int | None:
        match node:
            case Id(IdKind.LOCAL_ID | IdKind.GLOBAL_ID, axis) if axis == self._axis:
                return 1
            case Id() | Literal() | Length():
                return 0
            case Local(name):
                return self._names.get(name)
            case Load(buffer):
                return 0 if inner == [0] and buffer.access is Access.READ else None
            case Cast():
                return inner[0]
            case Apply(op, (x, y)) if op.id in ("add", "sub", "mul"):
                return _of_arithmetic(op.id, x, y, *inner)
            case _:
                return 0 if all(stride == 0 for stride in inner) else None


def _of_arithmetic(op: str, x: Expr, y: Expr, a: int | None, b: int | None) -> int | None:
    if a is None or b is None:
        return None
    if op != "mul" and FAR in (a, b):
        return FAR
    match op:
        case "add":
            return a + b
        case "sub":
            return a - b
    if a == b == 0:
        return 0
    stride, factor = (a, y) if b == 0 else (b, x)
    if isinstance(factor, Literal):
        return FAR if stride == FAR else stride * int(factor.value)
    return FAR if 0 in (a, b) else None
