"""What only a kernel can do, as functions: their calls are recognised while a kernel is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

import vyre_algorithms
from vyre.kernels.aggregates import VectorType
from vyre_foundation.build.arguments import dtype_of
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError

TYPES = (DType, np.dtype, type, str)
"""The Python types by which `vec` tells a type of the language, or its name, from a component."""


def index() -> Any:
    """Return the position of this invocation in the shape of the launch: one value of u32 for each axis.

    Returns:
        A value for a shape of one axis; for more axes a tuple, in the order of NumPy's shapes.
    """
    _outside("index")


def global_id(axis: int = 0) -> Any:
    """Return the number of this invocation in the launch, as `ProgramBuilder.global_id` does.

    Args:
        axis: 0, 1 or 2 for x, y or z; x is the last axis of an array.

    Returns:
        A value of u32.
    """
    _outside("global_id")


def local_id(axis: int = 0) -> Any:
    """Return the number of this invocation in its workgroup.

    Args:
        axis: 0, 1 or 2 for x, y or z; x is the last axis of an array.

    Returns:
        A value of u32.
    """
    _outside("local_id")


def workgroup_id(axis: int = 0) -> Any:
    """Return the number of this workgroup in the grid.

    Args:
        axis: 0, 1 or 2 for x, y or z; x is the last axis of an array.

    Returns:
        A value of u32.
    """
    _outside("workgroup_id")


def num_workgroups(axis: int = 0) -> Any:
    """Return the number of workgroups in the grid.

    Args:
        axis: 0, 1 or 2 for x, y or z; x is the last axis of an array.

    Returns:
        A value of u32.
    """
    _outside("num_workgroups")


def subgroup_lane() -> Any:
    """Return the number of this invocation in its subgroup.

    Returns:
        A value of u32. The kernel must state a `subgroup_size`.
    """
    _outside("subgroup_lane")


def subgroup(op: str, value: object, lane: object = None) -> Any:
    """Compute a collective over the subgroup, which all its invocations must reach.

    Args:
        op: Its name, such as ``"reduce_add"`` (docs/language.md, "Subgroups").
        value: The operand of this invocation.
        lane: A value of u32, for broadcast, shuffle and shuffle_xor.

    Returns:
        The result of this invocation.
    """
    _outside("subgroup")


def barrier() -> None:
    """Wait for the workgroup, and see its earlier writes. All of its invocations must reach the barrier, or none."""
    _outside("barrier")


def grid_barrier() -> None:
    """Wait for the whole grid, and see its earlier writes."""
    _outside("grid_barrier")


def trap(code: object, tag: str) -> None:
    """Record a failure and continue; the launch raises `Trapped` and returns no results.

    Args:
        code: A value of u32, which the error reports.
        tag: A string that says what failed.
    """
    _outside("trap")


def bounded(condition: object, iterations: int) -> bool:
    """State the limit of a ``while`` loop: ``while vy.bounded(n > 1, 1000):``.

    If the condition still holds after that many iterations, the launch raises `Trapped`.

    Args:
        condition: The condition of the loop.
        iterations: The largest number of iterations, known at compile time.

    Returns:
        The condition.
    """
    _outside("bounded")


def private(dtype: object, *shape: int | Sequence[int]) -> Any:
    """Declare a small array of each invocation, initially zero.

    Args:
        dtype: The type of the elements.
        *shape: The length of each axis, or a tuple of them.

    Returns:
        The array.
    """
    _outside("private")


def workgroup(dtype: object, *shape: int | Sequence[int]) -> Any:
    """Declare memory that the invocations of a workgroup share, zero when the workgroup starts.

    Args:
        dtype: The type of the elements.
        *shape: The length of each axis, or a tuple of them.

    Returns:
        The array.
    """
    _outside("workgroup")


def vec(*components: object) -> Any:
    """Make a small vector; operators work component by component, also with a number.

    Args:
        *components: Two to four values or numbers. They are the vector's `x`, `y`, `z`, `w`, and its elements. Or a
            type and a number of components, as in ``vec(vy.f32, 3)``.

    Returns:
        The vector; or the type of such vectors, which annotates arrays, fields and parameters of device functions.

    Raises:
        BuildError: Values are passed outside of a kernel, or the number of components is not 2 to 4.
    """
    if len(components) == 2 and isinstance(components[0], TYPES):
        dtype, size = components
        return VectorType(dtype_of(dtype), size)  # type: ignore[arg-type]
    _outside("vec")


def dot(v: object, w: object, **options: Any) -> Any:
    """Compute the sum of the products of components, from the first to the last, or that of two arrays.

    Args:
        v: A vector in a kernel; an array outside of kernels.
        w: A vector of as many components; or an array of the same type and length.
        **options: For arrays, those of `vyre.algorithms.dot`.

    Returns:
        A value of the type of the components; or what `vyre.algorithms.dot` returns.
    """
    return vyre_algorithms.dot(v, w, **options)


def cross(v: object, w: object) -> Any:
    """Compute the cross product: ``(v.y*w.z - v.z*w.y, v.z*w.x - v.x*w.z, v.x*w.y - v.y*w.x)``.

    Args:
        v: A vector of three components.
        w: A vector of three components.

    Returns:
        A vector of three components.
    """
    _outside("cross")


def length(v: object) -> Any:
    """Compute the Euclidean length of a vector: ``sqrt(dot(v, v))``. It overflows if the square does.

    Args:
        v: A vector of floats.

    Returns:
        A value of the type of the components.
    """
    _outside("length")


def normalize(v: object) -> Any:
    """Scale a vector to the length 1: ``v / length(v)``. The components of a vector of zeros become NaN.

    Args:
        v: A vector of floats.

    Returns:
        A vector.
    """
    _outside("normalize")


def _outside(name: str) -> NoReturn:
    raise BuildError(f"{name}() is called outside of a kernel", fix=f"call vy.{name} in a function with @vy.kernel")
