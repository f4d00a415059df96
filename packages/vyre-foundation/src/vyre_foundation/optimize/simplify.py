"""Simplification: every expression in normal form, by folding, by rules, and by what ranges decide.

::

    out[(i + 3) - 1] = select(true, a[u64(i)] * 1, 7);    →    out[i + 2] = a[i];

One walk over the graph of expressions, operands first, sees each of them once. What a rule gives is looked at again,
until no rule applies: a rule makes an expression lighter (see `rules`), so there is an end. Nothing here recurses over
expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Literal, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, Body, For, If, Let, Region, Stmt, Store, Subgroup, Var
from vyre_foundation.ir.walk import expressions, postorder, same_body, with_bodies, with_expressions
from vyre_foundation.ops.scalar import from_bits, to_bits
from vyre_foundation.optimize.analysis import facts_after
from vyre_foundation.optimize.fold import canonical, folded
from vyre_foundation.optimize.matching import applied
from vyre_foundation.optimize.rulebook import Rulebook
from vyre_foundation.optimize.rules import RULES
from vyre_foundation.optimize.rules.rule import COMMUTATIVE
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Facts, Interval
from vyre_foundation.validate.inferred import InferredRanges
from vyre_foundation.validate.ranges import counted

_BOOK = Rulebook(RULES)
_WITH_BODIES = frozenset((If, For, Region))
_GIVING = frozenset((Let, Var, Assign, For, Subgroup))
_COMMUTATIVE = frozenset(COMMUTATIVE)


def simplify(program: Program, facts: Facts) -> Program:
    """The program with its expressions in normal form; itself where they are."""
    while True:
        sweep = Sweep(program, facts.ranges)
        simplified = sweep.program()
        if simplified is program or not sweep.has_learned():
            return simplified
        program, facts = simplified, facts_after(facts, simplified)


class Sweep:
    """The normal forms of one program's expressions, as far as `ranges` tell.

    Statements are met in the order in which they run, so what is found out about the value of a `let` or the bounds of
    a loop is known where the local is read. About a mutable local it comes too late: another sweep may find more.
    """

    def __init__(self, program: Program, ranges: Mapping[Expr, Interval]) -> None:
        self._program = program
        self._ranges = InferredRanges(program, ranges)
        self._seen: set[Expr] = set()
        self._image: dict[Expr, Expr] = {}
        self._spelled: dict[tuple[Any, ...], Expr] = {}
        self._given: dict[Local, list[Expr]] = {}

    def program(self) -> Program:
        """The program over normal forms."""
        body = self._body(self._program.body)
        return self._program if body is self._program.body else replace(self._program, body=body)

    def has_learned(self) -> bool:
        """Whether a mutable local is bounded more tightly by the new values than it was by the old ones."""
        of, known = self._ranges.of, self._ranges.known
        for local, values in self._given.items():
            if local in known:
                given = [of(value) for value in values]
                if (
                    min(low for low, _ in given) > known[local].low
                    or max(high for _, high in given) < known[local].high
                ):
                    return True
        return False

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _body(self, body: Body) -> Body:
        return same_body(body, [self._stmt(stmt) for stmt in body])

    def _stmt(self, stmt: Stmt) -> Stmt:
        roots = expressions(stmt)
        if roots:
            self._enter(roots)
            stmt = self._over_images(stmt, roots)
        self._learn_from(stmt, roots)
        return with_bodies(_without_unreached(stmt), self._body) if stmt.__class__ in _WITH_BODIES else stmt

    def _learn_from(self, stmt: Any, old: tuple[Expr, ...]) -> None:
        """A local that the statement declares is bounded by what it is given."""
        kind, ranges = stmt.__class__, self._ranges
        if kind not in _GIVING or not (dtype := old[0].dtype).is_integer:
            return
        if kind is Let:
            self._learn(Local(stmt.name, dtype), ranges.of(stmt.value))
        elif kind is For:
            self._learn(Local(stmt.name, dtype), counted(ranges.of(stmt.start), ranges.of(stmt.stop), stmt.step))
        elif kind is not Subgroup:
            self._given.setdefault(Local(stmt.name, dtype), []).append(stmt.value)
        elif stmt.result is not None:
            ranges.learn(old[0], ranges.of(stmt.value))
            local = Local(stmt.result, stmt.op.result_type(dtype))
            if local in ranges.known:
                ranges.infer(local)

    def _over_images(self, stmt: Stmt, roots: tuple[Expr, ...]) -> Stmt:
        image = self._image
        for root in roots:
            if image[root] is not root:
                stmt = with_expressions(stmt, image.__getitem__)
                break
        if isinstance(stmt, (Store, Atomic)) and isinstance(stmt.index, Cast):
            index = self._index(stmt.index)
            return stmt if index is stmt.index else replace(stmt, index=index)
        return stmt

    def _learn(self, local: Local, interval: Interval) -> None:
        """A local is bounded by what it is given; one that is not read has no use for bounds."""
        if local in self._ranges.known:
            self._ranges.learn(local, interval)

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _enter(self, roots: Iterable[Expr]) -> None:
        """Find the images of `roots` and of what they are made of."""
        image = self._image
        for node in postorder(roots, self._seen):
            for operand in node.args:
                if image[operand] is not operand:
                    rebuilt = self._over_normal(node)
                    known = image.get(rebuilt)
                    image[node] = self._settled(rebuilt) if known is None else known
                    break
            else:
                image[node] = self._settled(node)

    def _over_normal(self, node: Expr) -> Expr:
        """The node over the normal forms of its operands."""
        rebuilt = node.rebuild(tuple([self._image[operand] for operand in node.args]))
        self._ranges.carry(node, rebuilt)
        return rebuilt

    def _settled(self, node: Expr) -> Expr:
        """The normal form of a node whose operands are in normal form."""
        image = self._image
        found = self._step(node)
        if found is not node:
            known = image.get(found)
            found = self._normal(found) if known is None else known
        image[node] = found
        return found

    def _normal(self, root: Expr) -> Expr:
        """The normal form of an expression that a rule has made, at any depth from parts in normal form."""
        image, stack = self._image, [root]
        becomes: dict[Expr, Expr] = {}
        while stack:
            node = stack[-1]
            if node in image:
                stack.pop()
                continue
            todo = [operand for operand in node.args if operand not in image]
            if todo:
                stack += todo
                continue
            found = becomes.get(node)
            if found is None:
                is_over_normal = all(image[operand] is operand for operand in node.args)
                found = becomes[node] = self._step(node) if is_over_normal else self._over_normal(node)
            if found is node or found in image:
                image[node] = image.get(found, found)
                stack.pop()
            else:
                stack.append(found)
        return image[root]

    def _step(self, node: Expr) -> Expr:
        """`node`, whose operands are in normal form, rewritten once; the same object if it is in normal form too."""
        kind = node.__class__
        if kind is Literal:
            return canonical(node)  # type: ignore[arg-type]
        if node.dtype.is_integer and (kind is not Length or isinstance(node.buffer.count, int)):  # type: ignore[attr-defined]
            if self._ranges.tightened and not self._ranges.tightened.isdisjoint(node.args):
                self._ranges.infer(node)
            low, high = self._ranges.of(node)
            if low == high:
                return literal(node.dtype, low)
        if not node.args:
            return node
        if kind is Load:
            return self._load(node)  # type: ignore[arg-type]
        value = folded(node)
        if value is not None:
            return value
        for entry in _BOOK.about(node):
            found = applied(entry.rule, entry.left, node, self._ranges.of)
            if found is not None:
                self._ranges.carry(node, found)
                return found
        return self._one_spelling(node)

    def _one_spelling(self, node: Expr) -> Expr:
        """Of two orders of the same operands, the one that came first."""
        if isinstance(node, Apply) and node.op in _COMMUTATIVE:
            first, second = node.args
            other = self._spelled.get((node.op, second, first))
            if other is not None:
                return other
            self._spelled[node.op, first, second] = node
        return node

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _load(self, node: Load) -> Expr:
        """An element of a table, or the 0 of an index that is out of bounds, is known."""
        buffer, index = node.buffer, self._index(node.index)
        if not node.checked or not isinstance(buffer.count, int):
            return Load(buffer, index, checked=node.checked)
        low, high = self._ranges.of(index)
        if high < 0 or low >= buffer.count:
            return Literal(buffer.dtype, 0)
        if buffer.data and low == high:
            size = buffer.dtype.size
            element = int.from_bytes(buffer.data[low * size : (low + 1) * size], "little")
            return Literal(buffer.dtype, to_bits(buffer.dtype, from_bits(buffer.dtype, element)))
        return Load(buffer, index)

    def _index(self, index: Expr) -> Expr:
        """The index before a conversion that keeps it: an index may be of any integer type."""
        while isinstance(index, Cast) and index.value.dtype.is_integer and index.checked:
            low, high = self._ranges.of(index.value)
            if low < index.dtype.lowest or high > index.dtype.highest:
                break
            index = index.value
        return index


def _without_unreached(stmt: Stmt) -> Stmt:
    """`stmt` with nothing in the branch that its condition rules out, which needs no normal form."""
    if isinstance(stmt, If) and isinstance(stmt.condition, Literal):
        if stmt.condition.bits:
            return replace(stmt, orelse=()) if stmt.orelse else stmt
        return replace(stmt, then=()) if stmt.then else stmt
    return stmt


SIMPLIFY = Pass("simplify", "Apply the rewrite rules to expressions, and fold constants", simplify)
