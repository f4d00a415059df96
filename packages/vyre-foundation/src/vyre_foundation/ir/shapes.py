"""The shapes of a program's buffers, and of its launch. Like origins, they are no part of what a program means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Axis: TypeAlias = str | int
"""The length of an axis: a number, or the name of a shape variable."""

LAUNCH_SHAPE = "launch.shape"
"""The uniform of the lengths that follow from no length of a buffer. The builder refuses it as a name."""


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
