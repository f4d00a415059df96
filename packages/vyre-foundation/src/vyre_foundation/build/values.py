"""Values: expressions with Python's operators.

A number takes the type of the value beside it. Types never mix: `Value.cast` converts.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Collection, Sequence
from math import isfinite, isinf
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np

from vyre_foundation import dialects
from vyre_foundation.build import arguments
from vyre_foundation.build.caller import caller
from vyre_foundation.build.rebinding import BLOCKS, OpenBlock, refuse_accumulation, refuse_use_behind
from vyre_foundation.dtype import DTYPES, DType, bool_, f32, i32, i64, u32, u64, widest
from vyre_foundation.errors import BuildError, LiteralOutOfRange, TypeMismatch
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Local, Select as SelectExpr, literal
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ops import Op, arithmetic, bitwise, compare

if TYPE_CHECKING:
    from vyre_foundation.build.arguments import DTypeLike
    from vyre_foundation.build.recording import RecordingState
    from vyre_foundation.dialects.attributes import AttrValue

Number: TypeAlias = "bool | int | float"
Operand: TypeAlias = "Operators | Number"


def _infix(op: Op) -> Callable[[Operators, Operand], Value]:
    """The method of an infix operator. Most of a program is made in it, so it does at once what is nearly always so."""

    def method(self: Operators, other: Operand) -> Value:
        first, builder = self.expr, self._builder
        if other.__class__ is Value:
            second = other.expr
            if other._builder is not builder:
                builder = _common_builder(builder, other._builder)
        elif other.__class__ is int and not first.dtype.is_float:
            second = literal(first.dtype, other)
        else:
            second = operand(other, first.dtype)
            builder = builder_of(self, other)
        value = _new(Value)  # saves a third of the time of `Value(…)`
        value.expr = Apply(op, first, second)
        value._born = BLOCKS.opened
        value._builder = builder
        return value

    return method


def _augmented(compute: Callable[[Any, Any], Any]) -> Callable[[Operators, Operand], Value]:
    """The method of an augmented assignment, which gives a name of Python another value."""

    def method(self: Operators, other: Operand) -> Value:
        return _renamed(self, compute(self, other), id(sys._getframe(1)))

    return method


def _refused(what: str, fix: str) -> Callable[..., NoReturn]:
    """A method for what a value cannot do: Python's own error would not say what to do instead."""

    def method(self: object, *_: object, **__: object) -> NoReturn:
        raise BuildError(f"got {what} of {self!r}, which is known only when the program runs", fix=fix)

    return method


_new = object.__new__


