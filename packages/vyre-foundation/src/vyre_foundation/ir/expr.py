"""Expressions: pure values, hash-consed, and well typed by construction.

Structurally equal expressions are one object, so equality is identity, a shared subexpression exists once, and every
walk is over a graph, not a tree. The children of any expression are its `args`; `rebuild(args)` makes the same node
over other children. A constructor refuses operands that the op does not accept, so there is no ill-typed expression.
"""

from __future__ import annotations

import threading
from enum import Enum
from fractions import Fraction
from typing import Any
from weakref import WeakValueDictionary

from vyre_foundation.dtype import DType, bool_, u32, widest
from vyre_foundation.errors import LiteralOutOfRange, TypeMismatch
from vyre_foundation.ir.argument import require, shown
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.integer import integer
from vyre_foundation.locks import ForkGuard
from vyre_foundation.ops.definition import Op
from vyre_foundation.ops.scalar import Scalar, from_bits, round_float, round_rational, to_bits


class Expr:
    """Base of the expressions: a type and children. Compare with ``is``."""

    __slots__ = ("__weakref__", "args", "dtype")

    dtype: DType
    args: tuple[Expr, ...]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        """This node over other children (itself if they are the same)."""
        raise TypeError(f"{type(self).__name__} has no children to replace")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("expressions are immutable. Fix: build a new one")


# ── Interning ────────────────────────────────────────────────────────────────────────────────────────────────────────
# A weak table has every live expression by its class and all that distinguishes it from others of the class.

_table: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()
_guard = ForkGuard(threading.RLock)
"""Held while an expression enters the table. Lookups need none; a finalizer that builds expressions may reenter."""

_set = object.__setattr__


def _enter(key: tuple[Any, ...], node: Any, dtype: DType, args: tuple[Expr, ...]) -> Any:
    """`node`, complete with its type and operands, or the one that another thread has entered for `key` meanwhile."""
    _set(node, "dtype", dtype)
    _set(node, "args", args)
    with _guard.lock:
        return _table.setdefault(key, node)


def _known(key: tuple[Any, ...]) -> Any:
    """The live expression of `key`, or None, as where a part has no hash: constructors then refuse it by name."""
    try:
        return _table.get(key)
    except TypeError:
        return None


def interned(op: Op, args: tuple[Expr, ...]) -> Apply | None:
    """The application of `op` to `args` if it is alive."""
    return _table.get((Apply, op, *args))


def interned_count() -> int:
    """How many expressions are alive (for tests and diagnostics)."""
    return len(_table)


