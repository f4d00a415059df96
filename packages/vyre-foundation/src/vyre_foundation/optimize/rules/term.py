"""The language of equations: terms over variables, written with Python's operators.

x + (c - x)                     a sum; `x` stands for any expression, `c` for any literal
select(p, x, y)                 `p` stands for any condition
cast("B", cast("A", x))         "A" and "B" stand for types; all values without a type of their own have type "T"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ir.expr import Bitcast, Cast, Expr, Literal, Select, literal
from vyre_foundation.ops import OPS, Op
from vyre_foundation.ops.definition import Result
from vyre_foundation.ops.signs import ATOM, INFIX, UNARY

TypeName = str | DType
"""A type, or the name of one that a rule leaves open."""

Symbol = Op | type[Expr]
"""What an inner node is: a row of the op table, `Select`, `Cast` or `Bitcast`."""


class Term:
    """Base of the terms. Python's comparisons make terms too, but `==` does not: that is `eq`."""

    __slots__ = ()

    # fmt: off
    def __add__(self, other: Operand) -> Node: return op("add", self, other)
    def __radd__(self, other: Operand) -> Node: return op("add", other, self)
    def __sub__(self, other: Operand) -> Node: return op("sub", self, other)
    def __rsub__(self, other: Operand) -> Node: return op("sub", other, self)
    def __mul__(self, other: Operand) -> Node: return op("mul", self, other)
    def __rmul__(self, other: Operand) -> Node: return op("mul", other, self)
    def __truediv__(self, other: Operand) -> Node: return op("div", self, other)
    def __rtruediv__(self, other: Operand) -> Node: return op("div", other, self)
    def __mod__(self, other: Operand) -> Node: return op("rem", self, other)
    def __rmod__(self, other: Operand) -> Node: return op("rem", other, self)
    def __and__(self, other: Operand) -> Node: return op("and", self, other)
    def __or__(self, other: Operand) -> Node: return op("or", self, other)
    def __xor__(self, other: Operand) -> Node: return op("xor", self, other)
    def __lshift__(self, other: Operand) -> Node: return op("shl", self, other)
    def __rlshift__(self, other: Operand) -> Node: return op("shl", other, self)
    def __rshift__(self, other: Operand) -> Node: return op("shr", self, other)
    def __rrshift__(self, other: Operand) -> Node: return op("shr", other, self)
    def __invert__(self) -> Node: return op("not", self)
    def __neg__(self) -> Node: return op("neg", self)
    def __lt__(self, other: Operand) -> Node: return op("lt", self, other)
    def __le__(self, other: Operand) -> Node: return op("le", self, other)
    def __gt__(self, other: Operand) -> Node: return op("gt", self, other)
    def __ge__(self, other: Operand) -> Node: return op("ge", self, other)
    # fmt: on

    def __str__(self) -> str:
        return shown(self)


@dataclass(frozen=True, slots=True, eq=False, order=False)
class Variable(Term):
    """Any expression of a type, or any literal of it. The same variable always stands for the same expression."""

    name: str
    type: TypeName = "T"
    is_literal: bool = False


@dataclass(frozen=True, slots=True, eq=False, order=False)
class Number(Term):
    """A literal of the type that its place demands: of a number, or of a name in `_NAMED`."""

    value: int | float | str
    _known: dict[DType, Literal | None] = field(default_factory=dict, repr=False)

    def of(self, dtype: DType) -> Literal | None:
        """The literal of this number in a type; None if the type does not hold it."""
        if dtype not in self._known:
            value: Any = _NAMED[self.value](dtype) if isinstance(self.value, str) else self.value
            holds = dtype.is_float or dtype.lowest <= value <= dtype.highest
            self._known[dtype] = literal(dtype, value) if holds else None
        return self._known[dtype]


@dataclass(frozen=True, slots=True, eq=False, order=False)
class Node(Term):
    """A symbol over terms; a conversion also says `to` what."""

    symbol: Symbol
    args: tuple[Term, ...]
    to: TypeName | None = None