class Operators:
    """Python's operators. Comparisons build expressions too, so what has them has no truth and no hash."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    if TYPE_CHECKING:

        @property
        def expr(self) -> Expr:
            """The expression that the operators take as operand; asking for it reads a mutable local."""

        @property
        def _builder(self) -> RecordingState | None:
            """The builder whose locals or buffers the expression reads, if it reads any."""

    # fmt: off
    __add__ = _infix(arithmetic.ADD)
    __sub__ = _infix(arithmetic.SUB)
    __mul__ = _infix(arithmetic.MUL)
    __and__ = _infix(bitwise.AND)
    __or__ = _infix(bitwise.OR)
    __xor__ = _infix(bitwise.XOR)
    __lshift__ = _infix(bitwise.SHL)
    __rshift__ = _infix(bitwise.SHR)
    __lt__ = _infix(compare.LT)
    __le__ = _infix(compare.LE)
    __gt__ = _infix(compare.GT)
    __ge__ = _infix(compare.GE)
    __eq__ = _infix(compare.EQ)  # type: ignore[assignment]
    __ne__ = _infix(compare.NE)  # type: ignore[assignment]
    def __radd__(self, other: Number) -> Value: return _reflected(arithmetic.ADD, other, self)
    def __rsub__(self, other: Number) -> Value: return _reflected(arithmetic.SUB, other, self)
    def __rmul__(self, other: Number) -> Value: return _reflected(arithmetic.MUL, other, self)
    def __rand__(self, other: Number) -> Value: return _reflected(bitwise.AND, other, self)
    def __ror__(self, other: Number) -> Value: return _reflected(bitwise.OR, other, self)
    def __rxor__(self, other: Number) -> Value: return _reflected(bitwise.XOR, other, self)
    def __rlshift__(self, other: Number) -> Value: return _reflected(bitwise.SHL, other, self)
    def __rrshift__(self, other: Number) -> Value: return _reflected(bitwise.SHR, other, self)
    def __truediv__(self, other: Operand) -> Value: return _divide("/", self, other)
    def __rtruediv__(self, other: Number) -> Value: return _divide("/", other, self)
    def __floordiv__(self, other: Operand) -> Value: return _divide("//", self, other)
    def __rfloordiv__(self, other: Number) -> Value: return _divide("//", other, self)
    def __mod__(self, other: Operand) -> Value: return _divide("%", self, other)
    def __rmod__(self, other: Number) -> Value: return _divide("%", other, self)
    def __pos__(self) -> Value: return Value(self.expr, self._builder)
    def __neg__(self) -> Value: return apply("neg", self)
    def __abs__(self) -> Value: return apply("abs", self)
    def __invert__(self) -> Value: return apply("not", self)

    __pow__ = __rpow__ = __ipow__ = _refused("a power", "write pow(x, y) of the elementary functions, or x * x")
    __matmul__ = __rmatmul__ = __imatmul__ = _refused("a matrix product", "write the sum of products as a loop")
    __divmod__ = __rdivmod__ = _refused("divmod", "write x // y and x % y, or div(x, y) and rem(x, y) of vyre")
    __int__ = __trunc__ = _refused("the integer", "convert the value with .cast(dtype)")
    __float__ = __complex__ = _refused("the float", "convert the value with .cast(dtype)")
    __index__ = _refused("the integer", "index buffers, p.constant(…) for a table; loop with p.range(…)")
    __round__ = _refused("the rounding", "write round(x), floor(x) or ceil(x) of vyre, not of Python")
    __floor__ = __ceil__ = _refused("the rounding", "write floor(x) or ceil(x) of vyre, not of Python")
    __len__ = _refused("the length", "a value is one number; buffers have .length")
    __iter__ = _refused("the elements", "a value is one number; loop with p.range(…)")
    __contains__ = _refused("the elements", "compare with each, and join the results with |")
    __getitem__ = __setitem__ = _refused("an element", "a value is one number; index the buffer itself")
    __array__ = _refused("the array", "NumPy computes now: pass arrays as inputs, and use vyre's functions")
    # fmt: on

    def __bool__(self) -> NoReturn:
        raise BuildError(
            f"the truth of {self!r} is not known while the program is built",
            fix="use p.if_(…), select(…), min and max of vyre, or & and | instead of `and` and `or`",
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's operators with NumPy's scalars on the left are operators of values; its functions are refused."""
        sign = _SIGNS.get(ufunc.__name__) if method == "__call__" and not options else None
        operands = [x if isinstance(x, Operators) else arguments.number(x) for x in inputs]
        if sign is not None and not any(x is None for x in operands):
            first, second = operands
            if isinstance(first, Operators):
                return getattr(first, f"__{sign}__")(second)
            return getattr(second, f"__{_REFLECTED[sign]}__")(first)
        raise BuildError(
            f"got NumPy's {ufunc.__name__}, which computes with arrays now, for a value of the program",
            fix="use the function of vyre, such as vyre.sqrt; `vyre ops` lists them",
        )


# fmt: off
_SIGNS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "left_shift": "lshift", "right_shift": "rshift", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}
_REFLECTED = {
    **{sign: f"r{sign}" for sign in _SIGNS.values()},
    **compare.MIRRORED,
}
# fmt: on