class Literal(Expr):
    """A constant, stored as the bits that memory would hold."""

    __slots__ = ("bits",)
    __match_args__ = ("dtype", "bits")

    bits: int

    def __new__(cls, dtype: DType, bits: int) -> Literal:
        """Give the literal whose bit pattern is `bits`, at most as many as the type has."""
        if bits.__class__ is not int:
            bits = integer(f"literal of {dtype}", "bits", bits)
        key = (cls, dtype, bits)
        known = _known(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        require(cls, DType, dtype)
        if bits >> dtype.bits:  # also if it is negative
            raise LiteralOutOfRange(f"{bits:#x} is not a pattern of {dtype.bits} bits", fix="mask the bits")
        self = object.__new__(cls)
        _set(self, "bits", bits)
        return _enter(key, self, dtype, ())  # type: ignore[no-any-return]

    @property
    def value(self) -> Scalar:
        """The value of the bits as a Python bool, int or float."""
        return from_bits(self.dtype, self.bits)


class Local(Expr):
    """The current value of a local that a `Let`, `Var`, `For` or a result name declares."""

    __slots__ = ("name",)
    __match_args__ = ("name", "dtype")

    name: str

    def __new__(cls, name: str, dtype: DType) -> Local:
        """Give the reference to a local. Whether it is declared, with this type, is checked by the validator."""
        key = (cls, name, dtype)
        known = _known(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        require(cls, str, name)
        require(cls, DType, dtype)
        self = object.__new__(cls)
        _set(self, "name", name)
        return _enter(key, self, dtype, ())  # type: ignore[no-any-return]


class Load(Expr):
    """The element of `buffer` at `index`, or 0 out of bounds. `checked=False`: a legalizer has proven the bounds."""

    __slots__ = ("buffer", "checked")
    __match_args__ = ("buffer", "index")

    buffer: Buffer
    checked: bool

    def __new__(cls, buffer: Buffer, index: Expr, *, checked: bool = True) -> Load:
        """Give the load of an element. An unchecked one has no bounds check and is legal after legalization only."""
        key = (cls, buffer, index, checked)
        known = _known(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        require(cls, Buffer, buffer)
        require(cls, Expr, index)
        dtype = buffer.dtype
        require_index(buffer, index)
        self = object.__new__(cls)
        _set(self, "buffer", buffer)
        _set(self, "checked", checked)
        return _enter(key, self, dtype, (index,))  # type: ignore[no-any-return]

    @property
    def index(self) -> Expr:
        """The index of the element, of an integer type."""
        return self.args[0]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        """Give this load at another index, the only operand."""
        return Load(self.buffer, *args, checked=self.checked)


class Length(Expr):
    """The element count of `buffer` that is bound at launch, as u32."""

    __slots__ = ("buffer",)
    __match_args__ = ("buffer",)

    buffer: Buffer

    def __new__(cls, buffer: Buffer) -> Length:
        """Give the length of `buffer` in the launch, a u32."""
        key = (cls, buffer)
        known = _known(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        require(cls, Buffer, buffer)
        self = object.__new__(cls)
        _set(self, "buffer", buffer)
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
        """Give a position of the invocation; only ids of the grid and the workgroup have axes other than 0."""
        require(cls, IdKind, kind)
        if axis.__class__ is not int:
            axis = integer(kind.value, "axis", axis)
        key = (cls, kind, axis)
        known = _table.get(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        if not 0 <= axis < (3 if kind.has_axis else 1):
            raise TypeMismatch(f"{kind.value} has no axis {axis}", fix="use axis 0, 1 or 2, and 0 for subgroup values")
        self = object.__new__(cls)
        _set(self, "kind", kind)
        _set(self, "axis", axis)
        return _enter(key, self, u32, ())  # type: ignore[no-any-return]


class Apply(Expr):
    """A row of the op table applied to operands of one type."""

    __slots__ = ("op",)
    __match_args__ = ("op", "args")

    op: Op

    def __new__(cls, op: Op, *args: Expr) -> Apply:
        """Give the application of `op`; `TypeMismatch` unless the operands have one type that it accepts."""
        key = (cls, op, *args)
        try:
            known = _table.get(key)
            if known is not None:
                return known  # type: ignore[no-any-return]
            dtype = result_type(op, args)
        except (AttributeError, TypeError):
            require(cls, Op, op)
            require(cls, Expr, *args)
            raise
        given: tuple[object, ...] = args
        for arg in given:
            if not isinstance(arg, Expr):  # such as a buffer, which has a type too
                require(cls, Expr, arg)
        self = object.__new__(cls)
        _set(self, "op", op)
        return _enter(key, self, dtype, args)  # type: ignore[no-any-return]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        """Give this op over other operands, which may have another type."""
        return Apply(self.op, *args)


class Select(Expr):
    """`if_true` where `condition` holds, else `if_false`. Both are evaluated, which cannot be observed."""

    __slots__ = ()
    __match_args__ = ("condition", "if_true", "if_false")

    def __new__(cls, condition: Expr, if_true: Expr, if_false: Expr) -> Select:
        """Give the selection; `TypeMismatch` unless the condition is a bool and both arms have one type."""
        key = (cls, condition, if_true, if_false)
        known = _known(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        for arg in key[1:]:
            require(cls, Expr, arg)
        if condition.dtype is not bool_ or if_true.dtype is not if_false.dtype:
            raise TypeMismatch(
                f"select got ({condition.dtype}, {if_true.dtype}, {if_false.dtype}), expected (bool, T, T)",
                fix="compare to get a bool, and cast the arms to one type",
            )
        return _enter(key, object.__new__(cls), if_true.dtype, (condition, if_true, if_false))  # type: ignore[no-any-return]

    @property
    def condition(self) -> Expr:
        """The operand that chooses, a bool."""
        return self.args[0]

    @property
    def if_true(self) -> Expr:
        """The value where the condition holds."""
        return self.args[1]

    @property
    def if_false(self) -> Expr:
        """The value where the condition does not hold."""
        return self.args[2]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        """Give the selection over a condition and two arms."""
        return Select(*args)


class Cast(Expr):
    """`value` converted to `dtype` (see `ops.scalar.cast`). `checked=False`: a legalizer has proven that it fits."""

    __slots__ = ("checked",)
    __match_args__ = ("dtype", "value")

    checked: bool

    def __new__(cls, dtype: DType, value: Expr, *, checked: bool = True) -> Cast:
        """Give the conversion to `dtype`. An unchecked one does not saturate and is legal after legalization only."""
        key = (cls, dtype, value, checked)
        known = _known(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        require(cls, DType, dtype)
        require(cls, Expr, value)
        self = object.__new__(cls)
        _set(self, "checked", checked)
        return _enter(key, self, dtype, (value,))  # type: ignore[no-any-return]

    @property
    def value(self) -> Expr:
        """The operand, in its own type."""
        return self.args[0]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        """Give this conversion of another value, the only operand."""
        return Cast(self.dtype, *args, checked=self.checked)


class Bitcast(Expr):
    """The bits of `value` read as `dtype`, which has the same width; a NaN shows its canonical bits."""

    __slots__ = ()
    __match_args__ = ("dtype", "value")

    def __new__(cls, dtype: DType, value: Expr) -> Bitcast:
        """Give the bits of `value` as `dtype`.

        Raises:
            TypeMismatch: The widths differ, or one of the types is bool.
        """
        key = (cls, dtype, value)
        known = _known(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        require(cls, DType, dtype)
        require(cls, Expr, value)
        if dtype.bits != value.dtype.bits or (dtype is bool_) != (value.dtype is bool_):
            raise TypeMismatch(
                f"bitcast got {value.dtype} ({value.dtype.bits} bits), expected one of {dtype.bits} bits, as {dtype}",
                fix="cast to change the width, bitcast to keep it",
            )
        return _enter(key, object.__new__(cls), dtype, (value,))  # type: ignore[no-any-return]

    @property
    def value(self) -> Expr:
        """The operand, in its own type."""
        return self.args[0]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        """Give the bits of another value, the only operand."""
        return Bitcast(self.dtype, *args)


class Call(Expr):
    """An op of a dialect, by id; `dtype` is what its signature gives for these operands."""

    __slots__ = ("callee",)
    __match_args__ = ("callee", "args")

    callee: str

    def __new__(cls, callee: str, dtype: DType, *args: Expr) -> Call:
        """Give the call. Whether a dialect defines `callee`, with this signature, is checked by the validator."""
        key = (cls, callee, dtype, *args)
        known = _known(key)
        if known is not None:
            return known  # type: ignore[no-any-return]
        require(cls, str, callee)
        require(cls, DType, dtype)
        require(cls, Expr, *args)
        self = object.__new__(cls)
        _set(self, "callee", callee)
        return _enter(key, self, dtype, args)  # type: ignore[no-any-return]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        """Give this call with other operands; the type of the result stays."""
        return Call(self.callee, self.dtype, *args)


ExprNode = Literal | Local | Load | Length | Id | Apply | Select | Cast | Bitcast | Call
"""Every kind of expression, for exhaustive matches."""


def literal(dtype: DType, value: Scalar) -> Literal:
    """The literal of `value` in `dtype`; a float is rounded, an integer out of range is refused."""
    try:
        return Literal(dtype, _bits_of(dtype, value))
    except LiteralOutOfRange:
        raise
    except (AttributeError, TypeError, ValueError):
        require(literal, DType, dtype)
        given: object = value
        message = f"literal got {shown(given)}, expected a number"
        raise TypeMismatch(message, fix="pass a bool, an integer or a float") from None


def _bits_of(dtype: DType, value: Scalar) -> int:
    """The bits of `value` in `dtype`."""
    if dtype.is_float:
        if isinstance(value, float) or abs(value) <= 2**53:
            return to_bits(dtype, round_float(dtype, float(value)))
        return to_bits(dtype, round_rational(dtype, Fraction(value)))
    if not dtype.lowest <= value <= dtype.highest:
        fix = f"use {dtype.lowest} … {dtype.highest}, or another type"
        raise LiteralOutOfRange(f"{value!r} is not a value of {dtype}", fix=fix)
    if value != int(value):
        fix = "use a whole number, or a type of floats"
        raise LiteralOutOfRange(f"{value!r} is not a value of {dtype}, which has no fractions", fix=fix)
    return int(value) & (1 << dtype.bits) - 1


def result_type(op: Op, args: tuple[Expr, ...]) -> DType:
    """The type of `op` over `args`, or `TypeMismatch` naming got and expected."""
    if len(args) == op.arity:
        operand = args[0].dtype
        if operand in op.results and (len(args) == 1 or args[1].dtype is operand is args[-1].dtype):
            return op.results[operand]
    raise _ill_typed(op, args)


def _ill_typed(op: Op, args: tuple[Expr, ...]) -> TypeMismatch:
    """The error for operands that `op` does not accept."""
    got = ", ".join(a.dtype.name for a in args)
    if len(args) != op.arity:
        return TypeMismatch(f"{op.id} got {len(args)} operands ({got}), expected {op.arity}", fix="pass all operands")
    if any(a.dtype is not args[0].dtype for a in args):
        fix = f"cast to {widest(a.dtype for a in args)} or another"
        return TypeMismatch(f"{op.id} got ({got}), expected operands of one type", fix=fix)
    accepted = " ".join(t.name for t in op.accepts)
    common = next((name for name in ("u32", "f32") if any(t.name == name for t in op.accepts)), op.accepts[0].name)
    fix = f"convert the operand first, as in vyre.{common}(x)"
    return TypeMismatch(f"{op.id} got {got}, expected one of {accepted}", fix=fix)


def require_index(buffer: Buffer, index: Expr) -> None:
    """Refuse an index that is not an integer."""
    if not index.dtype.is_integer:
        raise TypeMismatch(
            f"the index of {buffer.name!r} got {index.dtype}, expected an integer type", fix="cast the index to u32"
        )
