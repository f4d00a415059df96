"""What a program can change: mutable locals and buffers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeAlias

from vyre_foundation.build.values import Operand, Operators, Value, constant, index_of, operand, select
from vyre_foundation.dtype import DType, bool_, u32, u64
from vyre_foundation.errors import BuildError, TypeMismatch
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Length, Literal, Load, Local
from vyre_foundation.ir.stmt import Assign, Atomic, AtomicOp, Store

if TYPE_CHECKING:
    from vyre_foundation.build.arguments import DTypeLike
    from vyre_foundation.build.control_flow import ControlFlowRecorder
    from vyre_foundation.build.recording import RecordingState

AxisLength: TypeAlias = "int | Value"
Index: TypeAlias = "Operand | tuple[Operand, ...]"
"""An index, or one for each axis."""


def _assigned(compute: Callable[[Any, Any], Any]) -> Callable[[Mutable, Operand], Mutable]:
    """The method of an augmented assignment, which gives the variable another value."""

    def method(self: Mutable, other: Operand) -> Mutable:
        self.set(compute(self, other))
        return self

    return method


class Mutable(Operators):
    """A mutable local, made by `ProgramBuilder.var`. Each use reads its value at that point of the program.

    `set` and augmented assignments, as in ``count += 1``, change it. A plain Python assignment, ``count = …``, only
    rebinds the Python name and does not change the program.
    """

    __slots__ = ("_builder", "_is_set", "_local")

    _builder: RecordingState

    def __init__(self, builder: RecordingState, local: Local) -> None:
        self._builder, self._local = builder, local
        self._is_set = False

    @property
    def dtype(self) -> DType:
        """The type of the variable."""
        return self._local.dtype

    def __repr__(self) -> str:
        return f"<mutable {self.dtype} {self._local.name}>"

    def get(self) -> Value:
        """Read the variable at this point of the program.

        Returns:
            A value that stays what it is when the variable changes.
        """
        return self._builder._bind(self._local)

    @property
    def expr(self) -> Expr:
        """The value at this point of the program, as an expression."""
        return self.get().expr

    def set(self, value: Operand) -> None:
        """Give the variable another value at this point of the program.

        Args:
            value: A value of the variable's type, or a number that the type can hold.

        Raises:
            TypeMismatch: The value has another type.
            LiteralOutOfRange: The type cannot hold the number.
            BuildError: The operand is not a value.
        """
        self._builder._emit(Assign(self._local.name, operand(value, self._local.dtype, self._builder)))
        self._is_set = True

    __iadd__ = _assigned(operator.add)
    __isub__ = _assigned(operator.sub)
    __imul__ = _assigned(operator.mul)
    __iand__ = _assigned(operator.and_)
    __ior__ = _assigned(operator.or_)
    __ixor__ = _assigned(operator.xor)
    __ilshift__ = _assigned(operator.lshift)
    __irshift__ = _assigned(operator.rshift)
    __itruediv__ = _assigned(operator.truediv)
    __ifloordiv__ = _assigned(operator.floordiv)
    __imod__ = _assigned(operator.mod)

    def cast(self, dtype: DTypeLike) -> Value:
        """The value at this point of the program, converted as `Value.cast` does."""
        return self.get().cast(dtype)

    def bitcast(self, dtype: DTypeLike) -> Value:
        """The bits at this point of the program, read as `Value.bitcast` does."""
        return self.get().bitcast(dtype)


def _no_arithmetic(self: Array, *_: object, **__: object) -> NoReturn:
    raise BuildError(f"got the buffer {self.decl.name!r}, expected a value", fix="index the buffer, as in buffer[i]")


class Array:
    """A buffer inside a program: ``buffer[i]`` loads an element, ``buffer[i] = value`` stores one.

    A buffer that is declared with a shape takes an index for each axis, ``buffer[y, x]``. A load out of bounds on any
    axis gives 0, a store out of bounds does nothing (docs/language.md, "Memory").
    """

    __slots__ = ("_axes", "_builder", "_takes_linear", "decl")
    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)
    """``Array[f32, "h", "w"]`` annotates a parameter of a kernel."""

    def __init__(
        self,
        builder: ControlFlowRecorder,
        decl: Buffer,
        axes: tuple[AxisLength, ...] | None = None,
        *,
        takes_linear: bool = False,
    ) -> None:
        """`takes_linear`: one index is that of an element in order, also where there are several axes."""
        self._builder, self.decl, self._axes, self._takes_linear = builder, decl, axes, takes_linear

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.decl.dtype

    @property
    def length(self) -> Value:
        """The number of elements in this launch, u32."""
        return Value(Length(self.decl), self._builder)

    @property
    def shape(self) -> tuple[AxisLength, ...]:
        """The lengths of the axes in the order of NumPy's shapes: numbers, and values of u32 that the launch gives."""
        return (self.length,) if self._axes is None else self._axes

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return 1 if self._axes is None else len(self._axes)

    def __repr__(self) -> str:
        return repr(self.decl)

    def __len__(self) -> NoReturn:
        raise BuildError(
            f"the length of {self.decl.name!r} is not known while the program is built", fix="use `.length`"
        )

    def __iter__(self) -> NoReturn:
        raise BuildError(f"{self.decl.name!r} has no length yet", fix="loop with p.range(0, buffer.length)")

    # fmt: off
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _no_arithmetic
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = _no_arithmetic
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __rand__ = __ror__ = __rxor__ = _no_arithmetic
    __rlshift__ = __rrshift__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __invert__ = _no_arithmetic
    __divmod__ = __rdivmod__ = __abs__ = __int__ = __float__ = __index__ = __array__ = __array_ufunc__ = _no_arithmetic
    # fmt: on

    def __getitem__(self, index: Index) -> Value:
        access = self.decl.access
        if not access.reads:
            raise BuildError(f"{self.decl.name!r} is write-only", fix="declare it with p.read_write(…)")
        place, inside = self._place(index)
        load = Load(self.decl, place)
        element = self._builder._bind(load) if access.writes else Value(load, self._builder)
        return element if inside is None else select(inside, element, constant(self.dtype, 0))

    def __setitem__(self, index: Index, value: Operand) -> None:
        if not self.decl.access.writes:
            raise BuildError(f"{self.decl.name!r} is read-only", fix="declare it with p.write(…) or p.read_write(…)")
        place, inside = self._place(index)
        stored = operand(value, self.dtype, self._builder)
        if inside is None:
            self._builder._emit(Store(self.decl, place, stored))
        else:
            with self._builder.if_(inside):
                self._builder._emit(Store(self.decl, place, stored))

    def _place(self, index: Index) -> tuple[Expr, Value | None]:
        """The index in the buffer, and the condition under which those of all axes are in bounds.

        There is no condition for a single axis: the language checks the index of a buffer.
        """
        parts = index if isinstance(index, tuple) else (index,)
        if len(parts) != self.ndim and not (len(parts) == 1 and self._takes_linear):
            raise self._refuse_indices(len(parts))
        if len(parts) == 1:
            return index_of(parts[0], self.decl.name, self._builder), None
        inside: Value | None = None
        linear: Value | None = None
        for length, part in zip(self.shape, parts, strict=True):
            place, is_inside = _on_axis(Value(index_of(part, self.decl.name, self._builder)), length)
            linear = place if linear is None else linear * length + place
            if is_inside is not None:
                inside = is_inside if inside is None else inside & is_inside
        assert linear is not None
        return linear.expr, inside

    def _refuse_indices(self, count: int) -> BuildError:
        """The error for a number of indices that is not the number of axes."""
        given = "one index" if count == 1 else f"{count} indices"
        if self.ndim == 1:
            fix = "declare its axes, as in shape=('h', 'w'), or compute the index, as in row * columns + column"
            return BuildError(f"got {given} of {self.decl.name!r}, which has one axis", fix=fix)
        fix = "pass an index for each axis, as in image[y, x]"
        return BuildError(f"got {given} of {self.decl.name!r}, which has {self.ndim} axes", fix=fix)

    def atomic_add(self, index: Index, value: Operand) -> Value:
        """Add to an element, wrapping."""
        return self._atomic(AtomicOp.ADD, index, value)

    def atomic_and(self, index: Index, value: Operand) -> Value:
        """Clear the bits of an element that `value` has not."""
        return self._atomic(AtomicOp.AND, index, value)

    def atomic_or(self, index: Index, value: Operand) -> Value:
        """Set the bits of an element that `value` has."""
        return self._atomic(AtomicOp.OR, index, value)

    def atomic_xor(self, index: Index, value: Operand) -> Value:
        """Flip the bits of an element that `value` has."""
        return self._atomic(AtomicOp.XOR, index, value)

    def atomic_min(self, index: Index, value: Operand) -> Value:
        """Lower an element to `value`, if that is less."""
        return self._atomic(AtomicOp.MIN, index, value)

    def atomic_max(self, index: Index, value: Operand) -> Value:
        """Raise an element to `value`, if that is more."""
        return self._atomic(AtomicOp.MAX, index, value)

    def atomic_exchange(self, index: Index, value: Operand) -> Value:
        """Replace an element by `value`."""
        return self._atomic(AtomicOp.EXCHANGE, index, value)

    def atomic_compare_exchange(self, index: Index, expected: Operand, value: Operand) -> Value:
        """Replace an element by `value` if it equals `expected`."""
        return self._atomic(AtomicOp.COMPARE_EXCHANGE, index, value, operand(expected, self.dtype, self._builder))

    def _atomic(self, op: AtomicOp, index: Index, value: Operand, expected: Expr | None = None) -> Value:
        place, inside = self._place(index)
        if inside is not None:  # an index beyond any length, for which an atomic does nothing
            place = select(inside, Value(place), u32.highest).expr
        name = self._builder._fresh("old")
        self._builder._emit(Atomic(op, self.decl, place, operand(value, self.dtype, self._builder), expected, name))
        return Value(Local(name, self.dtype), self._builder)


