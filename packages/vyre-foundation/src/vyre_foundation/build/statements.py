"""Statements that hold no others: locals, barriers, collectives and traps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from vyre_foundation.build import arguments
from vyre_foundation.build.arguments import DTypeLike
from vyre_foundation.build.caller import caller, naming_errors, stated_line
from vyre_foundation.build.memory import Array, Mutable
from vyre_foundation.build.recording import RecordingState
from vyre_foundation.build.unopened import LineBlock
from vyre_foundation.build.values import Operand, Value, operand
from vyre_foundation.dtype import bool_, u32
from vyre_foundation.ir.expr import Local
from vyre_foundation.ir.origin import Line
from vyre_foundation.ir.stmt import Barrier, IndirectDispatch, Let, Scope, Subgroup, SubgroupOp, Trap, Var


class StatementRecorder(RecordingState):
    """Records statements."""

    def let(self, value: Operand, dtype: DTypeLike | None = None, name: str | None = None) -> Value:
        """Compute a value here, once.

        Args:
            value: A value, or a number.
            dtype: Its type, needed for a number.
            name: The beginning of the local's name. Without one, there is no local if the only use follows at once.

        Returns:
            The value, which does not change when a variable or buffer that it was read from does.

        Raises:
            BuildError: The operand is neither a value nor a number with a type.
            TypeMismatch: The value has another type.
        """
        fresh, expr = self._local(value, dtype, "t" if name is None else name)
        if name is None:
            self._temporaries.add(fresh)
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

    def at(self, file: str, line: int) -> AbstractContextManager[None]:
        """Attribute statements that are recorded in a ``with`` block to a line of another source.

        For frontends: findings, traps, races and proofs then name the line of their language. An error that is raised
        in the block begins with the line, and has it as `origin`. The file need not exist; the innermost block counts.

        Args:
            file: The file, or another name of the source.
            line: The number of the line, from 1 on.

        Returns:
            The block, for a `with` statement. `build` refuses one that no `with` statement has opened.

        Raises:
            BuildError: An argument is invalid.
        """
        return LineBlock(self._unopened, "p.at(…)", caller(), self._stating(stated_line(file, line)))

    @contextmanager
    def _stating(self, line: Line) -> Iterator[None]:
        before, self.line = self.line, line
        try:
            with naming_errors(line):
                yield
        finally:
            self.line = before
