"""Rules: two terms that are equal, for which types, and under which conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from vyre_foundation.cached import cached_property
from vyre_foundation.dtype import DTYPES, FLOATS, INTEGERS, NUMBERS, SIGNED, UNSIGNED, DType, bool_
from vyre_foundation.ops import OPS, Op
from vyre_foundation.ops.scalar import Scalar, cast, to_bits
from vyre_foundation.optimize.rules.term import Node, Number, Term, Variable, operand_type, shown, term


class Types:
    """The types for which a rule holds: `accept` says so of types for `names`, in this order."""

    def __init__(self, text: str, names: str, accept: Callable[..., bool]) -> None:
        self.text, self.names, self._accept = text, tuple(names.split()), accept

    @cached_property
    def accepted(self) -> frozenset[tuple[DType, ...]]:
        """The types for which the rule holds, each in the order of the names."""
        choices = product(DTYPES, repeat=len(self.names))
        return frozenset(types for types in choices if self._accept(*types))

    def assignments(self) -> Iterator[dict[str, DType]]:
        """Every choice of types, in the order of the type table."""
        order = {dtype: number for number, dtype in enumerate(DTYPES)}
        for types in sorted(self.accepted, key=lambda types: [order[t] for t in types]):
            yield dict(zip(self.names, types, strict=True))


def any_of(text: str, dtypes: tuple[DType, ...]) -> Types:
    return Types(text, "T", dtypes.__contains__)


INTEGER = any_of("integers", INTEGERS)
SIGNED_INTEGER = any_of("signed integers", SIGNED)
UNSIGNED_INTEGER = any_of("unsigned integers", UNSIGNED)
BITS = any_of("bool, integers", (bool_, *INTEGERS))
BOOL = any_of("bool", (bool_,))
FLOAT = any_of("floats", FLOATS)
NUMBER = any_of("numbers", NUMBERS)
ANY = any_of("all types", DTYPES)


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class Holds:
    """A comparison of unbounded integers. A rewrite is sure of it where ranges prove it."""

    comparison: Node

    def __str__(self) -> str:
        return str(self.comparison)


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """The term, over unbounded integers, is a value of a type: it does not wrap."""

    term: Term
    type: str = "T"

    def __str__(self) -> str:
        return f"{self.term} fits {self.type}"


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A property of the type and the value of a literal."""

    text: str
    variable: Variable
    accept: Callable[[DType, Scalar], bool]

    def __str__(self) -> str:
        return f"{self.variable.name} {self.text}"


@dataclass(frozen=True, slots=True, eq=False)
class Survives:
    """A literal is a number that another type holds too."""

    variable: Variable
    type: str

    def __str__(self) -> str:
        return f"{self.variable.name} is a value of {self.type}"

    def accept(self, dtype: DType, other: DType, value: Scalar) -> bool:
        """Whether `value` of `dtype` is the same after a conversion to `other` and back."""
        return value == value and to_bits(dtype, cast(other, dtype, cast(dtype, other, value))) == to_bits(dtype, value)


Condition = Holds | Fits | Test | Survives


# ── rules ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, eq=False)
class RewriteRule:
    """`left` equals `right`, bit for bit, for all values of all variables that meet `where`, in all of `types`."""

    types: Types
    left: Node
    right: Term
    where: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        conditions = f"  where {', '.join(map(str, self.where))}" if self.where else ""
        return f"{shown(self.left)}  →  {shown(self.right)}{conditions}"

    @property
    def lefts(self) -> list[Node]:
        """The left side with the operands of commutative ops in every order in which they can be met."""
        return _orders(self.left)


def rule(types: Types, left: Node, right: Term | float | str, *where: Node | Condition) -> RewriteRule:
    """A rule; a comparison among the conditions speaks of unbounded integers."""
    return RewriteRule(types, left, term(right), tuple(Holds(w) if isinstance(w, Node) else w for w in where))


COMMUTATIVE = tuple(op for op in OPS.values() if all(op.laws_for(dtype).commutative for dtype in op.accepts))


def _orders(node: Node) -> list[Node]:
    """A literal is met on the right only: `literals to the right` is a rule of its own."""
    orders = [_orders(arg) if isinstance(arg, Node) else [arg] for arg in node.args]
    found = [Node(node.symbol, args, node.to) for args in product(*orders)]
    first, last = node.args[0], node.args[-1]
    if node.symbol in COMMUTATIVE and first is not last and not (is_literal(first) or is_literal(last)):
        found += [Node(node.symbol, args[::-1], node.to) for args in product(*orders)]
    return found


def is_literal(term: Term) -> bool:
    return isinstance(term, Number) or (isinstance(term, Variable) and term.is_literal)


def operands_are(rule: RewriteRule, dtype: DType) -> bool:
    """Whether the operands of the left side can be of this type."""
    type = operand_type(rule.left) if isinstance(rule.left.symbol, Op) else None
    if isinstance(type, DType):
        return type is dtype
    return type is None or rule.types.names != ("T",) or (dtype,) in rule.types.accepted
