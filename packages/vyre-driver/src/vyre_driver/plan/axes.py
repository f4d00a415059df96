"""Launches of programs whose buffers have shapes: lengths of axes, the grid, and what is passed beside the arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import InvalidInput
from vyre_driver.plan.launch import grid_of_invocations
from vyre_foundation.build.arguments import shown
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE, Axis, Shapes

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class ShapedLaunch:
    """How to launch a program over arrays of certain shapes."""

    config: DispatchConfig
    constants: Mapping[str, npt.NDArray[np.uint32]]
    """The lengths of axes that the launch passes."""
    zeros: Sequence[tuple[str, tuple[int, ...], np.dtype[Any]]]
    """Results that the program takes as inputs too, and for which the caller passes nothing."""
    results: Mapping[str, tuple[int, ...]]
    """The shapes of the outputs that are declared with one."""


def shaped_launch(program: Program, given: Mapping[str, tuple[int, ...]], config: DispatchConfig) -> ShapedLaunch:
    """Check the shapes of arrays against the declarations, and compute the grid.

    Args:
        program: One that has `shapes`.
        given: The shapes of the arrays by the names of inputs.
        config: The options of the dispatch. A grid in them stays what it is.

    Raises:
        InvalidInput: An array, which the error names, has another shape, or is missing.
    """
    shapes = program.shapes
    if shapes is None:
        return ShapedLaunch(config, {}, (), {})
    lengths: dict[str, int] = {}
    origin: dict[str, str] = {}
    for name, axes in shapes.buffers.items():
        if name in given:
            _unify(program, name, given[name], lengths, origin)
        elif program.buffer(name).is_input and name not in shapes.zeros:
            fix = "pass an array for every input of the program"
            raise InvalidInput(name, needed=f"an array of {_text(program, name, axes)}", got="nothing", fix=fix)

    def resolved(axes: Sequence[Axis]) -> tuple[int, ...]:
        return tuple([axis if isinstance(axis, int) else lengths[axis] for axis in axes])

    results = {
        name: given[name] if name in given else resolved(axes)
        for name, axes in shapes.buffers.items()
        if program.buffer(name).is_output
    }
    zeros = [(n, results[n], np.dtype(program.buffer(n).dtype.numpy)) for n in shapes.zeros if n not in given]
    constants = {}
    if shapes.passed:
        constants[LAUNCH_SHAPE] = np.array([lengths[axis] for axis in shapes.passed], np.uint32)
    return ShapedLaunch(_with_grid(program, resolved(shapes.launch), results, config), constants, zeros, results)


def given_shapes(shapes: Shapes, arrays: Mapping[str, object]) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that are passed for buffers with a shape.

    Raises:
        InvalidInput: Something that is passed has no shape.
    """
    return {name: shape_of(name, arrays[name]) for name in shapes.buffers if name in arrays}


def shape_of(name: str, given: object) -> tuple[int, ...]:
    """The shape of an array; that of an object of the buffer protocol is the shape of its buffer."""
    shape = getattr(given, "shape", None)
    if isinstance(shape, tuple):
        return tuple(shape)
    try:
        return memoryview(given).shape or ()  # type: ignore[arg-type]
    except TypeError:
        fix = "pass a NumPy array, which has a type and a shape"
        raise InvalidInput(name, needed="an array", got=shown(given), fix=fix) from None


def _with_grid(
    program: Program, shape: tuple[int, ...], results: Mapping[str, tuple[int, ...]], config: DispatchConfig
) -> DispatchConfig:
    """The options of a launch, with its grid where that is not the one that the outputs give."""
    if config.grid_override is not None or not shape:
        return config
    all_shaped = all(buffer.name in results for buffer in program.outputs)
    if len(shape) == 1 and all_shaped and max(map(math.prod, results.values()), default=0) == shape[0]:
        return config
    return config.replace(grid_override=grid_of_invocations(program, tuple(reversed(shape)), config))


def _unify(
    program: Program, name: str, shape: tuple[int, ...], lengths: dict[str, int], origin: dict[str, str]
) -> None:
    """Check a shape against a declaration, and add the lengths of its shape variables."""
    assert program.shapes is not None
    axes = program.shapes.buffers[name]
    if len(shape) != len(axes):
        expected = "one axis" if len(axes) == 1 else f"{len(axes)} axes"
        fix = "pass an array of the declared shape, or reshape it"
        raise InvalidInput(name, needed=f"an array of {expected}", got=f"one of shape {shape}", fix=fix)
    for axis, length in zip(axes, shape, strict=True):
        if isinstance(axis, int):
            if axis != length:
                fix = "pass an array of the declared shape"
                needed = f"the shape {_text(program, name, axes)}"
                raise InvalidInput(name, needed=needed, got=f"{shape}", fix=fix)
        elif lengths.setdefault(axis, length) != length and axis:
            needed = f"{axis} = {lengths[axis]} elements, as {origin[axis]!r} has"
            fix = "pass arrays whose shapes agree with the declarations"
            raise InvalidInput(name, needed=needed, got=f"{length} in the shape {shape}", fix=fix)
        origin.setdefault(axis if isinstance(axis, str) else "", name)


def _text(program: Program, name: str, axes: tuple[Axis, ...]) -> str:
    return f"{program.buffer(name).dtype}[{', '.join(map(str, axes))}]"
