"""What a program can change: mutable locals and buffers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from vyre_foundation.build.values import Operand, Operators, Value, index_of, operand
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Length, Load, Local
from vyre_foundation.ir.stmt import Assign, Atomic, AtomicOp, Store

if TYPE_CHECKING:
    from vyre_foundation.build.arguments import DTypeLike
    from vyre_foundation.build.recorder import ProgramBuilder


def _assigned(compute: Callable[[Any, Any], Any]) -> Callable[[Mutable, Operand], Mutable]:
    """The method of an augmented assignment, which gives the variable another value."""

    def method(self: Mutable, other: Operand) -> Mutable:
        self.set(compute(self, other))
        return self

    return method


class Mutable(Operators):
    """A mutable local, made by `ProgramBuilder.var`. Each use reads it at that point of the program.

    `set` and the augmented assignments, as in ``count += 1``, give it another value. A plain assignment of Python,
    ``count = …``, gives the Python name something else and changes nothing in the program.
    """

    __slots__ = ("_builder", "_is_set", "_local")

    def __init__(self, builder: ProgramBuilder, local: Local) -> None:
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
            TypeMismatch: The value is of another type.
            LiteralOutOfRange: The type cannot hold the number.
            BuildError: The operand is no value.
        """
        self._builder._emit(Assign(self._local.name, operand(value, self._local.dtype)))
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

    A load out of bounds gives 0, a store out of bounds does nothing (docs/language.md, "Memory").
    """

    __slots__ = ("_builder", "decl")
    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)
    """``Array[f32, "h", "w"]`` annotates a parameter of a kernel."""

    def __init__(self, builder: ProgramBuilder, decl: Buffer) -> None:
        self._builder, self.decl = builder, decl

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.decl.dtype

    @property
    def length(self) -> Value:
        """The number of elements in this launch, u32."""
        return Value(Length(self.decl))

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

    def __getitem__(self, index: Operand) -> Value:
        access = self.decl.access
        if not access.reads:
            raise BuildError(f"{self.decl.name!r} is write-only", fix="declare it with p.read_write(…)")
        load = Load(self.decl, index_of(index, self.decl.name))
        return self._builder._bind(load) if access.writes else Value(load)

    def __setitem__(self, index: Operand, value: Operand) -> None:
        if not self.decl.access.writes:
            raise BuildError(f"{self.decl.name!r} is read-only", fix="declare it with p.write(…) or p.read_write(…)")
        self._builder._emit(Store(self.decl, index_of(index, self.decl.name), operand(value, self.dtype)))

    def atomic_add(self, index: Operand, value: Operand) -> Value:
        """Add to an element, wrapping."""
        return self._atomic(AtomicOp.ADD, index, value)

    def atomic_and(self, index: Operand, value: Operand) -> Value:
        """Clear the bits of an element that `value` has not."""
        return self._atomic(AtomicOp.AND, index, value)

    def atomic_or(self, index: Operand, value: Operand) -> Value:
        """Set the bits of an element that `value` has."""
        return self._atomic(AtomicOp.OR, index, value)

    def atomic_xor(self, index: Operand, value: Operand) -> Value:
        """Flip the bits of an element that `value` has."""
        return self._atomic(AtomicOp.XOR, index, value)

    def atomic_min(self, index: Operand, value: Operand) -> Value:
        """Lower an element to `value`, if that is less."""
        return self._atomic(AtomicOp.MIN, index, value)

    def atomic_max(self, index: Operand, value: Operand) -> Value:
        """Raise an element to `value`, if that is more."""
        return self._atomic(AtomicOp.MAX, index, value)

    def atomic_exchange(self, index: Operand, value: Operand) -> Value:
        """Replace an element by `value`."""
        return self._atomic(AtomicOp.EXCHANGE, index, value)

    def atomic_compare_exchange(self, index: Operand, expected: Operand, value: Operand) -> Value:
        """Replace an element by `value` where it equals `expected`."""
        return self._atomic(AtomicOp.COMPARE_EXCHANGE, index, value, operand(expected, self.dtype))

    def _atomic(self, op: AtomicOp, index: Operand, value: Operand, expected: Expr | None = None) -> Value:
        name = self._builder._fresh("old")
        new = operand(value, self.dtype)
        self._builder._emit(Atomic(op, self.decl, index_of(index, self.decl.name), new, expected, name))
        return Value(Local(name, self.dtype))


_RULES = """

        The element is read, combined and written indivisibly; in which order atomics meet on one element is not
        fixed. Out of bounds nothing is done (docs/language.md, "Memory"). `build` refuses atomics on types other than
        u32, i32, u64 and i64, and on memory that cannot be written (V032, V035).

        Args:
            index: A value of an integer type, or an integer.
{expected}            value: A value of the buffer's type, or a number.

        Returns:
            The old element; 0 out of bounds.

        Raises:
            BuildError: An operand is no value.
            TypeMismatch: A value is of another type.
"""
for _op in AtomicOp:
    _method = getattr(Array, f"atomic_{_op.value}")
    _expected = " " * 12 + "expected: As `value`.\n" if _op is AtomicOp.COMPARE_EXCHANGE else ""
    _method.__doc__ = f"{_method.__doc__}{_RULES.format(expected=_expected)}"
