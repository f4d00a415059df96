"""Launches of programs whose buffers have shapes: lengths of axes, the grid, and what is passed beside the arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.backend.arrow import exports_arrow
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.typed import require_types
from vyre_driver.errors import InvalidInput
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.launch import grid_of_invocations
from vyre_foundation.build.arguments import fix_of_elements, shown
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE, Axis, Shapes, on_grid

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


def shaped_launch(
    program: Program, given: Mapping[str, tuple[int, ...]], config: DispatchConfig, numbers: Mapping[str, object]
) -> ShapedLaunch:
    """Check the shapes of arrays against the declarations, and compute the grid.

    Args:
        program: One that has `shapes`.
        given: The shapes of the arrays by the names of inputs.
        config: The options of the dispatch. A grid in them stays what it is.
        numbers: What the launch is given by name, with at least the numbers of `Shapes.numbers`.

    Raises:
        InvalidInput: An array, which the error names, has another type or shape, or is missing, or a number is no
            length.
        InvalidLaunch: A workgroup has several invocations on an axis that the shape of the launch does not have.
    """
    shapes = program.shapes
    if shapes is None:
        return ShapedLaunch(config, {}, (), {})
    require_types(program, numbers)
    lengths = {name: length_from(name, numbers.get(name)) for name in shapes.numbers}
    origin = {name: name for name in lengths}
    for name, axes in shapes.buffers.items():
        if name in given:
            _unify(program, name, given[name], lengths, origin)
        elif program.buffer(name).is_input and name not in shapes.zeros:
            raise missing_input(program, name, f"an array of {_text(program, name, axes)}", numbers)

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


def axes_position(program: Program) -> int | None:
    """Where `LAUNCH_SHAPE` stands among the inputs of a program; None where it was replaced by constants."""
    return next((n for n, buffer in enumerate(program.inputs) if buffer.name == LAUNCH_SHAPE), None)


def passed_axes(program: Program, contents: bytes) -> tuple[int, ...]:
    """The lengths in the contents of `LAUNCH_SHAPE`; () if the launch passes none, or contents of another length."""
    count = 0 if program.shapes is None else len(program.shapes.passed)
    return tuple(np.frombuffer(contents, np.uint32).tolist()) if len(contents) == 4 * count else ()


def given_shapes(shapes: Shapes, arrays: Mapping[str, object]) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays that are passed for buffers with a shape.

    Raises:
        InvalidInput: Something that is passed has no shape.
    """
    return {name: shape_of(name, arrays[name]) for name in shapes.buffers if name in arrays}


def length_from(name: str, given: object) -> int:
    """The length of an axis from a number that a caller passes: an integer, or an array of one.

    Raises:
        InvalidInput: It is none, or no length.
    """
    number = given.item() if isinstance(given, np.ndarray) and given.size == 1 else given
    try:
        length = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        needed, fix = "an integer, which is the length of an axis", "pass a number, as in 640"
        raise InvalidInput(name, needed=needed, got="nothing" if given is None else shown(given), fix=fix) from None
    if not 0 <= length < 2**32:
        needed, fix = "a length of an axis, in 0 … 2**32 - 1", "pass such a number"
        raise InvalidInput(name, needed=needed, got=str(length), fix=fix)
    return length


def shape_of(name: str, given: object) -> tuple[int, ...]:
    """The shape of an array; one of Arrow has one axis, an object of the buffer protocol that of its buffer."""
    shape = getattr(given, "shape", None)
    if isinstance(shape, tuple):
        return tuple(shape)
    if exports_arrow(given) and isinstance(given, Sized):
        return (len(given),)
    try:
        return memoryview(given).shape or ()  # type: ignore[arg-type]
    except TypeError:
        fix = fix_of_elements(given) or "pass a NumPy array, which has a type and a shape"
        raise InvalidInput(name, needed="an array", got=shown(given), fix=fix) from None


def _with_grid(
    program: Program, shape: tuple[int, ...], results: Mapping[str, tuple[int, ...]], config: DispatchConfig
) -> DispatchConfig:
    """The options of a launch, with its grid where that is not the one that the outputs give."""
    if config.grid_override is not None or not shape or find_indirect_dispatch(program) is not None:
        return config
    is_line = len(shape) == 1 and (config.workgroup_override or program.workgroup_size)[1:] == (1, 1)
    all_shaped = is_line and all(buffer.name in results for buffer in program.outputs)
    if all_shaped and max(map(math.prod, results.values()), default=0) == shape[0]:
        return config
    return config.replace(grid_override=grid_of_invocations(program, on_grid(shape), config))


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
            as_given = "the number says" if origin[axis] == axis else f"{origin[axis]!r} has"
            needed = f"{axis} = {lengths[axis]} elements, as {as_given}"
            fix = "pass arrays whose shapes agree with the declarations"
            raise InvalidInput(name, needed=needed, got=f"{length} in the shape {shape}", fix=fix)
        origin.setdefault(axis if isinstance(axis, str) else "", name)


def missing_input(program: Program, name: str, needed: str, given: Iterable[str]) -> InvalidInput:
    """The error for an input that is not passed: of a name among those given that the program does not have, if any."""
    known = [buffer.name for buffer in program.inputs if buffer.name != LAUNCH_SHAPE]
    if program.shapes is not None:
        known += [number for number in program.shapes.numbers if number not in known]
    declared = {*known, LAUNCH_SHAPE, *(buffer.name for buffer in program.outputs)}
    unknown = next((other for other in given if other not in declared), None)
    if unknown is None:
        return InvalidInput(name, needed=needed, got="nothing", fix="pass an array for every input of the program")
    needed, got = f"one of {', '.join(known)}", "a name that the program has no input of"
    return InvalidInput(unknown, needed=needed, got=got, fix=f"pass {name!r}, which is missing")


def _text(program: Program, name: str, axes: tuple[Axis, ...]) -> str:
    return f"{program.buffer(name).dtype}[{', '.join(map(str, axes))}]"
