"""The builder: programs written as Python.

    with program("xor", workgroup_size=64) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] ^ b[i]
    xor = p.build()

A `Value` is an expression with Python's operators; numbers take the type of the other operand. Reading memory that the
program can write, or a mutable local, binds the value where it is read, so that it stays what it was: Python's order of
evaluation is the program's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np

from vyre_foundation.collector import rare_collections
from vyre_foundation.dtype import DType, bf16, bool_, u32
from vyre_foundation.errors import BuildError, TypeMismatch
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, Count, LengthOf, Memory
from vyre_foundation.ir.expr import (
    SMALL_LITERALS,
    Apply,
    Bitcast,
    Cast,
    Expr,
    Id,
    IdKind,
    Length,
    Load,
    Local,
    binary,
    literal,
)
from vyre_foundation.ir.expr import Select as SelectExpr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    AtomicOp,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    IndirectDispatch,
    Let,
    Region,
    Return,
    Scope,
    Stmt,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
    Var,
)  # fmt: skip
from vyre_foundation.ir.walk import (
    bodies,
    expressions,
    postorder,
    rewrite,
    rewrite_body,
    statements,
    with_expressions,
)
from vyre_foundation.ops import OPS, Op, arithmetic, bitwise, compare

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_foundation.attributes import AttrValue

Number: TypeAlias = "bool | int | float"
Operand: TypeAlias = "Operators | Number"


def _infix(op: Op) -> Callable[[Operators, Operand], Value]:
    """The method of an infix operator. Most of a program is made in it, so it does at once what is nearly always so."""

    def method(self: Operators, other: Operand) -> Value:
        first = self.expr
        if other.__class__ is Value:
            second = other.expr
        elif other.__class__ is int:
            second = SMALL_LITERALS[first.dtype].get(other) or literal(first.dtype, other)
        else:
            second = _operand(other, first.dtype)
        value = _new(Value)  # saves a third of the time of `Value(…)`
        value.expr = binary(op, first, second)
        return value

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
    def __neg__(self) -> Value: return apply("neg", self)
    def __abs__(self) -> Value: return apply("abs", self)
    def __invert__(self) -> Value: return apply("not", self)
    # fmt: on


class Value(Operators):
    """An expression with operators."""

    __slots__ = ("expr",)

    expr: Expr

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    @property
    def dtype(self) -> DType:
        return self.expr.dtype

    def __repr__(self) -> str:
        return f"<{self.dtype} {self.expr!r}>"

    def __bool__(self) -> NoReturn:
        raise BuildError(
            f"the truth of {self!r} is not known while the program is built",
            fix="use p.if_(…), select(…), or & and | instead of `and` and `or`",
        )

    def cast(self, dtype: DType) -> Value:
        """This value converted to `dtype`: integers wrap, floats to integers saturate, NaN gives 0."""
        return self if dtype is self.dtype else Value(Cast(dtype, self.expr))

    def bitcast(self, dtype: DType) -> Value:
        """The bits of this value read as `dtype`, a type of the same width."""
        return self if dtype is self.dtype else Value(Bitcast(dtype, self.expr))


class Mutable(Operators):
    """A mutable local. Use it like a value; every use reads it. `set` gives it another value."""

    __slots__ = ("_builder", "_local")

    def __init__(self, builder: ProgramBuilder, local: Local) -> None:
        self._builder, self._local = builder, local

    @property
    def dtype(self) -> DType:
        return self._local.dtype

    def get(self) -> Value:
        """The value at this point of the program."""
        return self._builder._bind(self._local)

    @property
    def expr(self) -> Expr:
        """The value at this point of the program, as an expression."""
        return self.get().expr

    def set(self, value: Operand) -> None:
        self._builder._emit(Assign(self._local.name, _operand(value, self._local.dtype)))

    def cast(self, dtype: DType) -> Value:
        return self.get().cast(dtype)

    def bitcast(self, dtype: DType) -> Value:
        return self.get().bitcast(dtype)

    def __bool__(self) -> NoReturn:
        bool(self.get())
        raise AssertionError("unreachable")


class Array:
    """A buffer inside a program: index it to load, assign to an index to store."""

    __slots__ = ("_builder", "decl")

    def __init__(self, builder: ProgramBuilder, decl: Buffer) -> None:
        self._builder, self.decl = builder, decl

    @property
    def dtype(self) -> DType:
        return self.decl.dtype

    @property
    def length(self) -> Value:
        """The element count that is bound at launch, u32."""
        return Value(Length(self.decl))

    def __len__(self) -> NoReturn:
        raise BuildError(
            f"the length of {self.decl.name!r} is not known while the program is built", fix="use `.length`"
        )

    def __iter__(self) -> NoReturn:
        raise BuildError(f"{self.decl.name!r} has no length yet", fix="loop with p.range(0, buffer.length)")

    def __getitem__(self, index: Operand) -> Value:
        access = self.decl.access
        if not access.reads:
            raise BuildError(f"{self.decl.name!r} is write-only", fix="declare it with p.read_write(…)")
        load = Load(self.decl, _index(index))
        return self._builder._bind(load) if access.writes else Value(load)

    def __setitem__(self, index: Operand, value: Operand) -> None:
        if not self.decl.access.writes:
            raise BuildError(f"{self.decl.name!r} is read-only", fix="declare it with p.write(…) or p.read_write(…)")
        self._builder._emit(Store(self.decl, _index(index), _operand(value, self.dtype)))

    # fmt: off
    def atomic_add(self, index: Operand, value: Operand) -> Value: return self._atomic(AtomicOp.ADD, index, value)
    def atomic_and(self, index: Operand, value: Operand) -> Value: return self._atomic(AtomicOp.AND, index, value)
    def atomic_or(self, index: Operand, value: Operand) -> Value: return self._atomic(AtomicOp.OR, index, value)
    def atomic_xor(self, index: Operand, value: Operand) -> Value: return self._atomic(AtomicOp.XOR, index, value)
    def atomic_min(self, index: Operand, value: Operand) -> Value: return self._atomic(AtomicOp.MIN, index, value)
    def atomic_max(self, index: Operand, value: Operand) -> Value: return self._atomic(AtomicOp.MAX, index, value)
    # fmt: on

    def atomic_exchange(self, index: Operand, value: Operand) -> Value:
        """Write `value`; gives the old value, as all atomics do."""
        return self._atomic(AtomicOp.EXCHANGE, index, value)

    def atomic_compare_exchange(self, index: Operand, expected: Operand, value: Operand) -> Value:
        """Write `value` where the old value equals `expected`; gives the old value."""
        return self._atomic(AtomicOp.COMPARE_EXCHANGE, index, value, _operand(expected, self.dtype))

    def _atomic(self, op: AtomicOp, index: Operand, value: Operand, expected: Expr | None = None) -> Value:
        name = self._builder._fresh("old")
        operand = _operand(value, self.dtype)
        self._builder._emit(Atomic(op, self.decl, _index(index), operand, expected, name))
        return Value(Local(name, self.dtype))


class ProgramBuilder:
    """Collects buffers and statements; `build()` gives the program. Made by `program(…)`."""

    def __init__(self, name: str, workgroup_size: int | Sequence[int], subgroup_size: int | None) -> None:
        sizes = (workgroup_size,) if isinstance(workgroup_size, int) else tuple(workgroup_size)
        if not 1 <= len(sizes) <= 3:
            raise BuildError(f"workgroup_size has {len(sizes)} axes", fix="give one, two or three sizes")
        x, y, z = (*sizes, 1, 1)[:3]
        self.name = name
        self.workgroup_size = (x, y, z)
        self.subgroup_size = subgroup_size
        self._buffers: list[Buffer] = []
        self._names: set[str] = set()
        self._fresh_counts: dict[str, int] = {}
        self._bodies: list[list[Stmt]] = [[]]
        self._open = ExitStack()

    def __enter__(self) -> ProgramBuilder:
        self._open.enter_context(rare_collections())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        if kind is None and len(self._bodies) != 1:
            raise BuildError("a block is still open at the end of the program", fix="leave every `with p.if_(…)` block")

    if not TYPE_CHECKING:  # there, a name that a builder has not is an error already

        def __getattr__(self, name: str) -> NoReturn:
            """Whoever asks for what the program has, as every function of a program does, was given its builder."""
            missing = f"{type(self).__name__!r} object has no attribute {name!r}"
            fix = ": this is a builder, not a program. Fix: pass what its build() returns"
            is_of_program = name in Program.__annotations__ or hasattr(Program, name)
            raise AttributeError(missing + fix * is_of_program, name=name, obj=self)

    # ── buffers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, name: str, dtype: DType, count: int | None = None, *, like: Array | None = None) -> Array:
        """An input. Its length is the length of what is bound at launch, unless `count` or `like` fixes it."""
        return self._declare(name, dtype, Access.READ, Memory.STORAGE, count, like)

    def write(
        self,
        name: str,
        dtype: DType,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        output_range: tuple[int, int] | None = None,
    ) -> Array:
        """An output, zero before the dispatch. Its length is `count`, or that of the buffer `like`."""
        return self._declare(name, dtype, Access.WRITE, Memory.STORAGE, count, like, output_range=output_range)

    def read_write(
        self,
        name: str,
        dtype: DType,
        count: int | None = None,
        *,
        like: Array | None = None,
        output_range: tuple[int, int] | None = None,
    ) -> Array:
        """An input that is also an output."""
        return self._declare(name, dtype, Access.READ_WRITE, Memory.STORAGE, count, like, output_range=output_range)

    def uniform(self, name: str, dtype: DType, count: int | None = None) -> Array:
        """A small input that is the same for all invocations."""
        return self._declare(name, dtype, Access.READ, Memory.UNIFORM, count, None)

    def constant(self, name: str, dtype: DType, values: npt.ArrayLike) -> Array:
        """A table embedded in the program."""
        table = _table(dtype, np.asarray(values))
        if table is None:
            raise BuildError(f"the values of {name!r} do not fit {dtype}", fix="use a wider type for the table")
        return self._declare(name, dtype, Access.READ, Memory.CONSTANT, table.size, None, data=table.tobytes())

    def workgroup(self, name: str, dtype: DType, count: int) -> Array:
        """Memory that the invocations of a workgroup share, zero when the workgroup starts."""
        return self._declare(name, dtype, Access.READ_WRITE, Memory.WORKGROUP, count, None)

    def private(self, name: str, dtype: DType, count: int) -> Array:
        """A small array of each invocation, zero at first."""
        return self._declare(name, dtype, Access.READ_WRITE, Memory.PRIVATE, count, None)

    def scratch(self, name: str, dtype: DType, count: Count | None = None, *, like: Array | None = None) -> Array:
        """Memory of the dispatch that the host does not see, zero at first."""
        return self._declare(name, dtype, Access.READ_WRITE, Memory.SCRATCH, count, like)

    def persistent(
        self, name: str, dtype: DType, count: int | LengthOf | None = None, *, like: Array | None = None
    ) -> Array:
        """Memory that a compiled pipeline keeps on the device between dispatches, zero at first."""
        return self._declare(name, dtype, Access.READ_WRITE, Memory.PERSISTENT, count, like)

    # ── where am I ───────────────────────────────────────────────────────────────────────────────────────────────────

    # fmt: off
    def global_id(self, axis: int = 0) -> Value: return Value(Id(IdKind.GLOBAL_ID, axis))
    def local_id(self, axis: int = 0) -> Value: return Value(Id(IdKind.LOCAL_ID, axis))
    def workgroup_id(self, axis: int = 0) -> Value: return Value(Id(IdKind.WORKGROUP_ID, axis))
    def num_workgroups(self, axis: int = 0) -> Value: return Value(Id(IdKind.NUM_WORKGROUPS, axis))
    def subgroup_lane(self) -> Value: return Value(Id(IdKind.SUBGROUP_LANE))
    def subgroup_size_(self) -> Value: return Value(Id(IdKind.SUBGROUP_SIZE))
    # fmt: on

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def let(self, value: Operand, dtype: DType | None = None, name: str = "t") -> Value:
        """Bind `value` here, once."""
        fresh = self._fresh(name)
        expr = _operand(value, dtype)
        self._emit(Let(fresh, expr))
        return Value(Local(fresh, expr.dtype))

    def var(self, value: Operand, dtype: DType | None = None, name: str = "v") -> Mutable:
        """A mutable local that starts as `value`."""
        fresh = self._fresh(name)
        expr = _operand(value, dtype)
        self._emit(Var(fresh, expr))
        return Mutable(self, Local(fresh, expr.dtype))

    @contextmanager
    def if_(self, condition: Operand) -> Iterator[None]:
        """Statements that run where `condition` holds; an `else_` block may follow."""
        test = _operand(condition, bool_)
        with self._block() as body:
            yield
        self._emit(If(test, tuple(body)))

    @contextmanager
    def else_(self) -> Iterator[None]:
        """Statements that run where the condition of the `if_` before does not hold."""
        before = self._bodies[-1][-1] if self._bodies[-1] else None
        if not isinstance(before, If) or before.orelse:
            raise BuildError("else_ does not follow an if_ block", fix="open it right after the `with p.if_(…)` block")
        with self._block() as body:
            yield
        self._bodies[-1][-1] = If(before.condition, before.then, tuple(body))

    @contextmanager
    def range(
        self, start: Operand, stop: Operand | None = None, step: int = 1, dtype: DType | None = None, name: str = "i"
    ) -> Iterator[Value]:
        """Count from `start` while below `stop`, or from 0 below the only bound that is given; both are read once.

        The counter has the type of the bounds, or u32.
        """
        start, stop = (0, start) if stop is None else (start, stop)
        known = [x.dtype for x in (start, stop) if isinstance(x, (Value, Mutable))]
        dtype = dtype or (known[0] if known else u32)
        first, last = _operand(start, dtype), _operand(stop, dtype)
        counter = Local(self._fresh(name), dtype)
        with self._block() as body:
            yield Value(counter)
        self._emit(For(counter.name, first, last, step, tuple(body)))

    @contextmanager
    def region(self, label: str) -> Iterator[None]:
        """Statements whose origin `label` tells; nothing else."""
        with self._block() as body:
            yield
        self._emit(Region(label, tuple(body)))

    def break_(self) -> None:
        self._emit(Break())

    def continue_(self) -> None:
        self._emit(Continue())

    def return_(self) -> None:
        self._emit(Return())

    def barrier(self) -> None:
        """Wait for the workgroup; its writes before are visible after."""
        self._emit(Barrier(Scope.WORKGROUP))

    def grid_barrier(self) -> None:
        """Wait for the whole grid; its writes before are visible after."""
        self._emit(Barrier(Scope.GRID))

    def trap(self, code: Operand, tag: str) -> None:
        """Record a failure: the dispatch raises with `tag`, `code` (u32) and the lowest failing invocation."""
        self._emit(Trap(_operand(code, u32), tag))

    def subgroup(self, op: SubgroupOp | str, value: Operand, lane: Operand | None = None) -> Value:
        """A collective of the subgroup, by name: "reduce_add", "shuffle_xor", "ballot", …"""
        op = SubgroupOp(op)
        operand = _operand(value, bool_ if op in (SubgroupOp.BALLOT, SubgroupOp.ANY, SubgroupOp.ALL) else None)
        name = self._fresh("sub")
        self._emit(Subgroup(op, operand, None if lane is None else _operand(lane, u32), name))
        return Value(Local(name, op.result_type(operand.dtype)))

    def indirect_dispatch(self, buffer: Array, offset: int = 0) -> None:
        """Take the grid from three u32 elements of `buffer`, an input."""
        self._emit(IndirectDispatch(buffer.decl, offset))

    # ── the result ───────────────────────────────────────────────────────────────────────────────────────────────────

    def build(self) -> Program:
        """The program, validated: `InvalidProgram` lists every finding."""
        result = self.build_unchecked()
        result.validate()
        return result

    def build_unchecked(self) -> Program:
        """The program, not validated."""
        if len(self._bodies) != 1:
            raise BuildError("a block is still open", fix="build after the `with` block has ended")
        body = _inline_adjacent_lets(_drop_unused_results(tuple(self._bodies[0])))
        buffers = tuple(sorted(self._buffers, key=lambda b: (b.binding is None, b.binding or 0)))
        return Program(self.name, buffers, self.workgroup_size, body, self.subgroup_size)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _declare(
        self,
        name: str,
        dtype: DType,
        access: Access,
        memory: Memory,
        count: Count | None,
        like: Array | None,
        **rest: Any,
    ) -> Array:
        if count is not None and like is not None:
            raise BuildError(f"{name!r} has both a count and a buffer it is like", fix="give one of them")
        if like is not None:
            count = LengthOf(like.decl.name)
        if name in self._names:
            raise BuildError(f"the name {name!r} is taken", fix="give every buffer a name of its own")
        binding = sum(b.binding is not None for b in self._buffers) if memory.is_bound else None
        decl = Buffer(name, dtype, access, memory, RUNTIME if count is None else count, binding, **rest)
        self._names.add(name)
        self._buffers.append(decl)
        return Array(self, decl)

    def _emit(self, stmt: Stmt) -> None:
        self._bodies[-1].append(stmt)

    def _bind(self, expr: Expr) -> Value:
        name = self._fresh("t")
        self._emit(Let(name, expr))
        return Value(Local(name, expr.dtype))

    def _fresh(self, stem: str) -> str:
        count = self._fresh_counts.get(stem, 0)
        self._fresh_counts[stem] = count + 1
        name = f"{stem}{count}"
        if name in self._names:
            return self._fresh(stem)
        self._names.add(name)
        return name

    @contextmanager
    def _block(self) -> Iterator[list[Stmt]]:
        body: list[Stmt] = []
        self._bodies.append(body)
        try:
            yield body
        finally:
            self._bodies.pop()


def program(name: str, workgroup_size: int | Sequence[int] = 64, subgroup_size: int | None = None) -> ProgramBuilder:
    """A builder for a program; `workgroup_size` is (x, y, z), or fewer, or x alone."""
    return ProgramBuilder(name, workgroup_size, subgroup_size)


def apply(op: Op | str, *operands: Operand) -> Value:
    """A row of the op table applied to operands; numbers take the type of the values among them."""
    row = OPS[op] if isinstance(op, str) else op
    dtype = _common_dtype(operands)
    return Value(Apply(row, *[_operand(x, dtype) for x in operands]))


def select(condition: Operand, if_true: Operand, if_false: Operand) -> Value:
    """`if_true` where `condition` holds, else `if_false`."""
    dtype = _common_dtype((if_true, if_false))
    return Value(SelectExpr(_operand(condition, bool_), _operand(if_true, dtype), _operand(if_false, dtype)))


def constant(dtype: DType, value: Number) -> Value:
    """A literal of the type `dtype`."""
    return Value(literal(dtype, value))


def call(callee: str, *operands: Operand, **attrs: AttrValue) -> Value:
    """An op of a registered dialect; `attrs` are its attributes by name."""
    from vyre_foundation import dialect  # few programs call

    dtypes = [x.dtype if isinstance(x, (Value, Mutable)) else _common_dtype(operands) for x in operands]
    return Value(dialect.call(callee, *map(_operand, operands, dtypes), **attrs))


def _reflected(op: Op, x: Number, y: Operators) -> Value:
    second = y.expr
    return Value(binary(op, _operand(x, second.dtype), second))


def _divide(sign: Literal["/", "//", "%"], x: Operand, y: Operand) -> Value:
    dtype = _common_dtype((x, y))
    if (sign == "/") != dtype.is_float or dtype.is_signed:
        raise BuildError(
            f"Python's `{sign}` means something else than the program's division of {dtype}",
            fix='write apply("div", x, y) or apply("rem", x, y), which truncate; / is for floats, // and % unsigned',
        )
    return apply("rem" if sign == "%" else "div", x, y)


def _common_dtype(operands: Sequence[Operand]) -> DType:
    for x in operands:
        if isinstance(x, (Value, Mutable)):
            return x.dtype
    raise BuildError("none of the operands has a type", fix="make one of them a value with constant(dtype, number)")


def _operand(x: Operand, dtype: DType | None) -> Expr:
    """`x` as an expression; a number becomes a literal of `dtype`."""
    if dtype is not None and x.__class__ is int:
        return literal(dtype, x)
    if isinstance(x, Value):
        if dtype is not None and x.expr.dtype is not dtype:
            raise TypeMismatch(f"got a value of {x.dtype}, expected {dtype}", fix=f"convert it with .cast({dtype})")
        return x.expr
    if isinstance(x, (bool, int, float, np.generic)):
        if dtype is None:
            raise BuildError(f"{x!r} has no type here", fix="pass a dtype, or constant(dtype, number)")
        return literal(dtype, x.item() if isinstance(x, np.generic) else x)
    if isinstance(x, Mutable):
        return x.expr
    raise BuildError(
        f"got {type(x).__name__}, expected a value or a number", fix="pass values of this program or numbers"
    )


def _index(x: Operand) -> Expr:
    if isinstance(x, Value):
        return x.expr
    is_number = isinstance(x, (int, np.integer))
    if is_number and x < 0:
        raise BuildError(f"index {x} is out of bounds", fix="indices do not count from the end: use buffer.length - 1")
    return _operand(x, u32 if is_number else None)


def _table(dtype: DType, values: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """`values` in `dtype`: floats are rounded; None if an integer or bool would not keep its value."""
    if dtype is bf16 and values.dtype.itemsize > 4:  # its own conversion rounds twice, to f32 first
        return np.array([literal(bf16, value).bits for value in values.ravel().tolist()], np.uint16).view(dtype.numpy)
    if dtype.is_float:
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(dtype.numpy)
    if values.dtype.kind == "f" and not ((values >= dtype.lowest) & (values < dtype.highest + 1)).all():
        return None
    try:
        table = values.astype(dtype.numpy)
    except (OverflowError, TypeError, ValueError):
        return None
    return table if np.array_equal(table, values) else None


def _drop_unused_results(body: Body) -> Body:
    """Results of atomics and collectives that nobody reads lose their names: not used means not observed."""
    stmts = list(statements(body))
    if not any(isinstance(stmt, (Atomic, Subgroup)) for stmt in stmts):
        return body
    nodes = postorder([e for stmt in stmts for e in expressions(stmt)])
    used = {node.name for node in nodes if isinstance(node, Local)}

    def drop(stmt: Stmt) -> Stmt:
        if isinstance(stmt, (Atomic, Subgroup)) and stmt.result is not None and stmt.result not in used:
            return replace(stmt, result=None)
        return stmt

    return rewrite_body(body, drop)


def _inline_adjacent_lets(body: Body) -> Body:
    """``let t0 = e; use(t0)`` → ``use(e)`` where that is the only use: nothing happens between the two."""
    if not any(isinstance(stmt, Let) and _is_temporary(stmt.name) for stmt in statements(body)):
        return body
    inlined = _adjacent_lets(body, _only_users(body))
    values: dict[Expr, Expr] = {}
    memo: dict[Expr, Expr] = {}  # one for all: a local that is replaced has one use

    def with_values(root: Expr) -> Expr:
        return rewrite(root, lambda node: values.get(node, node), memo)

    def inline(stmt: Stmt) -> Stmt | Body:
        if isinstance(stmt, Let) and id(stmt) in inlined:
            values[Local(stmt.name, stmt.value.dtype)] = with_values(stmt.value)
            return ()
        return with_expressions(stmt, with_values)

    return rewrite_body(body, inline) if inlined else body


def _is_temporary(name: str) -> bool:
    return name.startswith("t")


def _only_users(body: Body) -> dict[str, int]:
    """The identity of the one statement that uses a local, and in one expression only, for each local that has one."""
    owners: dict[Expr, int] = {}
    users = [(id(stmt), root) for stmt in statements(body) for root in expressions(stmt)]
    for number, (_, root) in enumerate(users):
        stack = [(root, number)]
        while stack:
            node, owner = stack.pop()
            known = owners.get(node)
            if known != owner and known != _SEVERAL:
                owners[node] = owner = owner if known is None else _SEVERAL
                stack.extend((operand, owner) for operand in node.args)
    locals = ((node.name, owner) for node, owner in owners.items() if isinstance(node, Local))
    return {name: users[owner][0] for name, owner in locals if owner != _SEVERAL}


_SEVERAL = -1


def _adjacent_lets(body: Body, users: dict[str, int]) -> set[int]:
    """The identities of the temporaries that the statement behind them uses, or one that goes into it itself."""
    found: set[int] = set()
    behind: set[int] = set()
    for stmt in reversed(body):
        for nested in bodies(stmt):
            found |= _adjacent_lets(nested, users)
        if isinstance(stmt, Let) and _is_temporary(stmt.name) and users.get(stmt.name) in behind:
            found.add(id(stmt))
            behind.add(id(stmt))
        else:
            behind = {id(stmt)}
    return found
