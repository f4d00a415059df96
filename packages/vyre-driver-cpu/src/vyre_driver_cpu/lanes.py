"""Values of a vector of invocations: which are one for all of them, and how the others differ from lane to lane.

Lane `j` of a vector that begins at the invocation `l` computes an index at `l + j`. Where it is a `Pattern`, the lanes
differ by constants, so that one address and a constant permutation say where all of them access memory::

    row * 512 + l             0, 1, 2, 3, …      neighbours: one access
    (l >> 1) << 2 | l & 1     0, 1, 4, 5, …      near: one access, and a permutation
    l * 16 + 3                0, 16, 32, 48, …   rows, which may be accessed together and transposed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from vyre_driver_cpu.bounds import UpperBounds
from vyre_foundation.dtype import u64
from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Load, Local
from vyre_foundation.ir.stmt import Atomic, For, Let, Var
from vyre_foundation.ir.walk import missing, postorder, statements

_EVERY = 1 << 64
"""The alignment of 0."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A base that all lanes share, which is a multiple of `align` (a power of two), plus an offset for each lane.

    `is_exact`: base and offsets are natural numbers whose sums do not wrap.
    """

    align: int
    offsets: tuple[int, ...]
    is_exact: bool

    @property
    def is_uniform(self) -> bool:
        """Whether there is no difference."""
        return len(set(self.offsets)) == 1

    @property
    def is_row(self) -> bool:
        """Whether lanes are side by side."""
        return all(offset == lane + self.offsets[0] for lane, offset in enumerate(self.offsets))


class VectorLanes:
    """What is known of one loop over invocations whose vectors are `width` lanes wide, a power of two.

    `lets` are the values of the kernel's immutable locals, `mutable` the names of the others.
    """

    def __init__(
        self, loop: For, width: int, lets: Mapping[str, Expr], mutable: AbstractSet[str], bounds: UpperBounds
    ) -> None:
        self.counter, self.width = Local(loop.name, loop.start.dtype), width
        self._lets, self._mutable, self._bounds = lets, mutable, bounds
        self._varying: dict[Expr, bool] = {self.counter: True}
        self._alignments: dict[Expr, int] = {}
        first = loop.start.bits if isinstance(loop.start, Literal) else 1
        own = Pattern(min(width, _lowest_bit(first)), tuple(range(width)), is_exact=True)
        self._patterns: dict[Expr, Pattern | None] = {self.counter: own}
        for stmt in statements(loop.body):
            if isinstance(stmt, Var):
                self._varying[Local(stmt.name, stmt.value.dtype)] = True
            elif isinstance(stmt, Let):
                self._varying[Local(stmt.name, stmt.value.dtype)] = self.varies(stmt.value)
            elif isinstance(stmt, Atomic) and stmt.result is not None:
                self._varying[Local(stmt.result, stmt.buffer.dtype)] = True
            elif isinstance(stmt, For) and self.varies(stmt.start):
                index = Local(stmt.name, stmt.start.dtype)
                self._varying[index], self._patterns[index] = True, self._counted(stmt)

    def varies(self, root: Expr) -> bool:
        """Whether the lanes may have different values."""
        known = self._varying
        if root not in known:
            for node in missing(root, known):
                known[node] = any(known[a] for a in node.args)
        return known[root]

    def pattern(self, node: Expr) -> Pattern | None:
        """How an integer differs from lane to lane, if it does so by constants."""
        if node not in self._patterns:
            self._patterns[node] = self._found(node)
        return self._patterns[node]

    def may_be_adjacent(self, index: Expr) -> bool:
        """Whether lanes may access neighbours although that does not show: an index is computed without memory."""
        if not self.varies(index) or self.pattern(index) is not None:
            return False
        stack: list[Expr] = [index]
        seen: set[Expr] = {self.counter}
        while stack:
            node = stack.pop()
            if node in seen or not self.varies(node):
                continue
            seen.add(node)
            if isinstance(node, Local):
                value = self.steady(node)
                if value is None:
                    return False
                stack.append(value)
            elif isinstance(node, (Apply, Cast)) and node.dtype.is_integer:
                stack += node.args
            else:
                return False
        return True

    def is_in_row(self, index: Expr) -> bool:
        """Whether all lanes access one element, or neighbours; see `may_wrap`."""
        pattern = self.pattern(index)
        if pattern is None:
            return not self.varies(index)
        return pattern.is_uniform or pattern.is_row

    def may_wrap(self, index: Expr) -> bool:
        """Whether lanes access neighbours, unless the index wraps from one lane to the next."""
        pattern = self.pattern(index)
        if pattern is None or can_address(index, pattern):
            return False
        return pattern.is_row

    def is_hidden(self, index: Expr) -> bool:
        """Whether lanes access neighbours, and LLVM does not see it: bits of the counter are taken apart.

        It knows sums and products alone.
        """
        pattern = self.pattern(index)
        if pattern is None or not can_address(index, pattern) or pattern.is_uniform:
            return False
        stack: list[Expr] = [index]
        seen: set[Expr] = {self.counter}
        while stack:
            node = stack.pop()
            if node in seen or not self.varies(node):
                continue
            seen.add(node)
            if isinstance(node, Apply) and node.op.id in ("raw_shr", "and", "or"):
                return True
            value = self.steady(node) if isinstance(node, Local) else None
            stack += node.args if value is None else (value,)
        return False

    def is_reversed(self, index: Expr) -> bool:
        """Whether lanes access neighbours from the last to the first."""
        pattern = self.pattern(index)
        if pattern is None or not can_address(index, pattern):
            return False
        return all(b - a == -1 for a, b in pairwise(pattern.offsets))

    def is_scaled(self, index: Expr) -> bool:
        """Whether lanes differ by multiples of a value that only the launch knows, such as the width of a matrix."""
        stack: list[Expr] = [index]
        seen: set[Expr] = set()
        while stack:
            node = stack.pop()
            if node in seen or not self.varies(node):
                continue
            seen.add(node)
            match node:
                case Local():
                    value = self.steady(node)
                    stack += () if value is None else (value,)
                case Cast():
                    stack.append(node.value)
                case Apply(op, args) if op.id == "add":
                    stack += args
                case Apply(op, (a, b)) if op.id == "mul" and self.pattern(node) is None:
                    if self.varies(a) != self.varies(b):
                        return True
        return False

    def steady(self, local: Local) -> Expr | None:
        """The value that an immutable local is bound to, if it is the same wherever it is computed."""
        value = self._lets.get(local.name)
        return value if value is not None and self.is_steady(value) else None

    def is_steady(self, root: Expr) -> bool:
        """Whether a value is the same wherever it is computed."""
        return not any(map(self._may_change, postorder((root,))))

    def advance(self, index: Expr, counter: Local, step: int) -> int:
        """By how much an index grows where the counter of a loop around it does so by `step`; 0 if that is not known.

        It ignores that sums wrap, so only prefetches may depend on it.
        """
        known: dict[Expr, int] = {counter: step}
        stack = [index]
        while stack:
            factor, terms = self._as_product(stack[-1])
            waiting = [term for term in terms if term not in known]
            if waiting:
                stack += waiting
            else:
                node = stack.pop()
                total, half = factor * sum(known[term] for term in terms), 1 << (node.dtype.bits - 1)
                known.setdefault(node, (total + half) % (2 * half) - half)
        return known[index]

    def _as_product(self, node: Expr) -> tuple[int, tuple[Expr, ...]]:
        """An index as a constant times a sum: the factor and the terms; no terms if it is anything else."""
        match node:
            case Local():
                value = self.steady(node)
                return 1, () if value is None else (value,)
            case Cast(_, value) if value.dtype.is_integer:
                return 1, (value,)
            case Apply(op, args) if op.id == "add":
                return 1, args
            case Apply(op, (a, Literal() as b)) | Apply(op, (Literal() as b, a)) if op.id == "mul":
                return b.bits, (a,)
            case Apply(op, (a, Literal() as b)) if op.id == "raw_shl":
                return 1 << b.bits, (a,)
            case _:
                return 1, ()

    def _may_change(self, node: Expr) -> bool:
        if isinstance(node, Load):
            return node.buffer.access is not Access.READ
        return isinstance(node, Local) and node.name in self._mutable

    def _found(self, node: Expr) -> Pattern | None:
        if not node.dtype.is_integer or node.dtype.is_signed:
            return None
        if isinstance(node, Literal):
            return Pattern(_EVERY, (node.bits,) * self.width, is_exact=True)
        if not self.varies(node):
            return Pattern(self.alignment(node), (0,) * self.width, is_exact=True)
        match node:
            case Local():
                value = self.steady(node)
                return None if value is None else self.pattern(value)
            case Cast(_, value) if value.dtype.is_integer and not value.dtype.is_signed:
                return self._cast(node, value)
            case Apply(op, (a, b)) if op.id in _RULES:
                p, q = self.pattern(a), self.pattern(b)
                if p is not None and q is not None:
                    return _RULES[op.id](self, node, p, q)
        return None

    def _counted(self, loop: For) -> Pattern | None:
        """How the counter of a loop differs that lanes begin apart, and count by the same steps.

        Where a lane goes on, no sum of lane 0 has wrapped: it is the least, though that lane may have left the loop.
        """
        p = self.pattern(loop.start)
        return p and Pattern(min(p.align, _lowest_bit(loop.step)), p.offsets, p.is_exact)

    def _cast(self, node: Expr, value: Expr) -> Pattern | None:
        p = self.pattern(value)
        if p is None or (node.dtype.bits > value.dtype.bits and not p.is_exact):
            return None
        return p if node.dtype.bits >= value.dtype.bits else Pattern(p.align, p.offsets, is_exact=False)

    def alignment(self, root: Expr) -> int:
        """A power of two that divides an unsigned value which is one for all lanes."""
        known = self._alignments
        stack = [root]
        while stack:
            parts = [part for part in self._parts(stack[-1]) if part not in known]
            if parts:
                stack += parts
            else:
                node = stack.pop()
                known[node] = self._alignment(node, [known[part] for part in self._parts(node)])
        return known[root]

    def _parts(self, node: Expr) -> tuple[Expr, ...]:
        """What the alignment of a value follows from."""
        match node:
            case Local():
                value = self._lets.get(node.name)
                return () if value is None else (value,)
            case Cast(_, value) if value.dtype.is_integer:
                return (value,)
            case Apply(op, args) if op.id in ("mul", "add", "sub", "min", "max"):
                return args
            case Apply(op, (a, Literal())) if op.id == "raw_shl":
                return (a,)
            case _:
                return ()

    @staticmethod
    def _alignment(node: Expr, parts: Sequence[int]) -> int:
        match node:
            case Literal():
                return _lowest_bit(node.bits)
            case Apply(op) if op.id == "mul":
                return min(_EVERY, parts[0] * parts[1])
            case Apply(op, (_, Literal() as count)) if op.id == "raw_shl":
                return min(_EVERY, parts[0] << count.bits)
            case _:
                return min(parts, default=1)

    # ── one operation ────────────────────────────────────────────────────────────────────────────────────────────────

    def _sum(self, node: Expr, align: int, offsets: tuple[int, ...], *, is_exact: bool) -> Pattern:
        """A sum or product; `is_exact`: its operands are."""
        fits = max(offsets) < min(align, 1 << node.dtype.bits) or self._bounds.of(node) <= node.dtype.highest
        return Pattern(align, offsets, is_exact=is_exact and fits)

    def _add(self, node: Expr, p: Pattern, q: Pattern) -> Pattern:
        offsets = tuple(a + b for a, b in zip(p.offsets, q.offsets, strict=True))
        return self._sum(node, min(p.align, q.align), offsets, is_exact=p.is_exact and q.is_exact)

    def _sub(self, node: Expr, p: Pattern, q: Pattern) -> Pattern | None:
        if q.is_uniform:
            return Pattern(min(p.align, q.align, _lowest_bit(q.offsets[0])), p.offsets, is_exact=False)
        a, b = node.args
        offsets = [x - y for x, y in zip(p.offsets, q.offsets, strict=True)]
        is_exact = q.is_exact and isinstance(a, Literal) and self._bounds.of(b) <= a.bits
        return Pattern(1, tuple(offset - min(offsets) for offset in offsets), is_exact)

    def _mul(self, node: Expr, p: Pattern, q: Pattern) -> Pattern | None:
        a, b = node.args
        if isinstance(a, Literal):
            p, q, b = q, p, a
        if not isinstance(b, Literal):
            return None
        align = min(_EVERY, p.align * _lowest_bit(b.bits))
        return self._sum(node, align, tuple(x * b.bits for x in p.offsets), is_exact=p.is_exact)

    def _shl(self, node: Expr, p: Pattern, q: Pattern) -> Pattern | None:
        count = node.args[1]
        if not isinstance(count, Literal):
            return None
        align = min(_EVERY, p.align << count.bits)
        return self._sum(node, align, tuple(x << count.bits for x in p.offsets), is_exact=p.is_exact)

    def _shr(self, node: Expr, p: Pattern, q: Pattern) -> Pattern | None:
        count = node.args[1]
        if not isinstance(count, Literal) or not p.is_exact:
            return None
        if p.align < 1 << count.bits:  # lanes differ in bits that are shifted out
            return Pattern(1, (0,) * self.width, is_exact=True) if max(p.offsets) < p.align else None
        return Pattern(p.align >> count.bits, tuple(x >> count.bits for x in p.offsets), is_exact=True)

    def _and(self, node: Expr, p: Pattern, q: Pattern) -> Pattern | None:
        a, b = node.args
        if isinstance(a, Literal):
            p, q, b = q, p, a
        if not isinstance(b, Literal) or b.bits & (b.bits + 1):
            return None
        if p.align <= b.bits:
            return Pattern(p.align, p.offsets, is_exact=True) if max(p.offsets) < p.align else None
        return Pattern(_EVERY, tuple(x & b.bits for x in p.offsets), is_exact=True)

    def _or(self, node: Expr, p: Pattern, q: Pattern) -> Pattern | None:
        """Like a sum where no bit is in both."""
        a, b = node.args
        for own, other, small in ((p, q, b), (q, p, a)):
            if not any(own.offsets) and own.is_exact and other.is_exact and self._bounds.of(small) < own.align:
                return Pattern(min(own.align, other.align), other.offsets, is_exact=True)
        if p.align != _EVERY:
            p, q = q, p
        pairs = tuple(zip(p.offsets, q.offsets, strict=True))
        if p.align != _EVERY or not q.is_exact or any(a & b or a >= q.align or b >= q.align for a, b in pairs):
            return None
        return Pattern(q.align, tuple(a + b for a, b in pairs), is_exact=True)


_RULES = {
    "add": VectorLanes._add,
    "sub": VectorLanes._sub,
    "mul": VectorLanes._mul,
    "raw_shl": VectorLanes._shl,
    "raw_shr": VectorLanes._shr,
    "and": VectorLanes._and,
    "or": VectorLanes._or,
}


def _lowest_bit(number: int) -> int:
    return number & -number or _EVERY


def can_address(index: Expr, pattern: Pattern | None) -> bool:
    """Whether addresses differ from lane to lane as the index does: it is of an address's width, or does not wrap."""
    return pattern is not None and (pattern.is_exact or index.dtype is u64)