class Value(Operators):
    """An immutable expression; Python's operators combine values to new ones.

    Loads from buffers, operators and the functions of vyre return values.
    """

    __slots__ = ("_born", "_builder", "expr")

    expr: Expr
    _builder: RecordingState | None
    _born: int
    """How many branches and loops had been opened when it was made."""

    def __init__(self, expr: Expr, builder: RecordingState | None = None) -> None:
        self.expr, self._builder = expr, builder
        self._born = BLOCKS.opened

    @property
    def dtype(self) -> DType:
        """The type of the value."""
        return self.expr.dtype

    def __repr__(self) -> str:
        return f"<{self.dtype} {self.expr!r}>"

    __iadd__ = _augmented(operator.add)
    __isub__ = _augmented(operator.sub)
    __imul__ = _augmented(operator.mul)
    __iand__ = _augmented(operator.and_)
    __ior__ = _augmented(operator.or_)
    __ixor__ = _augmented(operator.xor)
    __ilshift__ = _augmented(operator.lshift)
    __irshift__ = _augmented(operator.rshift)
    __itruediv__ = _augmented(operator.truediv)
    __ifloordiv__ = _augmented(operator.floordiv)
    __imod__ = _augmented(operator.mod)

    def cast(self, dtype: DTypeLike) -> Value:
        """Convert this value to another type.

        Integers wrap, floats to integers truncate and saturate, NaN gives 0, floats are rounded to nearest with ties to
        even (docs/language.md, "Conversions").

        Args:
            dtype: A type such as `u32`, or NumPy's, as in ``np.uint32``.

        Returns:
            A value of that type; this one if it has it already.

        Raises:
            BuildError: `dtype` is not a type.
        """
        wanted = arguments.dtype_of(dtype)
        return self if wanted is self.dtype else Value(Cast(wanted, self.expr), self._builder)

    def bitcast(self, dtype: DTypeLike) -> Value:
        """Read the bits of this value as another type of the same width. A NaN shows its canonical bits.

        Args:
            dtype: A type of as many bits.

        Returns:
            A value of that type; this one if it has it already.

        Raises:
            TypeMismatch: The widths differ.
            BuildError: `dtype` is not a type.
        """
        wanted = arguments.dtype_of(dtype)
        return self if wanted is self.dtype else Value(Bitcast(wanted, self.expr), self._builder)


class _BranchValue(Value):
    """What an augmented assignment in a branch gave a name: of no use behind the branch."""

    __slots__ = ("_block", "_hidden", "_origin")

    def __init__(self, value: Value, block: OpenBlock, origin: str) -> None:
        self._hidden, self._block, self._origin = value.expr, block, origin
        self._builder = value._builder
        self._born = BLOCKS.opened

    @property
    def expr(self) -> Expr:  # type: ignore[override]
        if self._block not in BLOCKS:
            raise refuse_use_behind(self._origin)
        return self._hidden

    def __repr__(self) -> str:
        return f"<{self._hidden.dtype} {self._hidden!r}>"


def _renamed(old: Operators, new: Value, frame: int) -> Value:
    """`new`, which takes the name of `old` in the function of this frame."""
    if isinstance(old, _BranchValue):
        return _BranchValue(new, old._block, old._origin)
    assert isinstance(old, Value)
    blocks = BLOCKS.entered_since(old._born, frame)
    if any(block.is_loop for block in blocks):
        raise refuse_accumulation()
    return _BranchValue(new, blocks[0], str(Origin(*caller()))) if blocks else new


def apply(op: Op | str, *operands: Operand) -> Value:
    """Apply a row of the op table to operands.

    Args:
        op: A row or its id, as in ``"div"`` (docs/language.md, "Ops"; `vyre ops` lists them).
        *operands: At least one is a value; numbers take its type.

    Returns:
        A value of the type that the row gives for its operands.

    Raises:
        BuildError: There is no such op, or no operand is a value.
        TypeMismatch: The op does not take the types of the operands.
        LiteralOutOfRange: The type cannot hold a number.
    """
    row = arguments.op_of(op)
    dtype = common_dtype(operands, row.accepts)
    return Value(Apply(row, *[operand(x, dtype) for x in operands]), builder_of(*operands))


