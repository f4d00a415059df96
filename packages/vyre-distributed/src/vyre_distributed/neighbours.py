"""How far from its own element a program reads an array, where its indices say so.

The program is looked at in a launch over a large array, for a few invocations in the middle. Distances are known if
they are the same for all of these: a program of pairs or blocks reads others in each, and is meant for whole blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vyre_distributed.access_bounds import AccessBounds
from vyre_driver.backend.config import DEFAULT_CONFIG
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_driver.plan.axes import given_shapes, shaped_launch
from vyre_driver.plan.determinism import MAX_UNIFORM_BYTES, launch_facts
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.ir.expr import Expr, Id, IdKind
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import Axis, on_grid
from vyre_foundation.validate.determinism.accesses import AccessKind, TooMuch
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.intervals import hull

LENGTHS = {1: 1 << 20, 2: 1 << 12, 3: 1 << 8}
"""The lengths of the axes of the large array, by their number."""
SHIFTS = (0, 1, 3)
"""Where the invocations are, from the middle of the axes."""

Array = npt.NDArray[Any]
Shape = tuple[int, ...]
Distances = Mapping[str, tuple[Interval, ...]]
"""For each array by axis, from what is read the furthest before the own element to what is the furthest behind it."""


def neighbours(program: Program, names: Sequence[str], ndim: int, others: Mapping[str, Any]) -> Mapping[str, Shape]:
    """How many elements from its own an invocation reads, for each chunked input, by axis; 0 where that is not known.

    Args:
        program: The program.
        names: The chunked inputs.
        ndim: The number of their axes.
        others: The inputs that go whole to every launch.
    """
    unknown = dict.fromkeys(names, (0,) * ndim)
    axes = ("",) if program.shapes is None else program.shapes.launch
    declared = [axes] if program.shapes is None else [program.shapes.buffers.get(name) for name in names]
    if ndim not in LENGTHS or len(axes) != ndim or any(other != axes for other in declared):
        return unknown
    shape = tuple([LENGTHS[ndim] if isinstance(axis, str) else axis for axis in axes])
    large = {b.name: np.broadcast_to(np.zeros((), b.dtype.numpy), shape) for b in program.inputs if b.name in names}
    try:
        plan, inputs = _launch(program, {**others, **large})
        bounds = AccessBounds(launch_facts(plan, inputs))
        if bounds.has_blocks:
            return unknown
        seen = [_distances(bounds, plan, large, _place(axes, shape, shift)) for shift in SHIFTS]
    except (InvalidInput, InvalidLaunch, TooMuch):  # what is passed whole does not go with a large array
        return unknown
    if any(other != seen[0] for other in seen):
        return unknown
    return {name: tuple([max(-low, high) for low, high in axes]) for name, axes in seen[0].items()}


def _place(axes: Sequence[Axis], shape: Shape, shift: int) -> Shape:
    """An element near the middle of the axes that are long."""
    return tuple([n // 2 + (shift if isinstance(axis, str) else 0) for axis, n in zip(axes, shape, strict=True)])


def _launch(program: Program, given: Mapping[str, Any]) -> tuple[LaunchPlan, list[memoryview]]:
    """A launch, and its inputs; of those that are no uniforms, whose contents are not looked at, only the sizes."""
    config, arrays = DEFAULT_CONFIG, dict(given)
    if program.shapes is not None:
        launch = shaped_launch(program, given_shapes(program.shapes, given), config, given)
        config = launch.config
        arrays |= {**launch.constants, **{name: np.broadcast_to(np.zeros((), t), s) for name, s, t in launch.zeros}}
    ordered = [arrays[buffer.name] for buffer in program.inputs]
    contents = [memoryview(array.tobytes() if array.nbytes <= MAX_UNIFORM_BYTES else b"") for array in ordered]
    return plan_launch(program, [array.nbytes for array in ordered], config), contents


def _distances(bounds: AccessBounds, plan: LaunchPlan, arrays: Mapping[str, Array], own: Shape) -> Distances:
    """What one invocation reads."""
    found = {name: tuple([Interval(0, 0) for _ in own]) for name in arrays}
    for access in bounds.accesses(_ids(plan, own)):
        name = access.buffer.name
        if access.kind is not AccessKind.LOAD or name not in arrays or not bounds.is_exact(access):
            continue
        read = bounds.elements(access, arrays[name].size)
        for element in read if read.low <= read.high else ():
            place = map(int, np.unravel_index(element, arrays[name].shape))
            steps = [there - here for there, here in zip(place, own, strict=True)]
            found[name] = tuple([hull(old, Interval(n, n)) for old, n in zip(found[name], steps, strict=True)])
    return found


def _ids(plan: LaunchPlan, place: Shape) -> Mapping[Expr, Interval]:
    """The ids of one invocation."""
    found: dict[Expr, Interval] = {}
    places = (*on_grid(place), 0, 0)
    for axis, (at, size, groups) in enumerate(zip(places, plan.program.workgroup_size, plan.grid, strict=False)):
        ids = {
            IdKind.GLOBAL_ID: at,
            IdKind.WORKGROUP_ID: at // size,
            IdKind.LOCAL_ID: at % size,
            IdKind.NUM_WORKGROUPS: groups,
        }
        found |= {Id(kind, axis): Interval(value, value) for kind, value in ids.items()}
    return found
