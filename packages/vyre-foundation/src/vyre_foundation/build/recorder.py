"""The builder: collects the declarations and statements of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from vyre_foundation.build import arguments
from vyre_foundation.build.axes import (
    ShapedBuffer,
    ShapeVariables,
    axes_of,
    fixed_axes,
    launch_axes,
    length_of,
    refuse_reserved,
    require_workgroup_axes,
)
from vyre_foundation.build.blocks import Block, WhileBlock
from vyre_foundation.build.branches import BranchChain
from vyre_foundation.build.caller import caller, naming_errors, stated_line
from vyre_foundation.build.memory import Array, AxisLength, Mutable
from vyre_foundation.build.tidy import adjacent_lets, drop_unused_results, inline
from vyre_foundation.build.values import Operand, Value, operand, refuse_foreign
from vyre_foundation.dtype import bool_, u32
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import Access, Buffer, Count, LengthOf, Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Local
from vyre_foundation.ir.origin import Line, Origin, Origins
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import GRID_AXES, LAUNCH_SHAPE, Axis
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
from vyre_foundation.ops.bitwise import NOT

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_foundation.build.arguments import DTypeLike


class ProgramBuilder:
    """Records buffers and statements; `build()` returns the program. Made by `program(…)`.

    Arguments are checked at once: `BuildError`, `TypeMismatch`, `LiteralOutOfRange` and `DeclarationError` are raised
    at the caller's line. Errors that only the whole program shows are findings of `build`.
    """

    def __init__(
        self,
        name: str,
        workgroup_size: int | Sequence[int],
        subgroup_size: int | None,
        shape: Axis | Sequence[Axis] | None = None,
    ) -> None:
        self.name = arguments.text(name, "the name of a program")
        self.workgroup_size = arguments.workgroup_sizes(workgroup_size)
        self.subgroup_size = None if subgroup_size is None else arguments.integer(subgroup_size, "subgroup_size")
        self._shapes = ShapeVariables(launch_axes(shape))
        require_workgroup_axes(self._shapes.stated, self.workgroup_size)
        self.line: Line | None = None
        """The line to which declarations and statements are attributed; None for that of the caller."""
        self._line = caller()
        self._buffers: list[Buffer] = []
        self._buffer_lines: list[Line] = []
        self._variables: list[tuple[Mutable, Line]] = []
        self._unopened: list[Block[object]] = []
        self._names: set[str] = set()
        self._fresh_counts: dict[str, int] = {}
        self._ended: str | None = None
        """What has ended the recording."""
        self._has_empty_branch = False
        """Whether nothing was recorded in the block of a condition; an `else_` block may have followed."""
        self._chain: BranchChain | None = None
        """The branches of the last `elif_` block."""
        self._bodies: list[list[Stmt]] = [[]]
        self._lines: list[list[Line]] = [[]]
        """For each of the bodies the lines of all statements in it, inner ones too, in program order."""

    def __repr__(self) -> str:
        return f"<ProgramBuilder {self.name!r}: {len(self._buffers)} buffers, {len(self._lines[0])} statements>"

    def __enter__(self) -> ProgramBuilder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = "its `with` block has ended"
        if kind is None and len(self._bodies) != 1:
            raise BuildError("a block is still open at the end of the program", fix="leave every `with p.if_(…)` block")

    # ── buffers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def read(
        self,
        name: str,
        dtype: DTypeLike,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        shape: Axis | Sequence[Axis] | None = None,
    ) -> Array:
        """Declare an input.

        Args:
            name: The name by which a launch binds it.
            dtype: The type of the elements.
            count: The number of elements, or a rule. Without `count`, `like` and `shape` the launch decides.
            like: Another buffer of the same length, and the same shape.
            shape: The axes in the order of NumPy's shapes, as in ``("h", "w")``: numbers, and names of shape variables,
                which stand for the same length wherever they occur. The buffer then takes an index for each axis.

        Returns:
            The buffer, which can be loaded from.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._host(name, dtype, Access.READ, count, like, shape)

    def write(
        self,
        name: str,
        dtype: DTypeLike,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        shape: Axis | Sequence[Axis] | None = None,
        output_range: tuple[int, int] | None = None,
    ) -> Array:
        """Declare an output, initially zero.

        Args:
            name: The name under which a launch returns it.
            dtype: The type of the elements.
            count: The number of elements, or a rule. One of `count`, `like` and `shape` is needed.
            like: Another buffer of the same length; the output takes the shape of the array that is passed for it.
            shape: The axes, as for `read`, in names of inputs; the output comes in this shape.
            output_range: The bytes start … stop that the host receives; all of them by default.

        Returns:
            The buffer, which can be stored to.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._host(name, dtype, Access.WRITE, count, like, shape, output_range)

    def read_write(
        self,
        name: str,
        dtype: DTypeLike,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        shape: Axis | Sequence[Axis] | None = None,
        output_range: tuple[int, int] | None = None,
    ) -> Array:
        """Declare an input that is also an output. The array that a caller passes is not changed.

        Args:
            name: The name by which a launch binds and returns it.
            dtype: The type of the elements.
            count: The number of elements, or a rule. Without `count`, `like` and `shape` the launch decides.
            like: Another buffer of the same length, and the same shape.
            shape: The axes, as for `read`.
            output_range: The bytes start … stop that the host receives; all of them by default.

        Returns:
            The buffer, which can be loaded from and stored to, and allows atomics.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._host(name, dtype, Access.READ_WRITE, count, like, shape, output_range)

    def uniform(self, name: str, dtype: DTypeLike, count: int | None = None) -> Array:
        """Declare a small input that is the same for all invocations.

        Args:
            name: The name by which a launch binds it.
            dtype: The type of the elements.
            count: The number of elements; by default the launch decides. For a single element, `vyre.run` takes a
                number.

        Returns:
            The buffer, which can be loaded from.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._declare(name, dtype, Access.READ, Memory.UNIFORM, count, None)

    def scalar(self, name: str, dtype: DTypeLike) -> Value:
        """Declare a number that is the same for all invocations: a uniform of one element, as its value.

        An integer is a shape variable too: axes of its name are as long as its value.

        Args:
            name: The name by which a launch binds it; it takes a Python number.
            dtype: The type of the number.

        Returns:
            The value, as ``p.uniform(name, dtype, 1)[0]``.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
        """
        number = self.uniform(name, dtype, 1)
        if number.decl.dtype.is_integer:
            self._shapes.scalars[number.decl.name] = number.decl
        return number[0]

    def constant(self, name: str, dtype: DTypeLike, values: npt.ArrayLike) -> Array:
        """Declare a table that is embedded in the program.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            values: Numbers, of any shape: floats are rounded, but not to infinities; integers and bools must fit the
                type. Of several axes, the buffer takes an index for each, or one that counts elements in order.

        Returns:
            The buffer, which can be loaded from.

        Raises:
            BuildError: The name is taken, or the values are not numbers or do not fit.
            DeclarationError: The declaration contradicts itself.
        """
        name, type_ = arguments.text(name, "the name of a buffer"), arguments.dtype_of(dtype)
        table = arguments.elements_of(type_, values, name)
        axes = table.shape or (1,)
        return self._declare(
            name, type_, Access.READ, Memory.CONSTANT, table.size, None, data=table.tobytes(), axes=axes
        )

    def workgroup(
        self, name: str, dtype: DTypeLike, count: int | None = None, *, shape: int | Sequence[int] | None = None
    ) -> Array:
        """Declare memory that the invocations of a workgroup share, zero when the workgroup starts.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            count: The number of elements. All workgroup memory of a program is at most 32 KiB (V012).
            shape: The lengths of the axes, instead of `count`; the buffer then takes an index for each.

        Returns:
            The buffer, which can be loaded from and stored to, and allows atomics.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        length, axes = fixed_axes(count, shape, name)
        return self._declare(name, dtype, Access.READ_WRITE, Memory.WORKGROUP, length, None, axes=axes)

    def private(
        self, name: str, dtype: DTypeLike, count: int | None = None, *, shape: int | Sequence[int] | None = None
    ) -> Array:
        """Declare a small array of each invocation, initially zero.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            count: The number of elements. All private memory of a program is at most 16 KiB (V012).
            shape: The lengths of the axes, instead of `count`; the buffer then takes an index for each.

        Returns:
            The buffer, which can be loaded from and stored to.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        length, axes = fixed_axes(count, shape, name)
        return self._declare(name, dtype, Access.READ_WRITE, Memory.PRIVATE, length, None, axes=axes)

    def scratch(self, name: str, dtype: DTypeLike, count: Count | None = None, *, like: Array | None = None) -> Array:
        """Declare temporary memory of a dispatch, initially zero.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            count: The number of elements, or a rule, such as `PerLaunch` for elements of each workgroup or invocation.
            like: Another buffer of the same length.

        Returns:
            The buffer, which can be loaded from and stored to, and allows atomics.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.SCRATCH, count, like)

    def persistent(
        self, name: str, dtype: DTypeLike, count: int | LengthOf | None = None, *, like: Array | None = None
    ) -> Array:
        """Declare memory that a compiled pipeline retains on the device between dispatches, initially zero.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            count: The number of elements, or a rule. One of `count` and `like` is needed.
            like: Another buffer of the same length.

        Returns:
            The buffer, which can be loaded from and stored to, and allows atomics.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.PERSISTENT, count, like)

    # ── where am I ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def shape(self) -> tuple[AxisLength, ...]:
        """The shape of the launch: what the program states, or that of its first output with a shape."""
        return tuple([self._length(axis) for axis in self._shapes.launch])

    def index(self) -> Any:
        """Return the position of this invocation in the shape of the launch: one value of u32 for each axis.

        Returns:
            A value for a shape of one axis; for more axes a tuple, in the order of NumPy's shapes.

        Raises:
            BuildError: The launch has no shape yet.
        """
        lengths = self.shape
        if not lengths:
            fix = "declare an output with shape=… before, state the shape in vy.program(…, shape=…), or use global_id"
            raise BuildError("the launch has no shape here", fix=fix)
        place = [self.global_id(axis) for axis in reversed(range(min(len(lengths), GRID_AXES)))]
        for length in reversed(lengths[1:-2]):  # z counts all axes before the last two
            outer = place.pop(0)
            place[:0] = outer // length, outer % length
        return place[0] if len(place) == 1 else tuple(place)

    def global_id(self, axis: int = 0) -> Value:
        """Return the number of this invocation in the launch, on one axis.

        It is ``workgroup_id * workgroup_size + local_id`` (docs/language.md, "Launches"). The grid has whole
        workgroups, so it may lie beyond the end of an output: such stores do nothing.

        Args:
            axis: 0, 1 or 2 for x, y or z. Launches of programs that use y or z need `invocations`, or the grid.

        Returns:
            A value of u32.

        Raises:
            TypeMismatch: There is no such axis.
            BuildError: The axis is not an integer.
        """
        return Value(Id(IdKind.GLOBAL_ID, arguments.axis(axis)))

    def local_id(self, axis: int = 0) -> Value:
        """Return the number of this invocation in its workgroup, on one axis: 0 … size of the workgroup - 1.

        Args:
            axis: 0, 1 or 2 for x, y or z.

        Returns:
            A value of u32.

        Raises:
            TypeMismatch: There is no such axis.
            BuildError: The axis is not an integer.
        """
        return Value(Id(IdKind.LOCAL_ID, arguments.axis(axis)))

    def workgroup_id(self, axis: int = 0) -> Value:
        """Return the number of this workgroup in the grid, on one axis.

        Args:
            axis: 0, 1 or 2 for x, y or z.

        Returns:
            A value of u32.

        Raises:
            TypeMismatch: There is no such axis.
            BuildError: The axis is not an integer.
        """
        return Value(Id(IdKind.WORKGROUP_ID, arguments.axis(axis)))

    def num_workgroups(self, axis: int = 0) -> Value:
        """Return the number of workgroups in the grid, on one axis.

        Args:
            axis: 0, 1 or 2 for x, y or z.

        Returns:
            A value of u32.

        Raises:
            TypeMismatch: There is no such axis.
            BuildError: The axis is not an integer.
        """
        return Value(Id(IdKind.NUM_WORKGROUPS, arguments.axis(axis)))

    def subgroup_lane(self) -> Value:
        """Return the number of this invocation in its subgroup. The program must declare a `subgroup_size`.

        Returns:
            A value of u32, below the size of the subgroup.
        """
        return Value(Id(IdKind.SUBGROUP_LANE))

    def subgroup_size_(self) -> Value:
        """Return the number of invocations in a subgroup: the `subgroup_size` of the program.

        Returns:
            A value of u32.
        """
        return Value(Id(IdKind.SUBGROUP_SIZE))

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def let(self, value: Operand, dtype: DTypeLike | None = None, name: str = "t") -> Value:
        """Compute a value here, once.

        Args:
            value: A value, or a number.
            dtype: Its type, needed for a number.
            name: The beginning of the local's name.

        Returns:
            The value, which does not change when a variable or buffer that it was read from does.

        Raises:
            BuildError: The operand is neither a value nor a number with a type.
            TypeMismatch: The value has another type.
        """
        fresh, expr = self._local(value, dtype, name)
        self._emit(Let(fresh, expr))
        return Value(Local(fresh, expr.dtype), self)

    def var(self, value: Operand, dtype: DTypeLike | None = None, name: str = "v") -> Mutable:
        """Make a mutable local. `build` refuses one that is never set: use `let` for what does not change.

        Args:
            value: The initial value.
            dtype: Its type, needed for a number.
            name: The beginning of its name.

        Returns:
            The variable, which `Mutable.set` and augmented assignments change.

        Raises:
            BuildError: The operand is neither a value nor a number with a type.
            TypeMismatch: The value has another type.
        """
        fresh, expr = self._local(value, dtype, name)
        self._emit(Var(fresh, expr))
        made = Mutable(self, Local(fresh, expr.dtype))
        self._variables.append((made, self._lines[-1][-1]))
        return made

    def if_(self, condition: Operand) -> Block[None]:
        """Open a block of statements that run if a condition holds: ``with p.if_(x > 0):``. `else_` may follow.

        Args:
            condition: A value of bool.

        Returns:
            The block, for a `with` statement. `build` refuses one that no `with` statement has opened.

        Raises:
            TypeMismatch: The condition is not a bool.
            BuildError: The condition is not a value.
        """
        test = operand(condition, bool_, self)

        def branch(body: Body) -> If:
            self._has_empty_branch |= not body
            return If(test, body)

        return Block(self, "p.if_(…)", branch, _nothing)

    def elif_(self, condition: Operand) -> Block[None]:
        """Open a block of statements that run if a condition holds and no earlier one of the chain does.

        Variables and buffers that the condition reads are read after the earlier conditions.

        Args:
            condition: A value of bool.

        Returns:
            The block, for a `with` statement directly after an `if_` or `elif_` block.

        Raises:
            TypeMismatch: The condition is not a bool.
            BuildError: There is no `if_` or `elif_` block directly before, or it already has an `else_` block.
        """
        test = operand(condition, bool_, self)
        body = self._bodies[-1]
        reads = 0
        while reads < len(body) and isinstance(body[-1 - reads], Let):
            reads += 1
        chain = self._chain_before("elif_", reads)

        def longer(then: Body) -> If:
            self._has_empty_branch |= not then
            del body[len(body) - reads - 1 :]
            made = chain.extended((*read, If(test, then)))
            self._chain = BranchChain(made, chain.depth + 1)
            return made

        read = tuple(body[len(body) - reads :])
        return Block(self, "p.elif_(…)", longer, _nothing)

    def else_(self) -> Block[None]:
        """Open a block of statements that run if no condition of the preceding `if_` and `elif_` blocks holds.

        Returns:
            The block, for a `with` statement.

        Raises:
            BuildError: There is no `if_` or `elif_` block directly before, or it already has an `else_` block.
        """

        def both(body: Body) -> If:
            made = self._chain_before("else_", 0).extended(body)
            del self._bodies[-1][-1]
            return made

        def opened() -> None:
            self._chain_before("else_", 0)

        return Block(self, "p.else_()", both, opened, is_continued=True)

    def _chain_before(self, word: str, reads: int) -> BranchChain:
        """The branches that a block continues: those that end `reads` statements before the end of the body."""
        body = self._bodies[-1]
        before = body[-1 - reads] if len(body) > reads else None
        if isinstance(before, If):
            chain = self._chain if self._chain is not None and self._chain.branch is before else BranchChain(before, 0)
            if not chain.last.orelse:
                return chain
        fix = "open it right after the `with p.if_(…)` or `with p.elif_(…)` block"
        raise BuildError(f"{word} does not follow an if_ block", fix=fix)

    def while_(self, condition: Callable[[], Operand], limit: int, tag: str | None = None) -> Block[None]:
        """Open a loop that runs while a condition holds: ``with p.while_(lambda: n > 1, limit=1000):``.

        Every program terminates, so the loop states a limit. If the condition still holds after that many iterations,
        the launch raises `Trapped`.

        Args:
            condition: A function that returns a value of bool. It is called once, to record the condition, which is
                evaluated before each iteration.
            limit: The largest number of iterations, known while the program is built.
            tag: The text of the error; by default, that the loop reached its limit.

        Returns:
            The block, for a `with` statement.

        Raises:
            BuildError: The condition is not a function, or the limit is not a positive integer.
            TypeMismatch: The condition does not return a bool.
        """
        arguments.require_condition(condition)
        most = arguments.integer(limit, "the limit of a loop")
        if not 0 < most < 2**32 - 1:
            raise BuildError(f"got the limit {most} of a loop", fix="pass an integer from 1 to 2**32 - 2")
        text = f"a loop of {self.name} reached its limit" if tag is None else arguments.text(tag, "the tag of a trap")
        counter = Local(self._fresh("iteration"), u32)
        first, last = operand(0, u32), operand(most + 1, u32)

        def begin() -> None:
            holds = condition()
            if holds is False:
                self.break_()
                return
            if holds is not True:
                with self.if_(Value(Apply(NOT, operand(holds, bool_, self)))):
                    self.break_()
            with self.if_(Value(counter) == most):
                self.trap(most, text)
                self.break_()

        def loop(body: Body) -> For:
            return For(counter.name, first, last, 1, body)

        return WhileBlock(self, "p.while_(…)", loop, begin, is_loop=True)

    def range(
        self,
        start: Operand,
        stop: Operand | None = None,
        step: int = 1,
        dtype: DTypeLike | None = None,
        name: str = "i",
    ) -> Block[Value]:
        """Open a loop: ``with p.range(n) as k:`` counts from 0 while below `n`.

        Args:
            start: The first value of the counter, an integer read once; with a single bound that is `stop`, and `start`
                is 0.
            stop: The counter stays below it; read once.
            step: A positive integer, known while the program is built.
            dtype: The counter's type: by default that of the bounds, or u32 where both are numbers.
            name: The beginning of the counter's name.

        Returns:
            The block, for a `with` statement, which gives the counter.

        Raises:
            BuildError: The step is not an integer, or a bound is not a value. `build` refuses a step below 1 (V042).
            TypeMismatch: The bounds have different types.
            LiteralOutOfRange: The type cannot hold a bound.
        """
        first, last = (0, start) if stop is None else (start, stop)
        known = [x.dtype for x in (first, last) if isinstance(x, (Value, Mutable))]
        type_ = arguments.optional_dtype(dtype) or (known[0] if known else u32)
        low, high = operand(first, type_, self), operand(last, type_, self)
        by = arguments.step_of(step)
        counter = Local(self._fresh(arguments.text(name, "a name")), type_)
        return Block(
            self,
            "p.range(…)",
            lambda body: For(counter.name, low, high, by, body),
            lambda: Value(counter, self),
            is_loop=True,
        )

    def at(self, file: str, line: int) -> AbstractContextManager[None]:
        """Attribute statements that are recorded in a ``with`` block to a line of another source.

        For frontends: findings, traps, races and proofs then name the line of their language. An error that is raised
        in the block begins with the line, and has it as `origin`. The file need not exist; the innermost block counts.

        Args:
            file: The file, or another name of the source.
            line: The number of the line, from 1 on.

        Returns:
            The block, for a `with` statement.

        Raises:
            BuildError: An argument is invalid.
        """
        return self._stating(stated_line(file, line))

    @contextmanager
    def _stating(self, line: Line) -> Iterator[None]:
        before, self.line = self.line, line
        try:
            with naming_errors(line):
                yield
        finally:
            self.line = before

    def region(self, label: str) -> Block[None]:
        """Open a block whose label says where its statements come from; it changes nothing else.

        Args:
            label: A string of at most 1024 bytes.

        Returns:
            The block, for a `with` statement.

        Raises:
            BuildError: The label is not a string.
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
        """Wait for the workgroup, and see its earlier writes.

        All invocations of a workgroup must reach it, or none (V050, docs/language.md, "Barriers").
        """
        self._emit(Barrier(Scope.WORKGROUP))

    def grid_barrier(self) -> None:
        """Wait for the whole grid, and see its earlier writes.

        It must be at the top level of the program, or in loops whose bounds the host knows (V052 … V055).
        """
        self._emit(Barrier(Scope.GRID))

    def trap(self, code: Operand, tag: str) -> None:
        """Record a failure and continue: the dispatch raises `Trapped` and returns no outputs.

        Args:
            code: A value of u32, which the error reports.
            tag: A string that says what failed.

        Raises:
            BuildError: The code is not a value, or the tag is not a string.
            TypeMismatch: The code has another type.
        """
        self._emit(Trap(operand(code, u32, self), arguments.text(tag, "the tag of a trap")))

    def subgroup(self, op: SubgroupOp | str, value: Operand, lane: Operand | None = None) -> Value:
        """Compute a collective over the subgroup, which all its invocations must reach.

        Args:
            op: Its name, such as ``"reduce_add"``, ``"shuffle_xor"`` or ``"ballot"`` (docs/language.md, "Subgroups").
            value: The operand of this invocation.
            lane: A value of u32, for broadcast, shuffle and shuffle_xor.

        Returns:
            The result of this invocation.

        Raises:
            BuildError: There is no such collective, or an operand is not a value.
            TypeMismatch: An operand is of a type that the collective does not take.
        """
        chosen = arguments.subgroup_op(op)
        of_bools = chosen in (SubgroupOp.BALLOT, SubgroupOp.ANY, SubgroupOp.ALL)
        expr = operand(value, bool_ if of_bools else None, self)
        name = self._fresh("sub")
        self._emit(Subgroup(chosen, expr, None if lane is None else operand(lane, u32, self), name))
        return Value(Local(name, chosen.result_type(expr.dtype)), self)

    def indirect_dispatch(self, buffer: Array, offset: int = 0) -> None:
        """Read the grid from three u32 elements of an input.

        Args:
            buffer: An input of u32.
            offset: The index of the first of the elements.

        Raises:
            BuildError: `buffer` is not a buffer, or the offset is not an integer.
        """
        first = arguments.integer(offset, "the offset of the grid")
        self._emit(IndirectDispatch(self._array(buffer, "the buffer of the grid").decl, first))

    # ── the result ───────────────────────────────────────────────────────────────────────────────────────────────────

    def build(self) -> Program:
        """Validate and return the program. The builder records nothing after that.

        Returns:
            The program, which is immutable.

        Raises:
            InvalidProgram: The program breaks a rule; the error lists every finding with the line that wrote it.
            BuildError: A line has no effect: no `with` statement opens a block, nothing is recorded in one of `if_`, or
                a variable is never set.
        """
        self._refuse_without_effect()
        result = self.build_unchecked()
        result.validate()
        self._ended = self._ended or "build() has given it"
        return result

    def build_unchecked(self) -> Program:
        """Return the program without validating it.

        Returns:
            The program, which `validate` may refuse.

        Raises:
            BuildError: A block is open.
        """
        if len(self._bodies) != 1:
            raise BuildError("a block is still open", fix="build after the `with` block has ended")
        recorded, declared, declared_lines = tuple(self._bodies[0]), list(self._buffers), list(self._buffer_lines)
        has_shapes = self._shapes.buffers or self._shapes.stated is not None
        shapes = self._shapes.shapes() if has_shapes else None
        if shapes is not None:
            table = None
            if shapes.passed:
                binding = sum(b.binding is not None for b in declared)
                table = Buffer(LAUNCH_SHAPE, u32, Access.READ, Memory.UNIFORM, len(shapes.passed), binding)
                declared.append(table)
                declared_lines.append(self.line or self._line)
            recorded = self._shapes.resolve(recorded, table)
        body, lines = drop_unused_results(recorded), tuple(self._lines[0])
        inlined = adjacent_lets(body)
        if inlined:
            pairs = zip(statements(body), lines, strict=True)
            body, lines = inline(body, inlined), tuple([line for stmt, line in pairs if id(stmt) not in inlined])
        order = sorted(range(len(declared)), key=lambda n: declared[n].binding is None)
        buffers = tuple([declared[n] for n in order])
        result = Program(self.name, buffers, self.workgroup_size, body, self.subgroup_size)
        if shapes is not None:
            result.with_shapes(shapes)
        return result.with_origins(Origins(self.line or self._line, [declared_lines[n] for n in order], lines))

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
        if self._has_empty_branch:
            fix = "store or .set(…) in it, as `name = …` only names a value; or leave the block out"
            for stmt, line in zip(statements(tuple(self._bodies[0])), self._lines[0], strict=True):
                if isinstance(stmt, If) and not stmt.then and not stmt.orelse:
                    found.append((line, "nothing is recorded in the block of this condition", fix))
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
        axes: tuple[AxisLength, ...] | None = None,
    ) -> Array:
        self._require_open()
        name = arguments.text(name, "the name of a buffer")
        refuse_reserved(name)
        if count is not None and like is not None:
            raise BuildError(f"{name!r} has both a count and a buffer it is like", fix="give one of them")
        if like is not None:
            count = LengthOf(self._array(like, "like").decl.name)
        if name in self._names:
            raise BuildError(f"the name {name!r} is taken", fix="give every buffer a name of its own")
        binding = sum(b.binding is not None for b in self._buffers) if memory.is_bound else None
        length, shown = arguments.count_of(count, name), arguments.byte_range(output_range)
        decl = Buffer(name, arguments.dtype_of(dtype), access, memory, length, binding, data, shown)
        self._names.add(name)
        self._buffers.append(decl)
        self._buffer_lines.append(self.line or caller())
        if axes is None and like is not None:
            axes = like._axes
        return Array(self, decl, axes, takes_linear=memory is Memory.CONSTANT)

    def _host(
        self,
        name: str,
        dtype: DTypeLike,
        access: Access,
        count: int | LengthOf | None,
        like: Array | None,
        shape: Axis | Sequence[Axis] | None,
        output_range: tuple[int, int] | None = None,
    ) -> Array:
        """An input or an output, which may have a shape. An axis "" has the length of the buffer.

        An output with a shape whose length no rule gives is an input too, for which a launch passes zeros.
        """
        if shape is None:
            made = self._declare(name, dtype, access, Memory.STORAGE, count, like, output_range)
            axes = None if like is None else next((b.axes for b in self._shapes.buffers if b.decl is like.decl), None)
            if axes is not None:
                self._shapes.buffers.append(ShapedBuffer(made.decl, axes, access is Access.WRITE))
            return made
        if count is not None or like is not None:
            message = f"{name!r} has a shape and a {'count' if like is None else 'buffer it is like'}"
            raise BuildError(message, fix="give one of them")
        axes = axes_of(shape, repr(name))
        is_result, rule = access is Access.WRITE, self._shapes.count_of(axes)
        if is_result and rule is None:
            access = Access.READ_WRITE
        made = self._declare(name, dtype, access, Memory.STORAGE, rule, None, output_range)
        made._axes = tuple([self._length(axis) if axis != "" else made.length for axis in axes])
        self._shapes.buffers.append(ShapedBuffer(made.decl, axes, is_result))
        return made

    def _array(self, given: object, what: str) -> Array:
        if not isinstance(given, Array):
            fix = "pass the buffer that p.read(…) or another declaration returned"
            raise BuildError(f"got {arguments.shown(given)} as {what}, expected a buffer", fix=fix)
        if given._builder is not self:
            raise refuse_foreign(f"the buffer {given.decl.name!r}", given._builder, self)
        return given

    def _length(self, axis: Axis) -> AxisLength:
        return axis if isinstance(axis, int) else Value(length_of(axis), self)

    def _local(self, value: Operand, dtype: DTypeLike | None, name: str) -> tuple[str, Expr]:
        """The name of a local, and its first value."""
        type_ = arguments.optional_dtype(dtype)
        fresh = self._fresh(arguments.text(name, "a name"))
        return fresh, operand(value, type_, self)

    def _require_open(self) -> None:
        if self._ended is not None:
            fix = "record within the `with` block and before build(), or begin another program"
            raise BuildError(f"program {self.name!r} records no more: {self._ended}", fix=fix)

    def _emit(self, stmt: Stmt) -> None:
        if self._ended is not None:
            self._require_open()
        self._bodies[-1].append(stmt)
        self._lines[-1].append(self.line or caller())

    def _bind(self, expr: Expr) -> Value:
        name = self._fresh("t")
        self._emit(Let(name, expr))
        return Value(Local(name, expr.dtype), self)

    def _fresh(self, stem: str) -> str:
        count = self._fresh_counts.get(stem, 0)
        self._fresh_counts[stem] = count + 1
        name = f"{stem}{count}"
        if name in self._names:
            return self._fresh(stem)
        self._names.add(name)
        return name


def program(
    name: str,
    workgroup_size: int | Sequence[int] = 64,
    subgroup_size: int | None = None,
    *,
    shape: Axis | Sequence[Axis] | None = None,
) -> ProgramBuilder:
    """Begin a program, as in ``with vy.program("xor", workgroup_size=64) as p``.

    Args:
        name: Any text.
        workgroup_size: Invocations per workgroup on (x, y, z), on fewer axes, or on x alone (V010, V011).
        subgroup_size: A power of two in 1 … 64 that divides them, for programs with collectives.
        shape: The shape of the launch, as that of a buffer: the last axis is x of the grid, the one before it y, and
            all others together are z. By default the shape of the first output, if that has at most three axes; without
            one, the lengths of the outputs determine the number of invocations.

    Returns:
        The builder.

    Raises:
        BuildError: An argument is invalid.
    """
    return ProgramBuilder(name, workgroup_size, subgroup_size, shape)


def _nothing(_: object = None) -> None:
    return None
