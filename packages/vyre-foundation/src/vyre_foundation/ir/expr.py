"""Expressions: pure values, interned, and well typed by construction.

Structurally equal expressions are one object, so equality is identity, a shared subexpression exists once, and every
walk is over a graph, not a tree. The children of any expression are its `args`; `rebuild(args)` makes the same node
over other children. A constructor refuses operands that the op does not accept, so there is no ill-typed expression.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Hashable
from enum import Enum
from sys import getrefcount
from typing import Any, ClassVar

from vyre_foundation.dtype import DType, bool_, u32
from vyre_foundation.errors import LiteralOutOfRange, TypeMismatch
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.integer import integer
from vyre_foundation.ops.definition import Op
from vyre_foundation.ops.scalar import Scalar, from_bits, round_float, round_rational, to_bits


class Expr:
    """Base of the expressions: a type and children. Compare with ``is``."""

    __slots__ = ("args", "dtype")

    dtype: DType
    args: tuple[Expr, ...]

    _draft: ClassVar[Any]
    """The class that an expression has while its constructor writes it: the same slots, and nothing guards them. The
    constructor ends with a change of class. That takes half the time of writing through the guard."""

    def __init_subclass__(cls) -> None:
        if not cls.__name__.startswith("_"):
            slots = {"__slots__": cls.__dict__["__slots__"], "__setattr__": object.__setattr__}
            cls._draft = type(f"_{cls.__name__}", (Expr,), slots)

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        """This node over other children (itself if they are the same)."""
        raise TypeError(f"{type(self).__name__} has no children to replace")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("expressions are immutable. Fix: build a new one")

    def __repr__(self) -> str:
        from vyre_foundation.text import format_expr

        return format_expr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        from vyre_foundation.wire import decode_expr, encode_expr

        return decode_expr, (encode_expr(self),)


# ── Interning ────────────────────────────────────────────────────────────────────────────────────────────────────────
# One table holds every expression, by a tuple of all that tells it from others. Those that only the table refers to are
# removed when it has doubled: one pass from the newest to the oldest sees parents before children, so it frees whole
# graphs, without recursion.
#
# Looking up and entering take no lock, because each is one operation of a dictionary. While a sweep decides about an
# entry, the entry is False, so that nobody can find an expression that is about to go; who comes then waits.

_live: dict[Hashable, Any] = {}
_lock = threading.RLock()
_SMALL = 1 << 17
_sweep_at = _SMALL


def _enter(key: tuple[Any, ...], node: Any, dtype: DType, args: tuple[Expr, ...]) -> Any:
    """Finish the draft `node` of the kind ``key[0]`` and enter it for `key`, unless another thread was first."""
    node.dtype, node.args = dtype, args
    node.__class__ = key[0]
    if len(_live) > _sweep_at:
        _sweep()
    return _live.setdefault(key, node) or _settled(key, node)


def _settled(key: Hashable, node: Expr) -> Any:
    """The one expression for `key`, once a sweep has decided about it."""
    with _lock:
        return _live.setdefault(key, node)


def sweep_if_due() -> None:
    """Sweep if the table has doubled. Applications to two operands, of which most programs are made, do not ask when
    they are entered, but everything else does, and so does the code of a program: nothing can come of those without
    either."""
    if len(_live) > _sweep_at:
        _sweep()


def _sweep() -> None:
    """Forget the expressions that only the table refers to."""
    global _sweep_at
    with _lock:
        keys = list(_live)
        while keys:  # each is dropped before the next, because it too refers to the operands
            key = keys.pop()
            if getrefcount(_live[key]) == _ONLY_THE_TABLE:
                node = _live[key]
                _live[key] = False
                if getrefcount(node) == _ONLY_A_LOCAL:
                    del _live[key]
                else:  # another thread has just looked it up
                    _live[key] = node
                del node  # or its operands would still have a parent when it is their turn
        _sweep_at = max(_SMALL, 2 * len(_live))


def _refcounts_of_nothing() -> tuple[int, int]:
    """What `getrefcount` says of an object that only a dictionary holds, and of one that only a local holds."""
    table = {0: object()}
    held_by_table = getrefcount(table[0])
    local = table.pop(0)
    return held_by_table, getrefcount(local)


_ONLY_THE_TABLE, _ONLY_A_LOCAL = _refcounts_of_nothing()


def interned_count() -> int:
    """How many expressions are alive after a sweep (for tests and diagnostics)."""
    with _lock:
        _sweep()
        return len(_live)


class Literal(Expr):
    """A constant, kept as the bits that memory would hold."""

    __slots__ = ("bits",)
    __match_args__ = ("dtype", "bits")

    bits: int

    def __new__(cls, dtype: DType, bits: int) -> Literal:
        if bits.__class__ is not int:
            bits = integer(f"literal of {dtype}", "bits", bits)
        return pattern(dtype, bits)

    @property
    def value(self) -> Scalar:
        """The value of the bits as a Python bool, int or float."""
        return from_bits(self.dtype, self.bits)


def pattern(dtype: DType, bits: int) -> Literal:
    """What `Literal(dtype, bits)` is, in less time: Python is slow to call a class."""
    key = (Literal, dtype, bits)
    known = _live.get(key)
    if known:
        return known  # type: ignore[no-any-return]
    if bits >> dtype.bits:  # also if it is negative
        raise LiteralOutOfRange(f"{bits:#x} is not a pattern of {dtype.bits} bits", fix="mask the bits")
    node = Literal._draft()
    node.bits = bits
    return _enter(key, node, dtype, ())  # type: ignore[no-any-return]


class Local(Expr):
    """The current value of a local that a `Let`, `Var`, `For` or a result name declares."""

    __slots__ = ("name",)
    __match_args__ = ("name", "dtype")

    name: str

    def __new__(cls, name: str, dtype: DType) -> Local:
        key = (cls, name, dtype)
        known = _live.get(key)
        if known:
            return known  # type: ignore[no-any-return]
        self = cls._draft()
        self.name = name
        return _enter(key, self, dtype, ())  # type: ignore[no-any-return]


class Load(Expr):
    """The element of `buffer` at `index`, or 0 out of bounds. `checked=False`: a legalizer has proven the bounds."""

    __slots__ = ("buffer", "checked")
    __match_args__ = ("buffer", "index")

    buffer: Buffer
    checked: bool

    def __new__(cls, buffer: Buffer, index: Expr, *, checked: bool = True) -> Load:
        key = (cls, buffer, index, checked)
        known = _live.get(key)
        if known:
            return known  # type: ignore[no-any-return]
        require_index(buffer, index)
        self = cls._draft()
        self.buffer = buffer
        self.checked = checked
        return _enter(key, self, buffer.dtype, (index,))  # type: ignore[no-any-return]

    @property
    def index(self) -> Expr:
        return self.args[0]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        return Load(self.buffer, *args, checked=self.checked)


class Length(Expr):
    """The element count of `buffer` that is bound at launch, as u32."""

    __slots__ = ("buffer",)
    __match_args__ = ("buffer",)

    buffer: Buffer

    def __new__(cls, buffer: Buffer) -> Length:
        key = (cls, buffer)
        known = _live.get(key)
        if known:
            return known  # type: ignore[no-any-return]
        self = cls._draft()
        self.buffer = buffer
        return _enter(key, self, u32, ())  # type: ignore[no-any-return]


class IdKind(Enum):
    """The values that tell an invocation where it is. All are u32."""

    __hash__ = object.__hash__  # members are single objects; `Enum` would hash their names in Python

    GLOBAL_ID = "global_id"
    LOCAL_ID = "local_id"
    WORKGROUP_ID = "workgroup_id"
    NUM_WORKGROUPS = "num_workgroups"
    SUBGROUP_LANE = "subgroup_lane"
    SUBGROUP_SIZE = "subgroup_size"

    has_axis: bool

    def __init__(self, word: str) -> None:
        self.has_axis = not word.startswith("subgroup")


class Id(Expr):
    """One coordinate of the invocation; `axis` is 0, 1 or 2 (0 where the kind has no axes)."""

    __slots__ = ("axis", "kind")
    __match_args__ = ("kind", "axis")

    kind: IdKind
    axis: int

    def __new__(cls, kind: IdKind, axis: int = 0) -> Id:
        if axis.__class__ is not int:
            axis = integer(kind.value, "axis", axis)
        key = (cls, kind, axis)
        known = _live.get(key)
        if known:
            return known  # type: ignore[no-any-return]
        if not 0 <= axis < (3 if kind.has_axis else 1):
            raise TypeMismatch(f"{kind.value} has no axis {axis}", fix="use axis 0, 1 or 2, and 0 for subgroup values")
        self = cls._draft()
        self.kind = kind
        self.axis = axis
        return _enter(key, self, u32, ())  # type: ignore[no-any-return]


class _Application(Expr):
    """The draft of `Apply`, below it: most expressions are applications, and their change of class has less to compare
    than that of others."""

    __slots__ = ("op",)
    __setattr__ = object.__setattr__  # type: ignore[assignment]

    op: Op


class Apply(_Application):
    """A row of the op table applied to operands of one type."""

    __slots__ = ()
    __setattr__ = Expr.__setattr__
    __match_args__ = ("op", "args")

    def __new__(cls, op: Op, *args: Expr) -> Apply:
        return applied(op, args)

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        return applied(self.op, args)


def applied(op: Op, args: tuple[Expr, ...]) -> Apply:
    """What `Apply(op, *args)` is, in less time: Python is slow to call a class."""
    if len(args) == 2 == op.arity:
        return binary(op, args[0], args[1])
    key = (Apply, op, *args)
    known = _live.get(key)
    if known:
        return known  # type: ignore[no-any-return]
    node = _Application()
    node.op = op
    return _enter(key, node, result_type(op, args), args)  # type: ignore[no-any-return]


def binary(op: Op, first: Expr, second: Expr) -> Apply:
    """The application of an op of two operands, which most of a program are.

    Nearly all are new, so it does not look before it enters one. Operands are seldom those of two of them, so the first
    is entered by its operands alone, a tuple that exists anyway, and others by op and first, which stays while they do.
    """
    operand = first.dtype
    if second.dtype is not operand or operand not in op.results:
        raise _ill_typed(op, (first, second))
    args = first, second
    node = _Application()
    node.op, node.args, node.dtype = op, args, op.results[operand]
    node.__class__ = Apply
    known = _live.setdefault(args, node)
    if known is node:
        return node  # type: ignore[no-any-return]
    known = known or _settled(args, node)
    return known if known.op is op else _applied_too(op, known)


def _applied_too(op: Op, first: Apply) -> Apply:
    """The application of `op` to the operands of `first`, which is that of another op."""
    key = Apply, op, first
    known = _live.get(key)
    if known:
        return known  # type: ignore[no-any-return]
    node = _Application()
    node.op = op
    return _enter(key, node, result_type(op, first.args), first.args)  # type: ignore[no-any-return]


def known_binary(op: Op, args: tuple[Expr, ...]) -> Apply | None:
    """The application of an op of two operands, if somebody has made it."""
    first = _live.get(args)
    if not first or first.op is op:
        return first or None
    return _live.get((Apply, op, first)) or None


class Select(Expr):
    """`if_true` where `condition` holds, else `if_false`. Both are evaluated, which nobody can observe."""

    __slots__ = ()
    __match_args__ = ("condition", "if_true", "if_false")

    def __new__(cls, condition: Expr, if_true: Expr, if_false: Expr) -> Select:
        key = (cls, condition, if_true, if_false)
        known = _live.get(key)
        if known:
            return known  # type: ignore[no-any-return]
        if condition.dtype is not bool_ or if_true.dtype is not if_false.dtype:
            raise TypeMismatch(
                f"select got ({condition.dtype}, {if_true.dtype}, {if_false.dtype}), expected (bool, T, T)",
                fix="compare to get a bool, and cast the arms to one type",
            )
        return _enter(key, cls._draft(), if_true.dtype, (condition, if_true, if_false))  # type: ignore[no-any-return]

    @property
    def condition(self) -> Expr:
        return self.args[0]

    @property
    def if_true(self) -> Expr:
        return self.args[1]

    @property
    def if_false(self) -> Expr:
        return self.args[2]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        return Select(*args)


class Cast(Expr):
    """`value` converted to `dtype` (see `ops.scalar.cast`). `checked=False`: a legalizer has proven that it fits."""

    __slots__ = ("checked",)
    __match_args__ = ("dtype", "value")

    checked: bool

    def __new__(cls, dtype: DType, value: Expr, *, checked: bool = True) -> Cast:
        key = (cls, dtype, value, checked)
        known = _live.get(key)
        if known:
            return known  # type: ignore[no-any-return]
        self = cls._draft()
        self.checked = checked
        return _enter(key, self, dtype, (value,))  # type: ignore[no-any-return]

    @property
    def value(self) -> Expr:
        return self.args[0]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        return Cast(self.dtype, *args, checked=self.checked)


class Bitcast(Expr):
    """The bits of `value` read as `dtype`, which has the same width; a NaN shows its canonical bits."""

    __slots__ = ()
    __match_args__ = ("dtype", "value")

    def __new__(cls, dtype: DType, value: Expr) -> Bitcast:
        key = (cls, dtype, value)
        known = _live.get(key)
        if known:
            return known  # type: ignore[no-any-return]
        if dtype.bits != value.dtype.bits or (dtype is bool_) != (value.dtype is bool_):
            raise TypeMismatch(
                f"bitcast got {value.dtype} ({value.dtype.bits} bits), expected one of {dtype.bits} bits, as {dtype}",
                fix="cast to change the width, bitcast to keep it",
            )
        return _enter(key, cls._draft(), dtype, (value,))  # type: ignore[no-any-return]

    @property
    def value(self) -> Expr:
        return self.args[0]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        return Bitcast(self.dtype, *args)


class Call(Expr):
    """An op of a dialect, by id; `dtype` is what its signature gives for these operands."""

    __slots__ = ("callee",)
    __match_args__ = ("callee", "args")

    callee: str

    def __new__(cls, callee: str, dtype: DType, *args: Expr) -> Call:
        key = (cls, callee, dtype, *args)
        known = _live.get(key)
        if known:
            return known  # type: ignore[no-any-return]
        self = cls._draft()
        self.callee = callee
        return _enter(key, self, dtype, args)  # type: ignore[no-any-return]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        return Call(self.callee, self.dtype, *args)


ExprNode = Literal | Local | Load | Length | Id | Apply | Select | Cast | Bitcast | Call
"""Every kind of expression, for exhaustive matches."""


_LARGEST_SMALL = 127

SMALL_LITERALS: defaultdict[DType, dict[int, Literal]] = defaultdict(dict)
"""Literals of small integers, by type and value. They are kept, as Python keeps its own."""


def literal(dtype: DType, value: Scalar) -> Literal:
    """The literal of `value` in `dtype`; a float is rounded, an integer out of range is refused."""
    if value.__class__ is int and dtype.is_integer and 0 <= value <= dtype.highest:  # nearly always
        if value > _LARGEST_SMALL:
            return pattern(dtype, value)
        return SMALL_LITERALS[dtype].get(value) or SMALL_LITERALS[dtype].setdefault(value, pattern(dtype, value))
    if dtype.is_float:
        if isinstance(value, float) or abs(value) <= 2**53:
            return pattern(dtype, to_bits(dtype, round_float(dtype, float(value))))
        from fractions import Fraction  # 2 ms that few programs need

        return pattern(dtype, to_bits(dtype, round_rational(dtype, Fraction(value))))
    if not dtype.lowest <= value <= dtype.highest or value != int(value):
        raise LiteralOutOfRange(
            f"{value!r} is not a value of {dtype}", fix=f"use {dtype.lowest} … {dtype.highest}, or another type"
        )
    return pattern(dtype, int(value) & (1 << dtype.bits) - 1)


def result_type(op: Op, args: tuple[Expr, ...]) -> DType:
    """The type of `op` over `args`, or `TypeMismatch` naming got and expected."""
    if len(args) == op.arity:
        operand = args[0].dtype
        if operand in op.results and (len(args) == 1 or args[1].dtype is operand is args[-1].dtype):
            return op.results[operand]
    raise _ill_typed(op, args)


def _ill_typed(op: Op, args: tuple[Expr, ...]) -> TypeMismatch:
    """What is wrong with `op` over `args`."""
    got = ", ".join(a.dtype.name for a in args)
    if len(args) != op.arity:
        return TypeMismatch(f"{op.id} got {len(args)} operands ({got}), expected {op.arity}", fix="pass all operands")
    if any(a.dtype is not args[0].dtype for a in args):
        return TypeMismatch(
            f"{op.id} got ({got}), expected operands of one type", fix=f"cast to {args[0].dtype} or another"
        )
    accepted = " ".join(t.name for t in op.accepts)
    return TypeMismatch(f"{op.id} got {got}, expected one of {accepted}", fix="cast the operand first")


def require_index(buffer: Buffer, index: Expr) -> None:
    """Refuse an index that is not an integer."""
    if not index.dtype.is_integer:
        raise TypeMismatch(
            f"the index of {buffer.name!r} got {index.dtype}, expected an integer type", fix="cast the index to u32"
        )
