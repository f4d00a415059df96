"""Which axis of a workgroup the innermost loop over its invocations is on: the one that memory is walked along."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_driver.vectorization.workgroups.structure import MAX_STRIDE, shared_indices
from vyre_driver.vectorization.workgroups.values import Strides
from vyre_foundation.ir.stmt import Body, Stmt
from vyre_foundation.ir.walk import statements


class Orders:
    """Orders of loops over invocations.

    `axes` are those of the workgroup, in the order that suits what invocations keep; unless `is_free`, that is the
    order of all phases.
    """

    def __init__(self, program: Body, axes: Sequence[int], *, is_free: bool) -> None:
        self._axes = tuple(axes)
        stmts: tuple[Stmt, ...] = tuple(statements(program)) if is_free and len(axes) > 1 else ()
        self._strides = {axis: Strides(stmts, axis) for axis in reversed(axes)} if stmts else {}

    def of(self, phase: Body) -> tuple[int, ...]:
        """The axes of the loops of one phase, from the outermost to the innermost.

        For ``a[row * n + column]`` with `row` on x, the axis of `column` is innermost. Invocations of a phase may run
        in any order. Of axes along which equally many accesses are side by side, the first stays.
        """
        if not self._strides:
            return self._axes
        indices = shared_indices(phase)
        near = {axis: sum(_is_near(s.of(index)) for index in indices) for axis, s in self._strides.items()}
        innermost = max(near, key=lambda axis: near[axis])
        return (*(axis for axis in self._axes if axis != innermost), innermost)


def _is_near(stride: int | None) -> bool:
    return stride is not None and abs(stride) <= MAX_STRIDE
