"""The shapes of a program's buffers, and of its launch. Like origins, they are no part of what a program means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Axis: TypeAlias = str | int
"""The length of an axis: a number, or the name of a shape variable."""

LAUNCH_SHAPE = "launch.shape"
"""The uniform of the lengths that follow from no length of a buffer. The builder refuses it as a name."""


GRID_AXES = 3
"""Axes of a grid and of workgroups."""


def on_grid(shape: Sequence[int]) -> tuple[int, ...]:
    """The numbers of invocations on x, y and z for a shape: those on z are all axes before the last two, row by row."""
    *outer, y, x = (1, *shape)
    return (x, y, math.prod(outer)) if len(shape) >= GRID_AXES else tuple(reversed(shape))


def surplus_axis(axes: int, workgroup_size: Sequence[int]) -> int | None:
    """The first axis beyond the `axes` of a launch shape on which a workgroup has several invocations; None for none.

    The shape gives no number of invocations on that axis, so those beyond the first would repeat its work.
    """
    return next((axis for axis in range(axes, len(workgroup_size)) if workgroup_size[axis] > 1), None)


def on_axes(axes: int, workgroup_size: Sequence[int]) -> int | tuple[int, ...]:
    """The workgroup size with the same number of invocations on the first `axes` axes alone, as messages write it."""
    x = workgroup_size[0] * math.prod(workgroup_size[axes:])
    return x if axes == 1 else (x, *workgroup_size[1:axes])


@dataclass(frozen=True, slots=True)
class Shapes:
    """What a launch over shaped arrays has to know. Axes are in the order of NumPy's shapes."""

    buffers: Mapping[str, tuple[Axis, ...]]
    """The axes of inputs and outputs that are declared with a shape."""
    launch: tuple[Axis, ...]
    """The shape of the launch; empty where none is stated and no output has one."""
    passed: tuple[str, ...]
    """The shape variables whose lengths the uniform `LAUNCH_SHAPE` holds, in order."""
    zeros: tuple[str, ...]
    """The outputs that the launch passes zeros for, as no rule gives their lengths."""
    numbers: tuple[str, ...] = ()
    """The shape variables that are numbers of the program: their values are the lengths."""
