"""What a name in a kernel stands for beside values of the builder and objects of Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from vyre.kernels.aggregates import FieldType, StructType, StructValue, Vector, VectorType
from vyre_foundation.build import Array, Value, constant, select
from vyre_foundation.build.arguments import number, shown
from vyre_foundation.build.memory import AxisLength
from vyre_foundation.dtype import DType, bool_, f32, i32, i64
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Access

if TYPE_CHECKING:
    import ast

Number: TypeAlias = "bool | int | float"


@dataclass(frozen=True, slots=True)
class NumberChoice:
    """Numbers of which the program chooses one. They get a type where they meet a value."""

    condition: Value
    if_true: NumberChoice | Number
    if_false: NumberChoice | Number

    def map(self, compute: Callable[[Number], Number]) -> NumberChoice:
        """Apply a function to each of the numbers."""

        def one(arm: NumberChoice | Number) -> NumberChoice | Number:
            return arm.map(compute) if isinstance(arm, NumberChoice) else compute(arm)

        return NumberChoice(self.condition, one(self.if_true), one(self.if_false))

    def typed(self, literal: Callable[[Number], Value]) -> Value:
        """The chosen number as a value; `literal` gives the numbers their type."""

        def one(arm: NumberChoice | Number) -> Value:
            return arm.typed(literal) if isinstance(arm, NumberChoice) else literal(arm)

        return select(self.condition, one(self.if_true), one(self.if_false))

    def truth(self) -> Value:
        """Whether the chosen number is not 0."""
        if self.if_true is True and self.if_false is False:
            return self.condition
        return self.typed(lambda number: constant(bool_, bool(number)))


@dataclass(frozen=True, slots=True)
class KernelArray:
    """An array in a kernel."""

    array: Array
    place: str
    """What it is called in the kernel, for messages."""
    element: StructType | VectorType | None = None
    """What an element is, if it is no number: then the last axis of the array is the parts of one."""

    @property
    def axes(self) -> tuple[AxisLength, ...]:
        """The lengths of its axes in the order of NumPy's shapes."""
        return self.array.shape if self.element is None else self.array.shape[:-1]

    @property
    def dtype(self) -> DType | StructType | VectorType:
        """The type of the elements."""
        return self.array.dtype if self.element is None else self.element

    @property
    def is_result(self) -> bool:
        """Whether the launch gives its elements to the caller."""
        return self.array.decl.memory.is_host_visible and self.array.decl.access is not Access.READ

    @property
    def size(self) -> int | Value:
        """The number of elements."""
        length = self.array.length
        if self.element is None:
            return length
        parts = self.array.shape[-1]
        return length // parts


@dataclass(frozen=True, slots=True)
class ElementPart:
    """A part of the elements of an array of structures or vectors: a field, a component, or all of it.

    Without indices it is that part of all elements, as ``particles.mass``.
    """

    array: KernelArray
    indices: tuple[int | Value, ...] | None
    type: FieldType
    offset: int
    """Where the part begins in an element, in bytes."""
    name: str
    """What it is called in the kernel, for messages."""


class Unbound:
    """Marks a name that has no value that a program may read here; reading it is an error."""

    def __init__(self, message: str, fix: str) -> None:
        self.message, self.fix = message, fix


@dataclass(frozen=True, slots=True)
class Merged:
    """Marks a name to which every branch of an ``if`` gives a value.

    The first read asks for a variable that is declared before the branches.
    """

    block: int
    name: str
    values: tuple[object, ...]
    node: ast.AST

    def all(self) -> Iterator[Merged]:
        """Itself, and those among its values, and among theirs, each once."""
        known, stack = set(), [self]
        while stack:
            merged = stack.pop()
            if id(merged) not in known:
                known.add(id(merged))
                yield merged
                stack.extend(x for x in merged.values if isinstance(x, Merged))