Operand = Term | int | float | str


def term(value: Operand) -> Term:
    """The value itself, or the `Number` of it."""
    return value if isinstance(value, Term) else Number(value)


def values(names: str, type: TypeName = "T") -> Iterator[Variable]:
    """Variables for any expressions of a type."""
    return (Variable(name, type) for name in names.split())


def literals(names: str, type: TypeName = "T") -> Iterator[Variable]:
    """Variables for any literals of a type."""
    return (Variable(name, type, is_literal=True) for name in names.split())


x, y, z = values("x y z")
c, d = literals("c d")
p, q = values("p q", bool_)

TRUE, FALSE = Number(True), Number(False)


def op(id: str, *operands: Operand) -> Node:
    """A row of the op table over terms."""
    return Node(OPS[id], tuple(map(term, operands)))


def eq(a: Operand, b: Operand) -> Node:
    return op("eq", a, b)


def ne(a: Operand, b: Operand) -> Node:
    return op("ne", a, b)


def least(a: Operand, b: Operand) -> Node:
    return op("min", a, b)


def greatest(a: Operand, b: Operand) -> Node:
    return op("max", a, b)


def select(condition: Operand, if_true: Operand, if_false: Operand) -> Node:
    return Node(Select, (term(condition), term(if_true), term(if_false)))


def cast(to: TypeName, value: Operand) -> Node:
    return Node(Cast, (term(value),), to)


def bitcast(to: TypeName, value: Operand) -> Node:
    return Node(Bitcast, (term(value),), to)


# ── types and numbers ────────────────────────────────────────────────────────────────────────────────────────────────

_NAMED: dict[str, Callable[[DType], int]] = {
    "ones": lambda t: -1 if t.is_signed else t.highest,
    "lowest": lambda t: t.lowest,
    "highest": lambda t: t.highest,
    "width - 1": lambda t: t.bits - 1,
}


def type_of(term: Term) -> TypeName | None:
    """The type of a term; None for a number, which has that of its place."""
    match term:
        case Variable():
            return term.type
        case Node(symbol=Op()):
            assert isinstance(term.symbol, Op)
            return bool_ if term.symbol.result is Result.BOOL else operand_type(term)
        case Node(to=None):
            return operand_type(term, 1)
        case Node():
            return term.to
        case _:
            return None


def operand_type(node: Node, first: int = 0) -> TypeName | None:
    """The one type of the operands of `node`, the arms' for a select; None if all are numbers."""
    found = (type_of(arg) for arg in node.args[first:])
    return next((type for type in found if type is not None), None)


def variables(term: Term) -> list[Variable]:
    """Each variable of a term once, from left to right."""
    if isinstance(term, Variable):
        return [term]
    found = [v for arg in term.args for v in variables(arg)] if isinstance(term, Node) else []
    return list(dict.fromkeys(found))


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_PREFIX = {"not": "~", "neg": "-"}


def shown(term: Term, binding: int = 0) -> str:
    """The term as Python writes it, in parentheses where its place binds more tightly."""
    match term:
        case Variable():
            return term.name
        case Number():
            return str(term.value).lower()
        case Node(symbol=Op() as row, args=args) if row.id in _PREFIX:
            text, own = _PREFIX[row.id] + shown(args[0], UNARY), UNARY
        case Node(symbol=Op() as row, args=args) if row.id in INFIX:
            sign, own = INFIX[row.id]
            text = f"{shown(args[0], UNARY)} {sign} {shown(args[1], UNARY)}"
        case Node(symbol=symbol, args=args, to=to):
            name = symbol.id if isinstance(symbol, Op) else symbol.__name__.lower()
            name = name if to is None else str(to) if symbol is Cast else f"bitcast<{to}>"
            text, own = f"{name}({', '.join(map(shown, args))})", ATOM
        case _:
            raise AssertionError(term)
    return text if own >= binding else f"({text})"