def select(condition: Operand, if_true: Operand, if_false: Operand) -> Value:
    """Choose one of two values by a condition. Whether both are evaluated cannot be observed.

    Args:
        condition: A value of bool.
        if_true: The result if the condition holds.
        if_false: The result otherwise, of the same type; at least one of the two is a value.

    Returns:
        A value of the type of the two.

    Raises:
        TypeMismatch: The condition is not a bool, or the two have different types.
        BuildError: Neither of the two has a type.
    """
    dtype = common_dtype((if_true, if_false))
    chosen = SelectExpr(operand(condition, bool_), operand(if_true, dtype), operand(if_false, dtype))
    return Value(chosen, builder_of(condition, if_true, if_false))


def constant(dtype: DTypeLike, value: Number) -> Value:
    """Make a value from a number.

    Args:
        dtype: The type.
        value: A number: floats are rounded to nearest, but not to an infinity, integers must fit.

    Returns:
        The literal.

    Raises:
        LiteralOutOfRange: The type cannot hold the number.
        BuildError: An argument is not a number or not a type.
    """
    return Value(operand(value, arguments.dtype_of(dtype)))


def typed(dtype: DType, x: Operand, /) -> Value:
    """Give a value of a type: ``u32(1)`` of a number, ``u32(x)`` converts a value as `Value.cast` does.

    Args:
        dtype: The type, which is called.
        x: A number, which the type must hold, or a value.

    Returns:
        A value of that type.

    Raises:
        LiteralOutOfRange: The type cannot hold the number.
        BuildError: The operand is neither a number nor a value.
    """
    found = Value(x.expr, x._builder) if isinstance(x, Operators) else constant(dtype, x)
    return found.cast(dtype)


def call(callee: str, *operands: Operand, **attrs: Operand | str) -> Value:
    """Call an op of a registered dialect, such as ``"math.exp"``.

    Args:
        callee: The id of the op.
        *operands: At least one is a value; numbers take its type.
        **attrs: The attributes of the op by name: numbers, or names of choices.

    Returns:
        A value of the type that the op's signature gives.

    Raises:
        UnknownCallee: No dialect defines the op.
        SignatureMismatch: The op has no signature for the types of the operands.
        BadAttribute: An attribute is missing, unknown, or of another kind.
    """
    name = arguments.text(callee, "the id of an op")
    has_types = any(isinstance(x, Operators) for x in operands)
    accepted = DTYPES if has_types else [dtype for types in dialects.lookup(name).signatures for dtype in types]
    dtypes = [x.dtype if isinstance(x, Operators) else common_dtype(operands, accepted) for x in operands]  # type: ignore[attr-defined]
    constants = {name: _attribute(x) for name, x in attrs.items()}
    called = dialects.call(name, *map(operand, operands, dtypes), **constants)
    return Value(called, builder_of(*operands))


def _attribute(x: Operand | str) -> AttrValue | Expr:
    """An attribute as a dialect takes it: a number of Python, a name, or an expression."""
    if isinstance(x, Operators):
        return x.expr
    found = arguments.number(x)
    return x if found is None else found


def _reflected(op: Op, x: Number, y: Operators) -> Value:
    second = y.expr
    return Value(Apply(op, operand(x, second.dtype), second), y._builder)


