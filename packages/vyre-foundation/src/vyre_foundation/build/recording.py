"""The state of a recording: what was declared and stated so far, and for which lines."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation.build import arguments
from vyre_foundation.build.arguments import DTypeLike
from vyre_foundation.build.axes import ShapeVariables, launch_axes, length_of, require_workgroup_axes
from vyre_foundation.build.branches import BranchChain
from vyre_foundation.build.caller import caller
from vyre_foundation.build.memory import Array, AxisLength, Mutable
from vyre_foundation.build.unopened import UnopenedBlocks
from vyre_foundation.build.values import Operand, Value, operand, refuse_foreign
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Local
from vyre_foundation.ir.origin import Line
from vyre_foundation.ir.shapes import Axis
from vyre_foundation.ir.stmt import Let, Stmt


class RecordingState:
    """The declarations and statements of a program that is being recorded, and the names in use."""

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
        self._unopened = UnopenedBlocks()
        self._names: set[str] = set()
        self._temporaries: set[str] = set()
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
        self._temporaries.add(name)
        self._emit(Let(name, expr))
        return Value(Local(name, expr.dtype), self)

    def _local(self, value: Operand, dtype: DTypeLike | None, name: str) -> tuple[str, Expr]:
        """The name of a local, and its first value."""
        type_ = arguments.optional_dtype(dtype)
        fresh = self._fresh(arguments.text(name, "a name"))
        return fresh, operand(value, type_, self)

    def _fresh(self, stem: str) -> str:
        count = self._fresh_counts.get(stem, 0)
        self._fresh_counts[stem] = count + 1
        name = f"{stem}{count}"
        if name in self._names:
            return self._fresh(stem)
        self._names.add(name)
        return name

    def _array(self, given: object, what: str) -> Array:
        if not isinstance(given, Array):
            fix = "pass the buffer that p.read(…) or another declaration returned"
            raise BuildError(f"got {arguments.shown(given)} as {what}, expected a buffer", fix=fix)
        if given._builder is not self:
            raise refuse_foreign(f"the buffer {given.decl.name!r}", given._builder, self)
        return given

    def _length(self, axis: Axis) -> AxisLength:
        return axis if isinstance(axis, int) else Value(length_of(axis), self)
