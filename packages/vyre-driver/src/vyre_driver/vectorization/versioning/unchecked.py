"""A region as it is where its checks are decided."""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.legalization.bounds import leaves
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.target import Target
from vyre_driver.vectorization.versioning.checks import Checks, changing_names
from vyre_driver.vectorization.versioning.extents import RING, Extents, nearest_to_zero
from vyre_foundation.dtype import bool_, i32, u32, u64
from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Load, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.rename import with_names
from vyre_foundation.ir.stmt import Body, For, If, Let, Stmt, Store
from vyre_foundation.ir.walk import postorder, rebuilt, rewrite_body, statements, transform, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.validate.declared import declared_locals

_MAX_NODES = 32
"""Indices of more operations stay in their width."""


class Unchecked:
    """A region under other names, without the checks that are decided.

    Indices that are known not to wrap are computed in the width of an address, where the target wants that.
    """

    def __init__(
        self, region: Body, checks: Checks, extents: Extents, ranges: Ranges, fresh: Fresh, target: Target
    ) -> None:
        self._checks, self._extents, self._ranges = checks, extents, ranges
        self._names = {name: fresh(name) for name in declared_locals(region)}
        self._lets = {s.name: s.value for s in statements(region) if isinstance(s, Let)}
        self._mutable = (
            changing_names(region) - self._lets.keys() - {s.name for s in statements(region) if isinstance(s, For)}
        )
        self._starts = {s.name: s.start for s in statements(region) if isinstance(s, For) and self._is_steady(s.start)}
        self._windows = {
            name: Local(fresh(name), self._starts[name].dtype) for name in checks.windows if name in self._starts
        }
        self._is_wide = target.wide_indices
        self._memo: dict[Expr, Expr] = {}
        self._wide: dict[Expr, Expr] = {}

    def body(self, body: Body) -> Body:
        """The copy of `body`, a part of the region."""
        return rewrite_body(body, self._stmt)

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _stmt(self, stmt: Stmt) -> Stmt | Body:
        """Nested bodies have been rewritten."""
        match stmt:
            case For(name) if name in self._windows:
                return self._window(stmt)
            case For(name, start, stop):
                return replace(stmt, name=self._names[name], start=self._end(start), stop=self._end(stop))
            case Store(_, index, value, False) if index in self._checks.exact:
                return replace(stmt, index=self._address(index), value=self._expr(value))
            case _:
                return _settled(with_names(with_expressions(stmt, self._expr), self._names))

    def _window(self, loop: For) -> For:
        """A loop of as many iterations everywhere counts them."""
        start, dtype = loop.start, loop.start.dtype
        counter = self._windows[loop.name]
        let = Let(self._names[loop.name], Apply(OPS["add"], self._expr(start), counter))
        ends = literal(dtype, 0), literal(dtype, self._checks.windows[loop.name])
        self._ranges.learn(counter, 0, int(ends[1].value) - 1)
        return replace(loop, name=counter.name, start=ends[0], stop=ends[1], body=(let, *loop.body))

    def _end(self, bound: Expr) -> Expr:
        return self._checks.ends.get(bound) or self._expr(bound)

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _expr(self, root: Expr) -> Expr:
        return transform(root, self._node, self._memo)

    def _node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        return self._ranges.carry(node, self._image(node, args))

    def _image(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        match node:
            case Load(buffer, index) if node in self._checks.loads or (
                not node.checked and index in self._checks.exact
            ):
                return Load(buffer, self._address(index), checked=False)
            case Apply() | Select() if node in self._checks.chosen:
                return self._expr(self._checks.chosen[node])
            case Apply() if node in self._checks.decided:
                return literal(bool_, self._checks.decided[node])
            case Select() if isinstance(args[0], Literal):
                return args[1] if args[0].bits else args[2]
            case Apply(op) if args[0].dtype is bool_:
                return _folded(op.id, args) or rebuilt(node, args)
            case Local(name, dtype) if name in self._names:
                return Local(self._names[name], dtype)
            case _:
                return rebuilt(node, args)

    # ── indices ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _address(self, index: Expr) -> Expr:
        """The image of an exact index; as u64 where that is more than a conversion of the result."""
        order = self._ring(index) if self._is_wide and index.dtype is u32 else ()
        for node in order:
            self._wide[node] = self._widened(node)
        return self._wide[index] if order else self._expr(index)

    def _ring(self, index: Expr) -> tuple[Expr, ...]:
        """The sums and products that `index` is made of, and their operands, children first.

        Empty where there are none, or where an operand may have wrapped.
        """
        order: dict[Expr, None] = {}
        stack = [index]
        while stack:
            node = stack[-1]
            parts = self._operands(node)
            if todo := [part for part in parts if part not in order]:
                stack.extend(todo)
                continue
            if not (parts or self._fits(node)) or len(order) > _MAX_NODES:
                return ()
            order[stack.pop()] = None
        return tuple(order) if len(order) > 1 else ()

    def _operands(self, node: Expr) -> tuple[Expr, ...]:
        match node:
            case Apply() | Select() if node in self._checks.chosen:
                return (self._checks.chosen[node],)
            case Apply(op, args) if op.id in RING and node.dtype in (u32, i32):
                return args
            case Cast(dtype, value) if {dtype, value.dtype} == {u32, i32} and self._ring(value):
                return (value,)
            case Local(name) if name in self._lets and self._operands(self._lets[name]):
                return (self._lets[name],) if self._is_steady(self._lets[name]) else ()
            case Local(name) if name in self._windows:
                return (self._starts[name],)
            case _:
                return ()

    def _is_steady(self, value: Expr) -> bool:
        """Whether what a let or a loop was given is still that."""
        nodes = postorder((value,))
        return not any(
            (isinstance(n, Local) and n.name in self._mutable)
            or (isinstance(n, Load) and n.buffer.access is not Access.READ)
            for n in nodes
        )

    def _fits(self, leaf: Expr) -> bool:
        """Whether a value is surely the number that claims are about, and not one that is equal to it modulo 2**32."""
        extent = self._extents.of(leaf)
        return extent is not None and extent.low.low >= 0 and extent.high.high <= u32.highest

    def _widened(self, node: Expr) -> Expr:
        match node:
            case Literal():
                return literal(u64, nearest_to_zero(node) & u64.highest)
            case Apply() | Select() if node in self._checks.chosen:
                return self._wide[self._checks.chosen[node]]
            case Cast(_, value) if self._operands(node):
                return self._wide[value]
            case Apply(op, (x, Literal() as y)) if op.id in ("add", "sub") and nearest_to_zero(y) < 0:
                inverse = "sub" if op.id == "add" else "add"
                return Apply(OPS[inverse], self._wide[x], literal(u64, -nearest_to_zero(y)))
            case Apply(op, (x, Literal() as y)) if op.id == "shl":
                return Apply(op, self._wide[x], literal(u64, int(y.value) % u32.bits))
            case Apply(op, args) if op.id in RING:
                return Apply(op, *[self._wide[x] for x in args])
            case Local(name) if name in self._windows:
                return Apply(OPS["add"], self._wide[self._starts[name]], Cast(u64, self._windows[name]))
            case Local(name) if self._operands(node):
                return self._wide[self._lets[name]]
            case _:
                return Cast(u64, self._expr(node))


def rechecked(region: Body, ranges: Ranges) -> Body:
    """Check loads again that two versions of a region would share.

    ``a[workgroup_id] (unchecked)``  →  ``a[workgroup_id]``

    What two versions share may be computed before both, where only ranges prove it.
    """
    own, memo = changing_names(region), dict[Expr, Expr]()
    depends: dict[Expr, bool] = {}

    def image(node: Expr, args: tuple[Expr, ...]) -> Expr:
        depends[node] = (isinstance(node, Local) and node.name in own) or any(depends[a] for a in node.args)
        if isinstance(node, Load) and not node.checked and not depends[node] and not _is_in_range(node, ranges):
            return Load(node.buffer, args[0])
        return rebuilt(node, args)

    return rewrite_body(region, lambda s: with_expressions(s, lambda e: transform(e, image, memo)))


def _is_in_range(load: Load, ranges: Ranges) -> bool:
    count = load.buffer.count
    return isinstance(count, int) and ranges.of(load.index).low >= 0 and ranges.of(load.index).high < count


def _settled(stmt: Stmt) -> Stmt | Body:
    """Replace a branch whose condition is a literal: ``if true: a else: b``  →  ``a``."""
    match stmt:
        case If(Literal(bits=truth), then, orelse) if not leaves(then if truth else orelse):
            return then if truth else orelse
        case _:
            return stmt


def _folded(op: str, args: tuple[Expr, ...]) -> Expr | None:
    """A condition of which a part is known."""
    if op == "not" and isinstance(args[0], Literal):
        return literal(bool_, not args[0].bits)
    if op not in ("and", "or"):
        return None
    for known, other in (args, args[::-1]):
        if isinstance(known, Literal):
            return other if bool(known.bits) == (op == "and") else known
    return None
