"""The elements that the accesses of a program can touch, for bounds of its ids."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence

from vyre_foundation.dtype import bool_
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select
from vyre_foundation.ir.stmt import Break, Continue, For, If, Let, Return, Stmt
from vyre_foundation.ir.walk import solve, statements
from vyre_foundation.validate.declared import declaration
from vyre_foundation.validate.determinism.accesses import Collector, MemoryAccess
from vyre_foundation.validate.determinism.forms import GLOBAL, GROUP, Polynomials
from vyre_foundation.validate.determinism.guards import PathCondition, PathConditions
from vyre_foundation.validate.determinism.stability import find_stability
from vyre_foundation.validate.facts import Facts, Interval, Uniformity
from vyre_foundation.validate.intervals import apply, hull, whole
from vyre_foundation.validate.outline import outline

_OF_GRID = (IdKind.GLOBAL_ID, IdKind.WORKGROUP_ID, IdKind.NUM_WORKGROUPS)
_DIVIDING = frozenset(("div", "rem", "and", "shr"))


class AccessBounds:
    """Accesses of one program and their bounds.

    The program is that of a launch, with its lengths and uniforms as literals: these bound more than names do.
    """

    def __init__(self, facts: Facts) -> None:
        program, nodes = facts.program, facts.program.code.nodes
        self._nodes, self._outline = nodes, outline(program)
        self._declared = {d[0]: p for p in self._outline.places if (d := declaration(p.stmt)) is not None}
        self._bound = frozenset(buffer for buffer in program.buffers if buffer.memory.is_bound)
        stability = find_stability(nodes, self._declared, self._bound)
        self._unstable, self._varying = stability.unstable, stability.varying
        self._uniformity = facts.uniformity
        self._loading = _loading(nodes)
        self._used = frozenset(node.name for node in nodes if isinstance(node, Local))
        axes = frozenset({0, *(node.axis for node in nodes if isinstance(node, Id) and node.kind in _OF_GRID)})
        self._forms = Polynomials(program, self._declared, facts.ranges, self._unstable, axes)
        self._guards = PathConditions(self._forms, self._declared, self._unstable)
        self._known: dict[PathCondition, dict[Expr, Interval]] = {}

    def accesses(self, bounds: Mapping[Expr, Interval]) -> Sequence[MemoryAccess]:
        """All accesses to bound buffers, in program order, with what holds there for ids within `bounds`.

        `TooMuch` for a program that is too large to look at.
        """
        self._known = {}
        is_constant = self._is_constant
        collector = Collector(self._outline, self._guards, self._loading, self._bound, self._used, is_constant)
        return collector.collect(PathCondition(bounds))

    def elements(self, access: MemoryAccess, length: int) -> Interval:
        """Bounds of the elements of a buffer of `length` elements that an access touches; low > high for none."""
        index = access.index
        found = self._of(index, access.guard)
        low, high = max(found.low, 0), min(found.high, length - 1)
        form = self._forms.of(index)
        if form.leaf is None:
            # The index is the sum modulo 2**bits. A sum below zero is an index out of bounds, as that of the left
            # neighbour of the first element is.
            exact = form.interval(self._leaves(index, access.guard), self._forms.bounds)
            if exact.low + (1 << index.dtype.bits) >= length and exact.high <= index.dtype.highest:
                low, high = max(low, exact.low), min(high, exact.high)
        return Interval(low, high)

    def is_exact(self, access: MemoryAccess) -> bool:
        """Whether the bounds of an access are elements that it touches.

        They are if its index is a sum of ids and counters of loops that run from one known number to another, and only
        ids and such counters decide whether it is made.
        """
        leaves = {leaf for monomial in self._forms.of(access.index).terms for leaf in monomial}
        if not all(isinstance(leaf, Id) or self._is_counter(leaf) for leaf in leaves):
            return False
        return all(self._is_surely_run(place.stmt) for place in access.place.around())

    @property
    def has_blocks(self) -> bool:
        """Whether an id is divided, or taken apart into bits, as a program of blocks of elements does."""
        found = (node for node in self._nodes if isinstance(node, Apply) and node.op.id in _DIVIDING)
        return any(node.dtype.is_integer and any(isinstance(x, Id) for x in self._leaves_of(node)) for node in found)

    def _is_counter(self, leaf: Expr) -> bool:
        if not isinstance(leaf, Local) or leaf.name not in self._declared:
            return False
        loop = self._declared[leaf.name].stmt
        return isinstance(loop, For) and self._is_number(loop.start) and self._is_number(loop.stop)

    def _is_number(self, node: Expr) -> bool:
        bounds = self._forms.bounds[node]
        return bounds.low == bounds.high

    def _is_surely_run(self, around: Stmt) -> bool:
        """Whether nothing but ids decides whether what is inside of a statement runs, in each iteration of a loop."""
        match around:
            case If(condition):
                leaves = self._leaves_of(condition)
                return any(isinstance(leaf, Id) for leaf in leaves) and all(map(self._is_place, leaves))
            case For(body=body):
                return not any(isinstance(stmt, (Break, Continue, Return)) for stmt in statements(body))
        return True

    def _is_place(self, leaf: Expr) -> bool:
        return isinstance(leaf, (Id, Literal, Length)) or self._is_counter(leaf)

    def _leaves_of(self, root: Expr) -> set[Expr]:
        """What an expression is computed from, through immutable locals."""
        seen, work = {root}, [root]
        leaves: set[Expr] = set()
        while work:
            node = work.pop()
            parts: Sequence[Expr] = () if isinstance(node, Load) else node.args
            if isinstance(node, Local) and isinstance(stmt := self._declared[node.name].stmt, Let):
                parts = (stmt.value,)
            if not parts:
                leaves.add(node)
            work += [part for part in parts if part not in seen]
            seen.update(parts)
        return leaves

    def _of(self, root: Expr, guard: PathCondition) -> Interval:
        """The bounds of the value of an integer expression where a condition holds."""
        known = self._known.setdefault(guard, {})

        def bounds(node: Expr, parts: Sequence[Interval]) -> Interval:
            least = guard.bounds.get(node) or self._forms.bounds.get(node) or whole(node.dtype)
            for found in (self._composed(node, known), self._summed(node, known)):
                least = Interval(max(least.low, found.low), min(least.high, found.high))
            return least if least.low <= least.high else whole(node.dtype)  # where no invocation gets to

        return solve(root, known, self._sources, bounds)

    def _sources(self, node: Expr) -> Sequence[Expr]:
        found = [part for part in node.args if part.dtype.is_integer]
        if isinstance(node, Local) and node.name in self._declared:
            stmt = self._declared[node.name].stmt
            if isinstance(stmt, Let) and stmt.value not in self._unstable:
                found.append(stmt.value)
        if node not in (GLOBAL, GROUP):
            found += [leaf for monomial in self._forms.of(node).terms for leaf in monomial if leaf is not node]
        return found

    def _composed(self, node: Expr, known: Mapping[Expr, Interval]) -> Interval:
        """What the operands tell."""
        match node:
            case Apply(op, args) if all(arg.dtype.is_integer for arg in args):
                return apply(op, args[0].dtype, *[known[arg] for arg in args])
            case Select():
                return hull(known[node.if_true], known[node.if_false])
            case Cast(dtype, value) if value.dtype is bool_ and dtype.is_integer:
                return Interval(0, 1)
            case Cast(dtype, value) if value.dtype.is_integer:
                low, high = known[value]
                return known[value] if dtype.lowest <= low and high <= dtype.highest else whole(dtype)
            case Local(name) if name in self._declared:
                stmt = self._declared[name].stmt
                if isinstance(stmt, Let) and stmt.value not in self._unstable:
                    return known[stmt.value]
        return whole(node.dtype)

    def _summed(self, node: Expr, known: Mapping[Expr, Interval]) -> Interval:
        """What the form of the expression as a sum tells."""
        if node in (GLOBAL, GROUP) or self._forms.of(node).leaf is node:
            return whole(node.dtype)
        found = self._forms.exact(node, known)
        return whole(node.dtype) if found is None else found[1]

    def _leaves(self, index: Expr, guard: PathCondition) -> Mapping[Expr, Interval]:
        leaves = {leaf for monomial in self._forms.of(index).terms for leaf in monomial}
        return ChainMap({leaf: self._of(leaf, guard) for leaf in leaves})

    def _is_constant(self, leaf: Expr) -> bool:
        uniformity = self._uniformity.get(leaf, Uniformity.NONE)
        return leaf not in self._varying and uniformity.value >= Uniformity.GRID.value


def _loading(nodes: Sequence[Expr]) -> frozenset[Expr]:
    """The expressions with a load inside; `nodes` come children before parents."""
    found: set[Expr] = set()
    for node in nodes:
        if isinstance(node, Load) or not found.isdisjoint(node.args):
            found.add(node)
    return frozenset(found)
