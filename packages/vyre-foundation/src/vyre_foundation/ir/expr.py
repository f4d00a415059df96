"""Expressions: pure values, interned, and well typed by construction.

Structurally equal expressions are one object, so equality is identity, a shared subexpression exists once, and every
walk is over a graph, not a tree. The children of any expression are its `args`; `rebuild(args)` makes the same node
over other children. A constructor refuses operands that the op does not accept, so there is no ill-typed expression.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from enum import Enum
from fractions import Fraction
from sys import getrefcount
from typing import Any

from vyre_foundation.dtype import DType, bool_, u32
from vyre_foundation.errors import LiteralOutOfRange, TypeMismatch
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ops.definition import Op
from vyre_foundation.ops.scalar import Scalar, from_bits, round_float, round_rational, to_bits


class Expr:
    """Base of the expressions: a type and children. Compare with ``is``."""

    __slots__ = ("args", "dtype")

    dtype: DType
    args: tuple[Expr, ...]

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
# One table holds every expression. Keys name children by identity, which stays valid because the entry keeps the node
# and the node keeps its children. Entries that nothing else refers to are removed when the table has doubled: one pass
# from the newest to the oldest sees parents before children, so it frees whole graphs, without recursion.

_live: dict[Hashable, Expr] = {}
_lock = threading.RLock()
_SMALL = 1 << 16
_sweep_at = _SMALL

_set_dtype: Any = Expr.dtype.__set__  # type: ignore[attr-defined, misc]
_set_args: Any = Expr.args.__set__  # type: ignore[attr-defined, misc]
_set = object.__setattr__
_new: Any = object.__new__


def _intern(key: Hashable, node: Any, dtype: DType, args: tuple[Expr, ...]) -> Any:
    """Finish `node` and enter it as the one node for `key`, unless another thread was first."""
    _set_dtype(node, dtype)
    _set_args(node, args)
    with _lock:
        node = _live.setdefault(key, node)
        if len(_live) > _sweep_at:
            _sweep()
    return node


def _sweep() -> None:
    """Forget the expressions that only the table refers to. The caller holds the lock."""
    global _sweep_at
    for key in reversed(list(_live)):
        if getrefcount(_live[key]) == _ONLY_THE_TABLE:
            node = _live.pop(key)
            if getrefcount(node) > _ONLY_A_LOCAL:  # another thread has just looked it up
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
        key = (cls, dtype, bits)
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        if not 0 <= bits < 1 << dtype.bits:
            raise LiteralOutOfRange(f"{bits:#x} is not a pattern of {dtype.bits} bits", fix="mask the bits")
        self = _new(cls)
        _set(self, "bits", bits)
        return _intern(key, self, dtype, ())  # type: ignore[no-any-return]

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
        key = (cls, name, dtype)
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        self = _new(cls)
        _set(self, "name", name)
        return _intern(key, self, dtype, ())  # type: ignore[no-any-return]


class Load(Expr):
    """The element of `buffer` at `index`, or 0 out of bounds. `checked=False`: a legalizer has proven the bounds."""

    __slots__ = ("buffer", "checked")
    __match_args__ = ("buffer", "index")

    buffer: Buffer
    checked: bool

    def __new__(cls, buffer: Buffer, index: Expr, *, checked: bool = True) -> Load:
        key = (cls, buffer, id(index), checked)
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        require_index(buffer, index)
        self = _new(cls)
        _set(self, "buffer", buffer)
        _set(self, "checked", checked)
        return _intern(key, self, buffer.dtype, (index,))  # type: ignore[no-any-return]

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
        if known is not None:
            return known  # type: ignore[return-value]
        self = _new(cls)
        _set(self, "buffer", buffer)
        return _intern(key, self, u32, ())  # type: ignore[no-any-return]


class IdKind(Enum):
    """The values that tell an invocation where it is. All are u32."""

    GLOBAL_ID = "global_id"
    LOCAL_ID = "local_id"
    WORKGROUP_ID = "workgroup_id"
    NUM_WORKGROUPS = "num_workgroups"
    SUBGROUP_LANE = "subgroup_lane"
    SUBGROUP_SIZE = "subgroup_size"

    @property
    def has_axis(self) -> bool:
        return self not in (IdKind.SUBGROUP_LANE, IdKind.SUBGROUP_SIZE)


class Id(Expr):
    """One coordinate of the invocation; `axis` is 0, 1 or 2 (0 where the kind has no axes)."""

    __slots__ = ("axis", "kind")
    __match_args__ = ("kind", "axis")

    kind: IdKind
    axis: int

    def __new__(cls, kind: IdKind, axis: int = 0) -> Id:
        key = (cls, kind, axis)
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        if not 0 <= axis < (3 if kind.has_axis else 1):
            raise TypeMismatch(f"{kind.value} has no axis {axis}", fix="use axis 0, 1 or 2, and 0 for subgroup values")
        self = _new(cls)
        _set(self, "kind", kind)
        _set(self, "axis", axis)
        return _intern(key, self, u32, ())  # type: ignore[no-any-return]


class Apply(Expr):
    """A row of the op table applied to operands of one type."""

    __slots__ = ("op",)
    __match_args__ = ("op", "args")

    op: Op

    def __new__(cls, op: Op, *args: Expr) -> Apply:
        key = id(op)  # rows live as long as the process
        for operand in args:
            key = key << 64 | id(operand)
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        dtype = result_type(op, args)
        self = _new(cls)
        _set_op(self, op)
        return _intern(key, self, dtype, args)  # type: ignore[no-any-return]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        return Apply(self.op, *args)


_set_op: Any = Apply.op.__set__  # type: ignore[attr-defined, misc]


@contextmanager
def applying() -> Iterator[Callable[[Op, Expr, Expr], Apply]]:
    """A function that does what `Apply` does with two operands, in half the time.

    For batches of some thousands: other threads that need a new expression wait for the end of the block.
    """
    known, new = _live.get, _new

    def apply(op: Op, first: Expr, second: Expr) -> Apply:
        key = id(op) << 128 | id(first) << 64 | id(second)
        node: Any = known(key)
        if node is None:
            operands = first, second
            dtype = op.results.get(first.dtype)
            if dtype is None or second.dtype is not first.dtype or op.arity != 2:
                dtype = result_type(op, operands)
            node = new(Apply)
            _set_op(node, op)
            _set_dtype(node, dtype)
            _set_args(node, operands)
            _live[key] = node
        return node  # type: ignore[no-any-return]

    with _lock:
        yield apply
        if len(_live) > _sweep_at:
            _sweep()


class Select(Expr):
    """`if_true` where `condition` holds, else `if_false`. Both are evaluated, which nobody can observe."""

    __slots__ = ()
    __match_args__ = ("condition", "if_true", "if_false")

    def __new__(cls, condition: Expr, if_true: Expr, if_false: Expr) -> Select:
        key = (cls, id(condition), id(if_true), id(if_false))
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        if condition.dtype is not bool_ or if_true.dtype is not if_false.dtype:
            raise TypeMismatch(
                f"select got ({condition.dtype}, {if_true.dtype}, {if_false.dtype}), expected (bool, T, T)",
                fix="compare to get a bool, and cast the arms to one type",
            )
        return _intern(key, _new(cls), if_true.dtype, (condition, if_true, if_false))  # type: ignore[no-any-return]

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
        key = (cls, dtype, id(value), checked)
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        self = _new(cls)
        _set(self, "checked", checked)
        return _intern(key, self, dtype, (value,))  # type: ignore[no-any-return]

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
        key = (cls, dtype, id(value))
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        if dtype.bits != value.dtype.bits or (dtype is bool_) != (value.dtype is bool_):
            raise TypeMismatch(
                f"bitcast got {value.dtype} ({value.dtype.bits} bits), expected one of {dtype.bits} bits, as {dtype}",
                fix="cast to change the width, bitcast to keep it",
            )
        return _intern(key, _new(cls), dtype, (value,))  # type: ignore[no-any-return]

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
        key = (cls, callee, dtype, *map(id, args))
        known = _live.get(key)
        if known is not None:
            return known  # type: ignore[return-value]
        self = _new(cls)
        _set(self, "callee", callee)
        return _intern(key, self, dtype, args)  # type: ignore[no-any-return]

    def rebuild(self, args: tuple[Expr, ...]) -> Expr:
        return Call(self.callee, self.dtype, *args)


ExprNode = Literal | Local | Load | Length | Id | Apply | Select | Cast | Bitcast | Call
"""Every kind of expression, for exhaustive matches."""


def literal(dtype: DType, value: Scalar) -> Literal:
    """The literal of `value` in `dtype`; a float is rounded, an integer out of range is refused."""
    if dtype.is_float:
        is_double = isinstance(value, float) or abs(value) <= 2**53
        rounded = round_float(dtype, float(value)) if is_double else round_rational(dtype, Fraction(value))
        return Literal(dtype, to_bits(dtype, rounded))
    if not dtype.lowest <= value <= dtype.highest or value != int(value):
        raise LiteralOutOfRange(
            f"{value!r} is not a value of {dtype}", fix=f"use {dtype.lowest} … {dtype.highest}, or another type"
        )
    return Literal(dtype, to_bits(dtype, int(value)))


def result_type(op: Op, args: tuple[Expr, ...]) -> DType:
    """The type of `op` over `args`, or `TypeMismatch` naming got and expected."""
    if len(args) == op.arity:
        operand = args[0].dtype
        result = op.results.get(operand)
        if result is not None:
            for other in args:
                if other.dtype is not operand:
                    break
            else:
                return result
    got = ", ".join(a.dtype.name for a in args)
    if len(args) != op.arity:
        raise TypeMismatch(f"{op.id} got {len(args)} operands ({got}), expected {op.arity}", fix="pass all operands")
    if any(a.dtype is not args[0].dtype for a in args):
        raise TypeMismatch(
            f"{op.id} got ({got}), expected operands of one type", fix=f"cast to {args[0].dtype} or another"
        )
    accepted = " ".join(t.name for t in op.accepts)
    raise TypeMismatch(f"{op.id} got {got}, expected one of {accepted}", fix="cast the operand first")


def require_index(buffer: Buffer, index: Expr) -> None:
    """Refuse an index that is not an integer."""
    if not index.dtype.is_integer:
        raise TypeMismatch(
            f"the index of {buffer.name!r} got {index.dtype}, expected an integer type", fix="cast the index to u32"
        )