def _on_axis(index: Value, length: AxisLength) -> tuple[Value, Value | None]:
    """An index as u32, and the condition that it is in bounds; None if it always is."""
    expr = index.expr
    if not index.dtype.is_integer:
        fix = f"convert it with .cast({u32})"
        raise TypeMismatch(f"got a value of {index.dtype} as an index, expected an integer", fix=fix)
    if isinstance(expr, Literal) and expr.dtype is u32 and isinstance(length, int):
        return index, None if expr.bits < length else constant(bool_, False)
    if index.dtype.bits == 64:  # the conversion to u32 would lose the upper half
        wide = index.bitcast(u64)  # negative ones become greater than any length
        return index.cast(u32), wide < (length if isinstance(length, int) else length.cast(u64))
    place = index.cast(u32)
    return place, place < length


_RULES = """

        The element is read, combined and written indivisibly; the order of atomics on one element is unspecified. Out
        of bounds, nothing happens (docs/language.md, "Memory"). `build` refuses atomics on types other than u32, i32,
        u64 and i64, and on memory that cannot be written (V032, V035).

        Args:
            index: A value of an integer type, or an integer; a tuple of one for each axis.
{expected}            value: A value of the buffer's type, or a number.

        Returns:
            The old element; 0 out of bounds.

        Raises:
            BuildError: An operand is not a value. TypeMismatch: A value has another type.
         """
for _op in AtomicOp:
    _method = getattr(Array, f"atomic_{_op.value}")
    _expected = " " * 12 + "expected: As `value`.\n" if _op is AtomicOp.COMPARE_EXCHANGE else ""
    _method.__doc__ = f"{_method.__doc__}{_RULES.format(expected=_expected)}"