@dataclass(slots=True, eq=False)
class LoopName:
    """Marks a name that a loop of the program may change, and that has no variable before it.

    It stands for what the name stood for `before`. Once the loop gives the name a value that has a type, the compiler
    reads the kernel again, with a variable before the loop.
    """

    block: int
    name: str
    before: object
    line: int
    """That of the first assignment in the loop."""
    scaled: ast.AST | None = None
    """What computes a multiple of it in the loop, if something does."""
    is_read: bool = False
    is_changed: bool = False

    def unbound(self) -> Unbound:
        """What the name stands for where the loop has changed it."""
        kind = "a vector" if isinstance(self.before, Vector) else shown(self.before)
        message = f"{self.name!r} is {kind} before a loop, and line {self.line} changes it there"
        fix = f"give it a number before the loop, with a type, as in {self.name} = vy.f32(0)"
        plain = number(self.before)
        if plain is not None:
            fix = f"make it a variable of the program, with a type, as in {self.name} = {typed_text(plain)}"
        elif isinstance(self.before, list):
            made = f"vy.private(vy.f32, {len(self.before)})"
            fix = f"make it a tuple, and give the name another one in the loop, or use an array, {made}"
        elif isinstance(self.before, tuple) and any(number(x) is not None for x in self.before):
            dtype = f32 if any(isinstance(x, float) for x in self.before) else None
            typed = ", ".join("…" if number(x) is None else typed_text(x, dtype) for x in self.before)
            comma = "," if len(self.before) == 1 else ""
            made = f"vy.vec({typed})" if isinstance(self.before, Vector) else f"({typed}{comma})"
            fix = f"give its numbers types, as in {self.name} = {made}"
        return Unbound(message, fix)


def public_name(dtype: DType) -> str:
    """The name of a type in `vyre`."""
    return "bool_" if dtype is bool_ else dtype.name


def typed_text(x: Number, dtype: DType | None = None) -> str:
    """How a number is written with a type: the given one, or one that holds it."""
    if dtype is None:
        dtype = bool_ if isinstance(x, bool) else f32 if isinstance(x, float) else i32 if -(2**31) <= x < 2**31 else i64
    text = repr(x) if math.isfinite(x) else f'float("{x}")'
    return f"vy.{public_name(dtype)}({text})"


def has_type_or_number(x: object) -> bool:
    """Whether a variable of the program can have it."""
    return isinstance(x, (Value, NumberChoice)) or number(x) is not None


def common_type(before: object, after: object) -> DType | None:
    """The type of a variable that begins with a value or a number and gets another, if there is one."""
    if not has_type_or_number(before) or not has_type_or_number(after):
        return None
    if isinstance(before, Value):
        return before.dtype
    if not isinstance(after, Value):
        return bool_ if isinstance(number(before), bool) and isinstance(number(after), bool) else None
    return after.dtype if fits(before, after.dtype) else None


def fits(x: Any, dtype: DType) -> bool:
    """Whether a number, or each of those of a choice, is a value of a type."""
    if isinstance(x, NumberChoice):
        return fits(x.if_true, dtype) and fits(x.if_false, dtype)
    plain = number(x)
    if isinstance(plain, bool) or dtype is bool_:
        return isinstance(plain, bool) and dtype is bool_
    if isinstance(plain, float):
        return dtype.is_float
    assert plain is not None
    try:
        constant(dtype, plain)
    except VyreError:
        return False
    return True


def is_runtime(x: object) -> bool:
    """Whether an object is, or holds, what is known only when the program runs."""
    if isinstance(x, (Value, NumberChoice, KernelArray, ElementPart)):
        return True
    if isinstance(x, StructValue):
        return any(is_runtime(element) for element in x.values)
    if isinstance(x, (tuple, list, set, frozenset)):
        return any(is_runtime(element) for element in x)
    if isinstance(x, dict):
        return any(is_runtime(element) for element in x.values())
    return False


__all__ = [
    "ElementPart",
    "KernelArray",
    "LoopName",
    "Merged",
    "Number",
    "NumberChoice",
    "Unbound",
    "common_type",
    "fits",
    "has_type_or_number",
    "is_runtime",
    "public_name",
    "typed_text",
]  # fmt: skip