def _divide(sign: Literal["/", "//", "%"], x: Operand, y: Operand) -> Value:
    dtype = common_dtype((x, y))
    if (sign == "/") != dtype.is_float or dtype.is_signed:
        written = "vy.div and vy.rem, which truncate, or vy.floor_div and vy.floor_mod"
        fix = f"write {written}; / is for floats, // and % unsigned"
        if sign == "/":
            whole = "vy.floor_div(x, y) or vy.div(x, y), which truncates," if dtype.is_signed else "x // y"
            fix = f"write {whole} for a whole number, or convert to a type of floats, as in vy.f32(x) / vy.f32(y)"
        elif dtype.is_float:
            written = "x - vy.floor(x / y) * y" if sign == "%" else "vy.floor(x / y)"
            fix = f"write {written}, where each operation is rounded"
        raise BuildError(f"Python's `{sign}` means something else than the program's division of {dtype}", fix=fix)
    return apply("rem" if sign == "%" else "div", x, y)


def common_dtype(operands: Sequence[Operand], accepted: Collection[DType] = DTYPES) -> DType:
    """Give the type of the operands that have one. The message for operands without one names a type of `accepted`.

    Raises:
        TypeMismatch: They have different ones.
        BuildError: None has one, or one is neither a value nor a number.
    """
    dtypes: list[DType] = list(dict.fromkeys(x.dtype for x in operands if isinstance(x, Operators)))  # type: ignore[attr-defined]
    if len(dtypes) > 1:
        got, wide = ", ".join(map(str, dtypes)), widest(dtypes)
        fix = f"convert the others with .cast({wide})"
        if any(_may_wrap(x.expr, wide) for x in operands if isinstance(x, Operators)):
            fix = f"convert what the others are computed from with .cast({wide}): in their type it may wrap"
        raise TypeMismatch(f"got values of {got}, expected one type", fix=fix)
    if dtypes:
        return dtypes[0]
    example = _with_type([_number(x) for x in operands], accepted)
    raise BuildError("none of the operands has a type", fix=f"give one of them a type, as in {example}")


def _with_type(numbers: Sequence[Number], accepted: Collection[DType]) -> str:
    """One of `numbers` as it is written with a type: the first of `accepted` that holds all of them, if one does."""
    number = next((x for x in numbers if isinstance(x, float)), numbers[0])
    whole = [bool_] if all(isinstance(x, bool) for x in numbers) else [u32, i32, u64, i64]
    holding = (
        [] if isinstance(number, float) else [t for t in whole if all(t.lowest <= x <= t.highest for x in numbers)]
    )
    dtype = next((t for t in (*holding, f32, u32) if t in accepted), f32)
    shown = number if isfinite(number) and (dtype.is_float or not isinstance(number, float)) else 1
    return f"vy.{'bool_' if dtype is bool_ else dtype.name}({shown!r})"


def builder_of(*operands: object) -> RecordingState | None:
    """Give the builder of the operands that have one; `BuildError` if two have different ones."""
    found: RecordingState | None = None
    for x in operands:
        if isinstance(x, Operators) and x._builder is not found:
            found = _common_builder(found, x._builder)
    return found


def _common_builder(first: RecordingState | None, second: RecordingState | None) -> RecordingState | None:
    if first is None or second is None:
        return first or second
    raise refuse_foreign("a value", second, first)


def refuse_foreign(what: str, other: RecordingState, own: RecordingState) -> BuildError:
    """The error for what belongs to another program."""
    fix = "make it in this program too; between launches, pass results as outputs and inputs"
    return BuildError(f"got {what} of another program, {other.name!r}, in program {own.name!r}", fix=fix)


_WRAP = ("add", "sub", "mul", "neg", "shl")
"""Operations of integers whose results may not fit their type."""
_NARROW = 2
"""Bytes of the types in which sums and products of elements often do not fit."""


def conversion_fix(value: Expr, dtype: DType, name: str) -> str:
    """What to convert to a type, which is called `name` there: a value, or before it wraps what it is computed from."""
    if _may_wrap(value, dtype):
        return f"convert what it is computed from with .cast({name}): in {value.dtype} it may wrap"
    return f"convert it with .cast({name})"


