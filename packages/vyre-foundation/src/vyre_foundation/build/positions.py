"""The position of an invocation: in its subgroup, its workgroup, the grid and the shape of the launch."""

from __future__ import annotations

from typing import Any

from vyre_foundation.build import arguments
from vyre_foundation.build.memory import AxisLength
from vyre_foundation.build.recording import RecordingState
from vyre_foundation.build.values import Value
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.expr import Id, IdKind
from vyre_foundation.ir.shapes import GRID_AXES


class PositionRecorder(RecordingState):
    """Gives the position of this invocation."""

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
