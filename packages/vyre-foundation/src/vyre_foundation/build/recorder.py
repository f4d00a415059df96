"""The builder: collects the declarations and statements of a program."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from vyre_foundation.build import arguments
from vyre_foundation.build.blocks import Block
from vyre_foundation.build.caller import caller
from vyre_foundation.build.memory import Array, Mutable
from vyre_foundation.build.tidy import adjacent_lets, drop_unused_results, inline
from vyre_foundation.build.values import Operand, Value, operand
from vyre_foundation.dtype import bool_, u32
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import Access, Buffer, Count, LengthOf, Memory
from vyre_foundation.ir.expr import Expr, Id, IdKind, Local
from vyre_foundation.ir.origin import Line, Origin, Origins
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
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
    Subgroup,
    SubgroupOp,
    Trap,
    Var,
)  # fmt: skip
from vyre_foundation.ir.walk import statements

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_foundation.build.arguments import DTypeLike


class ProgramBuilder:
    """Collects buffers and statements; `build()` gives the program. Made by `program(…)`.

    What it is called with is checked at once: `BuildError`, `TypeMismatch`, `LiteralOutOfRange` and `DeclarationError`
    are raised where the caller's line stands. What only the whole program shows is a finding of `build`.
    """

    def __init__(self, name: str, workgroup_size: int | Sequence[int], subgroup_size: int | None) -> None:
        self.name = arguments.text(name, "the name of a program")
        self.workgroup_size = arguments.workgroup_sizes(workgroup_size)
        self.subgroup_size = None if subgroup_size is None else arguments.integer(subgroup_size, "subgroup_size")
        self._line = caller()
        self._buffers: list[Buffer] = []
        self._buffer_lines: list[Line] = []
        self._variables: list[tuple[Mutable, Line]] = []
        self._unopened: list[Block[object]] = []
        self._names: set[str] = set()
        self._fresh_counts: dict[str, int] = {}
        self._bodies: list[list[Stmt]] = [[]]
        self._lines: list[list[Line]] = [[]]
        """For each of the bodies the lines of all statements in it, inner ones too, in program order."""

    def __enter__(self) -> ProgramBuilder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and len(self._bodies) != 1:
            raise BuildError("a block is still open at the end of the program", fix="leave every `with p.if_(…)` block")

    if not TYPE_CHECKING:  # there, a name that a builder has not is an error already

        def __getattr__(self, name: str) -> NoReturn:
            """Every function of a program asks for what a program has: then it was given the builder."""
            missing = f"{type(self).__name__!r} object has no attribute {name!r}"
            fix = ": this is a builder, not a program. Fix: pass what its build() returns"
            is_of_program = name in Program.__annotations__ or hasattr(Program, name)
            raise AttributeError(missing + fix * is_of_program, name=name, obj=self)

    # ── buffers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(
        self, name: str, dtype: DTypeLike, count: int | LengthOf | None = None, *, like: Array | None = None
    ) -> Array:
        """Declare an input.

        Parameters: `name`, by which a launch binds it; `dtype`, the type of the elements; `count`, how many elements it
        has, a number or a rule; `like`, another buffer that is as long. Without either the launch decides.
        Returns: the buffer. It can be loaded from.
        Raises: `BuildError` for a name that is taken and for arguments of other kinds, `DeclarationError` for a
        declaration that contradicts itself.
        """
        return self._declare(name, dtype, Access.READ, Memory.STORAGE, count, like)

    def write(
        self,
        name: str,
        dtype: DTypeLike,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        output_range: tuple[int, int] | None = None,
    ) -> Array:
        """Declare an output, zero before the dispatch.

        Parameters: as for `read`; one of `count` and `like` is needed. With `like` the output takes the shape of the
        array that is passed for that buffer. `output_range`, the bytes start … stop that the host receives.
        Returns: the buffer. It can be stored to.
        Raises: as `read`.
        """
        return self._declare(name, dtype, Access.WRITE, Memory.STORAGE, count, like, output_range)

    def read_write(
        self,
        name: str,
        dtype: DTypeLike,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        output_range: tuple[int, int] | None = None,
    ) -> Array:
        """Declare an input that is also an output; the array that a caller passes stays as it is.

        Parameters: as for `read` and `write`.
        Returns: the buffer. It can be loaded from and stored to, and allows atomics.
        Raises: as `read`.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.STORAGE, count, like, output_range)

    def uniform(self, name: str, dtype: DTypeLike, count: int | None = None) -> Array:
        """Declare a small input that is the same for all invocations.

        Parameters: as for `read`. A uniform of one element also takes a number in `vyre.run`.
        Returns: the buffer. It can be loaded from.
        Raises: as `read`.
        """
        return self._declare(name, dtype, Access.READ, Memory.UNIFORM, count, None)

    def constant(self, name: str, dtype: DTypeLike, values: npt.ArrayLike) -> Array:
        """Declare a table that is embedded in the program.

        Parameters: `values`, numbers: floats are rounded, integers and bools must fit the type.
        Returns: the buffer. It can be loaded from.
        Raises: `BuildError` for values that are no numbers or do not fit; as `read`.
        """
        name, type_ = arguments.text(name, "the name of a buffer"), arguments.dtype_of(dtype)
        table = arguments.table_of(type_, values, name)
        return self._declare(name, type_, Access.READ, Memory.CONSTANT, table.size, None, data=table.tobytes())

    def workgroup(self, name: str, dtype: DTypeLike, count: int) -> Array:
        """Declare memory that the invocations of a workgroup share, zero when the workgroup starts.

        Parameters: as for `read`; `count` is needed. All workgroup memory of a program is at most 32 KiB (V012).
        Returns: the buffer. It can be loaded from and stored to, and allows atomics.
        Raises: as `read`.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.WORKGROUP, count, None)

    def private(self, name: str, dtype: DTypeLike, count: int) -> Array:
        """Declare a small array of each invocation, zero at first.

        Parameters: as for `read`; `count` is needed. All private memory of a program is at most 16 KiB (V012).
        Returns: the buffer. It can be loaded from and stored to.
        Raises: as `read`.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.PRIVATE, count, None)

    def scratch(self, name: str, dtype: DTypeLike, count: Count | None = None, *, like: Array | None = None) -> Array:
        """Declare memory of the dispatch that the host does not see, zero at first.

        Parameters: as for `write`; `count` may be `PerLaunch`, elements for each workgroup or invocation.
        Returns: the buffer. It can be loaded from and stored to, and allows atomics.
        Raises: as `read`.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.SCRATCH, count, like)

    def persistent(
        self, name: str, dtype: DTypeLike, count: int | LengthOf | None = None, *, like: Array | None = None
    ) -> Array:
        """Declare memory that a compiled pipeline keeps on the device between dispatches, zero at first.

        Parameters: as for `write`.
        Returns: the buffer. It can be loaded from and stored to, and allows atomics.
        Raises: as `read`.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.PERSISTENT, count, like)

    # ── where am I ───────────────────────────────────────────────────────────────────────────────────────────────────

    def global_id(self, axis: int = 0) -> Value:
        """The number of this invocation in the launch, on one axis.

        It is ``workgroup_id * workgroup_size + local_id`` (docs/language.md, "Launches"). The grid has whole
        workgroups, so it may lie beyond the end of an output: such stores do nothing.

        Parameters: `axis`, 0, 1 or 2 for x, y or z. For y and z a launch says `invocations`, or the grid.
        Returns: a value of u32.
        Raises: `TypeMismatch` for another axis, `BuildError` for what is no integer.
        """
        return Value(Id(IdKind.GLOBAL_ID, arguments.axis(axis)))

    def local_id(self, axis: int = 0) -> Value:
        """The number of this invocation in its workgroup, on one axis: 0 … size of the workgroup - 1.

        Parameters, returns, raises: as `global_id`.
        """
        return Value(Id(IdKind.LOCAL_ID, arguments.axis(axis)))

    def workgroup_id(self, axis: int = 0) -> Value:
        """The number of this workgroup in the grid, on one axis.

        Parameters, returns, raises: as `global_id`.
        """
        return Value(Id(IdKind.WORKGROUP_ID, arguments.axis(axis)))

    def num_workgroups(self, axis: int = 0) -> Value:
        """How many workgroups the grid has, on one axis.

        Parameters, returns, raises: as `global_id`.
        """
        return Value(Id(IdKind.NUM_WORKGROUPS, arguments.axis(axis)))

    def subgroup_lane(self) -> Value:
        """The number of this invocation in its subgroup. The program declares a `subgroup_size`.

        Returns: a value of u32.
        """
        return Value(Id(IdKind.SUBGROUP_LANE))

    def subgroup_size_(self) -> Value:
        """How many invocations a subgroup has: the `subgroup_size` of the program.

        Returns: a value of u32.
        """
        return Value(Id(IdKind.SUBGROUP_SIZE))

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def let(self, value: Operand, dtype: DTypeLike | None = None, name: str = "t") -> Value:
        """Compute a value here, once.

        Parameters: `value`; `dtype`, its type, needed for a number; `name`, how the local's name begins.
        Returns: the value, which stays what it is.
        Raises: `BuildError` for what is no value, or for a number without a type; `TypeMismatch` for another type.
        """
        fresh, expr = self._local(value, dtype, name)
        self._emit(Let(fresh, expr))
        return Value(Local(fresh, expr.dtype))

    def var(self, value: Operand, dtype: DTypeLike | None = None, name: str = "v") -> Mutable:
        """Make a mutable local.

        Parameters: `value`, its first value; `dtype`, its type, needed for a number; `name`, how its name begins.
        Returns: the variable, which `Mutable.set` and augmented assignments change.
        Raises: as `let`. `build` refuses a variable that is never set: `let` makes what does not change.
        """
        fresh, expr = self._local(value, dtype, name)
        self._emit(Var(fresh, expr))
        made = Mutable(self, Local(fresh, expr.dtype))
        self._variables.append((made, self._lines[-1][-1]))
        return made

    def if_(self, condition: Operand) -> Block[None]:
        """A block of statements that run where a condition holds: ``with p.if_(x > 0):``. `else_` may follow.

        Parameters: `condition`, a bool.
        Returns: the block, for a `with` statement. `build` refuses one that no `with` statement has opened.
        Raises: `TypeMismatch` for a condition that is no bool, `BuildError` for what is no value.
        """
        test = operand(condition, bool_)
        return Block(self, "p.if_(…)", lambda body: If(test, body), _nothing)

    def else_(self) -> Block[None]:
        """A block of statements that run where the condition of the `if_` block right before does not hold.

        Returns: the block, for a `with` statement.
        Raises: `BuildError` where no `if_` block stands before, or one that has an `else_` block.
        """

        def condition() -> If:
            before = self._bodies[-1][-1] if self._bodies[-1] else None
            if not isinstance(before, If) or before.orelse:
                fix = "open it right after the `with p.if_(…)` block"
                raise BuildError("else_ does not follow an if_ block", fix=fix)
            return before

        def both(body: Body) -> If:
            before = condition()
            del self._bodies[-1][-1]
            return If(before.condition, before.then, body)

        return Block(self, "p.else_()", both, lambda: _nothing(condition()), is_continued=True)

    def range(
        self,
        start: Operand,
        stop: Operand | None = None,
        step: int = 1,
        dtype: DTypeLike | None = None,
        name: str = "i",
    ) -> Block[Value]:
        """A loop: ``with p.range(n) as k:`` counts from 0 while below `n`, ``p.range(start, stop, step)`` as Python.

        Parameters: `start` and `stop`, integers, read once; a single bound is `stop`. `step`, a positive integer.
        `dtype`, the counter's type: that of the bounds, or u32 for numbers. `name`, how the counter's name begins.
        Returns: the block, for a `with` statement, which gives the counter.
        Raises: `BuildError` for a step that is no integer, or for bounds that are no values; `TypeMismatch`,
        `LiteralOutOfRange`. `build` refuses a step below 1 (V042).
        """
        first, last = (0, start) if stop is None else (start, stop)
        known = [x.dtype for x in (first, last) if isinstance(x, (Value, Mutable))]
        type_ = arguments.optional_dtype(dtype) or (known[0] if known else u32)
        low, high = operand(first, type_), operand(last, type_)
        by = arguments.step_of(step)
        counter = Local(self._fresh(arguments.text(name, "a name")), type_)
        return Block(
            self,
            "p.range(…)",
            lambda body: For(counter.name, low, high, by, body),
            lambda: Value(counter),
            is_loop=True,
        )

    def region(self, label: str) -> Block[None]:
        """A block whose label says where its statements come from; it changes nothing else.

        Parameters: `label`, any text of at most 1024 bytes.
        Returns: the block, for a `with` statement.
        Raises: `BuildError` for a label that is no string.
        """
        text = arguments.text(label, "the label of a region")
        return Block(self, "p.region(…)", lambda body: Region(text, body), _nothing, is_transparent=True)

    def break_(self) -> None:
        """Leave the innermost loop."""
        self._emit(Break())

    def continue_(self) -> None:
        """Go on with the next iteration of the innermost loop."""
        self._emit(Continue())

    def return_(self) -> None:
        """End this invocation."""
        self._emit(Return())

    def barrier(self) -> None:
        """Wait for the workgroup; its writes before are visible after.

        All invocations of a workgroup reach it, or none does (V050, docs/language.md, "Barriers").
        """
        self._emit(Barrier(Scope.WORKGROUP))

    def grid_barrier(self) -> None:
        """Wait for the whole grid; its writes before are visible after.

        It stands at the top of the program, or in loops whose bounds the host knows (V052 … V055).
        """
        self._emit(Barrier(Scope.GRID))

    def trap(self, code: Operand, tag: str) -> None:
        """Record a failure and go on: the dispatch raises `Trapped` and gives no outputs.

        Parameters: `code`, u32; `tag`, a text that says what failed.
        Raises: `BuildError` for what is no value or no text, `TypeMismatch` for another type.
        """
        self._emit(Trap(operand(code, u32), arguments.text(tag, "the tag of a trap")))

    def subgroup(self, op: SubgroupOp | str, value: Operand, lane: Operand | None = None) -> Value:
        """A collective over the subgroup, which all its invocations reach.

        Parameters: `op`, its name, such as ``"reduce_add"``, ``"shuffle_xor"`` or ``"ballot"``; `value`, the operand;
        `lane`, u32, for broadcast, shuffle and shuffle_xor. docs/language.md, "Subgroups", has the table.
        Returns: what this invocation gets.
        Raises: `BuildError` for another name, which lists them, or for what is no value; `TypeMismatch`.
        """
        chosen = arguments.subgroup_op(op)
        of_bools = chosen in (SubgroupOp.BALLOT, SubgroupOp.ANY, SubgroupOp.ALL)
        expr = operand(value, bool_ if of_bools else None)
        name = self._fresh("sub")
        self._emit(Subgroup(chosen, expr, None if lane is None else operand(lane, u32), name))
        return Value(Local(name, chosen.result_type(expr.dtype)))

    def indirect_dispatch(self, buffer: Array, offset: int = 0) -> None:
        """Take the grid from three u32 elements of an input.

        Parameters: `buffer`, an input of u32; `offset`, the index of the first of the elements.
        Raises: `BuildError` for what is no buffer, or no integer.
        """
        first = arguments.integer(offset, "the offset of the grid")
        self._emit(IndirectDispatch(_array(buffer, "the buffer of the grid").decl, first))

    # ── the result ───────────────────────────────────────────────────────────────────────────────────────────────────

    def build(self) -> Program:
        """The program, validated.

        Returns: the program, which is immutable.
        Raises: `InvalidProgram`, which lists every finding with the line that wrote it; `BuildError` for lines that
        have no effect: a block that no `with` statement has opened, a variable that is never set.
        """
        self._refuse_without_effect()
        result = self.build_unchecked()
        result.validate()
        return result

    def build_unchecked(self) -> Program:
        """The program, not validated.

        Raises: `BuildError` inside of a block.
        """
        if len(self._bodies) != 1:
            raise BuildError("a block is still open", fix="build after the `with` block has ended")
        body, lines = drop_unused_results(tuple(self._bodies[0])), tuple(self._lines[0])
        inlined = adjacent_lets(body)
        if inlined:
            pairs = zip(statements(body), lines, strict=True)
            body, lines = inline(body, inlined), tuple([line for stmt, line in pairs if id(stmt) not in inlined])
        order = sorted(range(len(self._buffers)), key=lambda n: self._buffers[n].binding is None)
        buffers = tuple([self._buffers[n] for n in order])
        result = Program(self.name, buffers, self.workgroup_size, body, self.subgroup_size)
        return result.with_origins(Origins(self._line, [self._buffer_lines[n] for n in order], lines))

    def _refuse_without_effect(self) -> None:
        """Lines that Python accepts and the program does not have."""
        found = [
            (block.line, f"the block of {block.word} is never opened", f"write `with {block.word}`")
            for block in self._unopened
        ]
        for variable, line in self._variables:
            if not variable._is_set:
                fix = (
                    "change it with .set(…) or `+=`, as `name = …` only names something else; or make it with p.let(…)"
                )
                found.append((line, f"the variable of p.var(…), {variable!r}, is never set", fix))
        if found:
            *others, (line, message, fix) = sorted(found)
            lines = [f"{Origin(*at)}: {what}. Fix: {do}" for at, what, do in others]
            raise BuildError("\n".join([*lines, f"{Origin(*line)}: {message}"]), fix=fix)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _declare(
        self,
        name: str,
        dtype: DTypeLike,
        access: Access,
        memory: Memory,
        count: Count | None,
        like: Array | None,
        output_range: tuple[int, int] | None = None,
        data: bytes | None = None,
    ) -> Array:
        name = arguments.text(name, "the name of a buffer")
        if count is not None and like is not None:
            raise BuildError(f"{name!r} has both a count and a buffer it is like", fix="give one of them")
        if like is not None:
            count = LengthOf(_array(like, "like").decl.name)
        if name in self._names:
            raise BuildError(f"the name {name!r} is taken", fix="give every buffer a name of its own")
        binding = sum(b.binding is not None for b in self._buffers) if memory.is_bound else None
        length, shown = arguments.count_of(count, name), arguments.byte_range(output_range)
        decl = Buffer(name, arguments.dtype_of(dtype), access, memory, length, binding, data, shown)
        self._names.add(name)
        self._buffers.append(decl)
        self._buffer_lines.append(caller())
        return Array(self, decl)

    def _local(self, value: Operand, dtype: DTypeLike | None, name: str) -> tuple[str, Expr]:
        """The name of a local, and its first value."""
        type_ = arguments.optional_dtype(dtype)
        fresh = self._fresh(arguments.text(name, "a name"))
        return fresh, operand(value, type_)

    def _emit(self, stmt: Stmt) -> None:
        self._bodies[-1].append(stmt)
        self._lines[-1].append(caller())

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


def program(name: str, workgroup_size: int | Sequence[int] = 64, subgroup_size: int | None = None) -> ProgramBuilder:
    """Begin a program: ``with program("xor", workgroup_size=64) as p:``.

    Parameters: `name`, any text; `workgroup_size`, invocations per workgroup on (x, y, z), or fewer axes, or x alone;
    `subgroup_size`, a power of two in 1 … 64 that divides them, for programs with collectives.
    Returns: the builder.
    Raises: `BuildError` for arguments of other kinds. `build` checks the limits (V010, V011).
    """
    return ProgramBuilder(name, workgroup_size, subgroup_size)


def _nothing(_: object = None) -> None:
    return None


def _array(given: object, what: str) -> Array:
    if not isinstance(given, Array):
        fix = "pass the buffer that p.read(…) or another declaration returned"
        raise BuildError(f"got {arguments.shown(given)} as {what}, expected a buffer", fix=fix)
    return given