def _may_wrap(value: Expr, dtype: DType) -> bool:
    """Whether integers are computed in a type that may not hold the result, and a type may that is wanted."""
    return value.dtype.is_integer and (dtype.is_float or dtype.size > value.dtype.size) and _is_wrapping(value)


def _is_wrapping(root: Expr) -> bool:
    """Whether an integer is computed from what may have wrapped in its type; of a narrow local, that is not known."""
    seen, work = {root}, [root]
    while work:
        node = work.pop()
        if isinstance(node, Local) and node.dtype.size <= _NARROW:
            return True
        if isinstance(node, Apply) and node.op.id in _WRAP:
            return True
        parts = node.args if isinstance(node, (Apply, SelectExpr)) else ()
        work += [part for part in parts if part.dtype is root.dtype and part not in seen]
        seen.update(work)
    return False


def operand(x: Operand, dtype: DType | None, builder: RecordingState | None = None) -> Expr:
    """`x` as an expression, for use in the program of a builder; a number becomes a literal of `dtype`."""
    if x.__class__ is int and dtype is not None and not dtype.is_float:
        return literal(dtype, x)
    if isinstance(x, Operators):
        if builder is not None and x._builder is not builder and x._builder is not None:
            raise refuse_foreign("a value", x._builder, builder)
        found = x.expr
        if dtype is not None and found.dtype is not dtype:
            fix = "compare it, as in x != 0" if dtype is bool_ else conversion_fix(found, dtype, str(dtype))
            raise TypeMismatch(f"got a value of {found.dtype}, expected {dtype}", fix=fix)
        return found
    number = _number(x)
    if dtype is None:
        raise BuildError(f"{number!r} has no type here", fix="give it a type, as in vy.u32(1), or pass a dtype")
    made = literal(dtype, number)
    if dtype.is_float and isinf(made.value) and not (isinstance(number, float) and isinf(number)):
        fix = "use a type that holds it, or write float('inf')"
        raise LiteralOutOfRange(f"{arguments.shown(number)} is not a value of {dtype}", fix=fix)
    return made


def _number(x: object) -> Number:
    number = arguments.number(x)
    if number is None:
        raise BuildError(f"got {type(x).__name__}, expected a value or a number", fix=_remedy(x))
    return number


def _remedy(x: object) -> str:
    """What to do instead of passing `x` as an operand."""
    if isinstance(x, (str, bytes)):
        return arguments.code_of(x)
    if x is None:
        return "use what returns a value: .set(…), barriers and stores return nothing"
    if isinstance(x, np.ndarray):
        return "index it, as an input or a p.constant(…) of the program; on the host call NumPy's function"
    if hasattr(x, "decl"):
        return "index the buffer, as in buffer[i]"
    if hasattr(x, "__dlpack__"):
        return "pass the array to a kernel or a program, which computes with its elements"
    if hasattr(x, "__enter__"):
        return "open the block in a `with` statement; a loop gives its counter there, as in `with p.range(n) as k`"
    return "pass values of this program or numbers"


def index_of(x: object, name: str, builder: RecordingState) -> Expr:
    """`x`, an operand, as an index of the buffer called `name` in the program of a builder."""
    if isinstance(x, Operators):
        return operand(x, None, builder)
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        if x < 0:
            fix = "indices do not count from the end: use buffer.length - 1"
            raise BuildError(f"index {x} is out of bounds", fix=fix)
        return literal(u32, int(x))
    fix = "pass an integer, or a value of an integer type"
    if isinstance(x, tuple):
        fix = "buffers have one dimension: compute the index, as in row * columns + column"
    elif isinstance(x, slice):
        fix = "load and store one element at a time, in a loop with p.range(…)"
    elif isinstance(x, float):
        fix = "pass an integer; a float value becomes one with .cast(u32)"
    raise BuildError(f"got {arguments.shown(x)} as an index of {name!r}, expected an integer", fix=fix)
