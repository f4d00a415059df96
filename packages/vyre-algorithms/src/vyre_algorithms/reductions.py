"""Reductions: sums, products, means, variances, extremes, tests, bits and dot products; along axes, and of segments.

Elements are combined in the order of the fixed tree (`vyre_algorithms.tree`), which depends on the length of the
sequence alone: not on the device, the backend or its workgroups. Along an axis each row is a sequence of its own; along
several, they are one sequence in row-major order.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Axes,
    Backend,
    array_of,
    axes_of,
    axis_back,
    axis_last,
    axis_of,
    contiguous,
    converted,
    count,
    delivered,
    element_of,
    flattened,
    is_contiguous,
    memory_order,
    of_kind,
    require_like,
    target,
    type_of,
    vector,
)
from vyre_algorithms.launches import GROUP, Elementwise, beside, launch, mapped, runs_loops, zeros_beside
from vyre_algorithms.monoids import REDUCED, all_ones, reduction_of, result_type, squares_of, sum_type
from vyre_algorithms.move import offsets_in_rows, offsets_of
from vyre_algorithms.segments import reduce_segments
from vyre_algorithms.tree import BLOCK, FEW, SIDE_BY_SIDE, Mean, Quotient, Reduction, reduce_axis, reduce_sequence
from vyre_algorithms.whole import holds, place
from vyre_driver.errors import InvalidInput
from vyre_foundation import DType, Program, Value, constant, program, select, u32
from vyre_foundation.dtype import bool_, f32, f64, i64


def reduce(
    x: object,
    /,
    operation: str = "sum",
    *,
    axis: Axes = None,
    dtype: object = None,
    keepdims: bool = False,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Combine the elements by a named operation.

    Args:
        x: An array of any type; of bools or integers for "and", "or" and "xor", which combine bits.
        operation: "sum", "prod", "min", "max", "any", "all", "and", "or", "xor", "argmin" or "argmax".
        axis: As for `sum`.
        dtype: As for `sum`, for sums and products.
        keepdims: Whether the reduced axes stay, with length 1.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        The result of the function of that name, or for bits an array of the type of `x`. Without elements, "or" and
        "xor" give 0, and "and" gives all bits set.

    Raises:
        InvalidInput: There are no elements for a least or greatest one, or an argument is invalid.
    """
    array = array_of(x)
    result = result_type(operation, array, dtype, REDUCED)
    return _reduced(operation, array, axis, result, keepdims, out, backend)


def sum(
    x: object,
    /,
    axis: Axes = None,
    *,
    dtype: object = None,
    keepdims: bool = False,
    initial: object = None,
    where: object = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Add the elements in the order of the fixed tree.

    Args:
        x: An array of any type. Integers wrap.
        axis: An axis, a tuple of axes, or None for all elements as one sequence. The empty tuple reduces nothing.
        dtype: The type of the result, in which elements are added. By default i64 for bools and signed integers, u64
            for unsigned ones, and the array's own for floats; f16 and bf16 are added in f32 and rounded once.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: A number of the type of the result, which is added to each sum at the end; it is rounded.
        where: An array of bool in the shape of `x`, or None. Elements where it is False count as 0.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array, or a NumPy scalar if no axis is left. The sum of no elements is 0.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    return _reduced_of_some("sum", array, axis, sum_type(array, dtype), keepdims, initial, where, out, backend)


def mean(
    x: object, /, axis: Axes = None, *, keepdims: bool = False, out: Array | None = None, backend: Backend = None
) -> Array:
    """Divide the sum of the elements by their number.

    Args:
        x: An array of any type.
        axis: As for `sum`.
        keepdims: Whether the reduced axes stay, with length 1.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        As `sum`, of the type of `x` if that is one of floats, else f64. Elements are converted to this type, f16 and
        bf16 to f32, and added and divided in it; the quotient is rounded once. The mean of no elements is NaN.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    return _reduced("mean", array, axis, _mean_type(array), keepdims, out, backend)


def _mean_type(array: Array) -> DType:
    """The type of the means of the elements."""
    own = type_of(array)
    return own if own.is_float else f64


def var(
    x: object,
    /,
    axis: Axes = None,
    *,
    ddof: int = 0,
    keepdims: bool = False,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Compute the variance of the elements: the mean of the squares of their distances from the mean.

    Args:
        x: An array of any type.
        axis: As for `sum`.
        ddof: The number that is subtracted from the number of elements in the divisor.
        keepdims: Whether the reduced axes stay, with length 1.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        As `mean`, of the same type. The mean is the one of `mean`, but that of f16 and bf16 stays in f32. Each distance
        from it and each square is rounded, the squares are added in the order of the fixed tree, and the sum is divided
        by the number of elements minus `ddof`, or by 0 if that is negative. The variance of no elements is NaN.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    return _reduced("var", array, axis, _mean_type(array), keepdims, out, backend, count(ddof, "ddof"))


def std(
    x: object,
    /,
    axis: Axes = None,
    *,
    ddof: int = 0,
    keepdims: bool = False,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Compute the standard deviation of the elements: the square root of the variance.

    Args:
        x: An array of any type.
        axis: As for `sum`.
        ddof: As for `var`.
        keepdims: Whether the reduced axes stay, with length 1.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        As `var`: the root is rounded, and for f16 and bf16 the variance stays in f32 before it.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    return _reduced("std", array, axis, _mean_type(array), keepdims, out, backend, count(ddof, "ddof"))


def prod(
    x: object,
    /,
    axis: Axes = None,
    *,
    dtype: object = None,
    keepdims: bool = False,
    initial: object = None,
    where: object = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Multiply the elements in the order of the fixed tree.

    Args:
        x: An array of any type. Integers wrap.
        axis: As for `sum`.
        dtype: As for `sum`.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: A number of the type of the result, by which each product is multiplied at the end; it is rounded.
        where: As for `sum`: elements where it is False count as 1.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        As `sum`. The product of no elements is 1.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    return _reduced_of_some("prod", array, axis, sum_type(array, dtype), keepdims, initial, where, out, backend)


def min(
    x: object,
    /,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    initial: object = None,
    where: object = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Find the least element.

    Args:
        x: An array of any type. A NaN is less than all, and −0 is less than +0.
        axis: As for `sum`.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: A number of the type of `x`, with which each result is compared, or None.
        where: As for `sum`, with `initial`: elements where it is False count as that.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array of the type of `x`, or a NumPy scalar if no axis is left.

    Raises:
        InvalidInput: There are no elements and no `initial`, or an argument is invalid.
    """
    array = array_of(x)
    return _reduced_of_some("min", array, axis, type_of(array), keepdims, initial, where, out, backend)


def max(
    x: object,
    /,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    initial: object = None,
    where: object = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Find the greatest element.

    Args:
        x: An array of any type. A NaN is greater than all, and +0 is greater than −0.
        axis: As for `sum`.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: As for `min`.
        where: As for `min`.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array of the type of `x`, or a NumPy scalar if no axis is left.

    Raises:
        InvalidInput: There are no elements and no `initial`, or an argument is invalid.
    """
    array = array_of(x)
    return _reduced_of_some("max", array, axis, type_of(array), keepdims, initial, where, out, backend)


def any(
    x: object,
    /,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    where: object = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Test whether an element is not 0.

    Args:
        x: An array of any type. A NaN is not 0.
        axis: As for `sum`.
        keepdims: Whether the reduced axes stay, with length 1.
        where: As for `sum`: elements where it is False count as 0.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array of bool, or a NumPy scalar if no axis is left. Without elements it is False.

    Raises:
        InvalidInput: An argument is invalid.
    """
    return _reduced_of_some("any", array_of(x), axis, bool_, keepdims, None, where, out, backend)


def all(
    x: object,
    /,
    axis: Axes = None,
    *,
    keepdims: bool = False,
    where: object = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Test whether no element is 0.

    Args:
        x: An array of any type. A NaN is not 0.
        axis: As for `sum`.
        keepdims: Whether the reduced axes stay, with length 1.
        where: As for `sum`: elements where it is False count as 1.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array of bool, or a NumPy scalar if no axis is left. Without elements it is True.

    Raises:
        InvalidInput: An argument is invalid.
    """
    return _reduced_of_some("all", array_of(x), axis, bool_, keepdims, None, where, out, backend)


def argmin(
    x: object, /, axis: int | None = None, *, keepdims: bool = False, out: Array | None = None, backend: Backend = None
) -> Array:
    """Find the index of the least element, the first of several.

    Args:
        x: An array of any type. A NaN is less than all; −0 and +0 are equal.
        axis: One axis, or None for all elements as one sequence.
        keepdims: Whether the reduced axis stays, with length 1.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array of int64, or a NumPy scalar if no axis is left.

    Raises:
        InvalidInput: There are no elements, or an argument is invalid.
    """
    return _reduced("argmin", array_of(x), axis, i64, keepdims, out, backend)


def argmax(
    x: object, /, axis: int | None = None, *, keepdims: bool = False, out: Array | None = None, backend: Backend = None
) -> Array:
    """Find the index of the greatest element, the first of several.

    Args:
        x: An array of any type. A NaN is greater than all; −0 and +0 are equal.
        axis: One axis, or None for all elements as one sequence.
        keepdims: Whether the reduced axis stays, with length 1.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array of int64, or a NumPy scalar if no axis is left.

    Raises:
        InvalidInput: There are no elements, or an argument is invalid.
    """
    return _reduced("argmax", array_of(x), axis, i64, keepdims, out, backend)


def dot(x: object, y: object, /, *, out: Array | None = None, backend: Backend = None) -> Array:
    """Multiply two vectors element by element, and add the products in the order of the fixed tree.

    Args:
        x: An array with one axis, of integers or floats.
        y: An array of the same type and length.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        A NumPy scalar, of the type of `x`. Integers wrap. Each product of floats is rounded before it is added;
        products of f16 and bf16 are formed and added in f32, and the sum is rounded once.

    Raises:
        InvalidInput: The vectors do not fit each other, or an argument is invalid.
    """
    left, right = vector(x), vector(y, "y")
    dtype = of_kind(left, "iuf", "integers or floats")
    require_like(left, right)
    if out is not None:
        target(out, [left, right], dtype, ())
    if not left.size:
        return delivered(zeros_beside(left, (), dtype), out)
    (found,) = reduce_sequence(reduction_of("dot", dtype, dtype), [left, right], backend)
    return delivered(converted(found, dtype).reshape(()), out)


def segmented_reduce(
    x: object,
    starts: object,
    /,
    operation: str = "sum",
    *,
    axis: int = -1,
    dtype: object = None,
    backend: Backend = None,
) -> Array:
    """Reduce each segment of an axis: the result of a segment is that of a vector of its elements.

    Args:
        x: An array with one axis or more.
        starts: The index of the first element of each segment, and the length of the axis last: integers that ascend
            from 0. In a graph they may be a range; starts that do not ascend, and segments without elements where there
            must be one, are traps of the launch then.
        operation: As for `reduce`; "argmin" and "argmax" give indices in the segment.
        axis: The axis that has the segments.
        dtype: As for `sum`, for sums and products.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`, where the axis has an element for each segment.

    Raises:
        InvalidInput: A segment without elements has no least or greatest one; or an argument is invalid.
    """
    array = array_of(x)
    which = axis_of(axis, array.ndim)
    result = result_type(operation, array, dtype, REDUCED)
    rows = axis_last(array, which)
    *outer, length = rows.shape
    offsets = offsets_of(starts, length, backend)
    repeated = offsets_in_rows(offsets, math.prod(outer), length, backend)
    found = _of_segments(operation, rows.reshape(-1), repeated, result, backend)
    return axis_back(found.reshape((*outer, offsets.size - 1)), which)


def _reduced(
    operation: str,
    array: Array,
    axis: Axes,
    result: DType,
    keepdims: bool,
    out: Array | None,
    backend: Backend,
    ddof: int = 0,
) -> Array:
    if axis is None and out is None and not keepdims:
        found = _of_whole(operation, array, result, backend, ddof)
        return found[0] if type(found) is np.ndarray else found.reshape(())
    axes, whole = axes_of(axis, array.ndim), array.shape
    shape: tuple[int, ...]
    if out is not None:
        lengths = [1 if n in axes else size for n, size in enumerate(whole) if keepdims or n not in axes]
        target(out, [array], result, tuple(lengths))
    if len(axes) == array.ndim:
        found, shape = _of_whole(operation, array, result, backend, ddof), ()
    else:
        shape = tuple([size for n, size in enumerate(whole) if n not in axes])
        if array.size:
            found = _along(operation, array, axes, result, backend, ddof)
        elif 0 not in [whole[n] for n in axes]:  # there are no results
            found = _of_no_elements(operation, array, result, 0)
        else:
            found = _of_nothing(operation, array, result, math.prod(shape))
    if keepdims:
        shape = tuple(1 if n in axes else size for n, size in enumerate(whole))
    return delivered(found.reshape(shape), out)


def _reduced_of_some(
    operation: str,
    array: Array,
    axis: Axes,
    result: DType,
    keepdims: bool,
    initial: object,
    where: object,
    out: Array | None,
    backend: Backend,
) -> Array:
    """The same with `initial`, of the elements of a mask: those outside of it are replaced before."""
    if initial is None and where is None:
        return _reduced(operation, array, axis, result, keepdims, out, backend)
    first = None if initial is None else element_of(initial, result, "initial")
    if where is not None:
        mask, dtype = array_of(where, "where"), type_of(array)
        of_kind(mask, "b", "bools", "where")
        if mask.shape != array.shape:
            fix = "pass a bool for each element: numpy.broadcast_to(where, x.shape)"
            raise InvalidInput("where", needed=f"the shape {array.shape}", got=f"{mask.shape}", fix=fix)
        if operation in _EXTREMES and first is None:
            needed, fix = f"`initial` for {operation}", "pass what the result is if the mask selects no element"
            raise InvalidInput("where", needed=needed, got="none", fix=fix)
        neutral = np.full(1, operation in ("prod", "all"), dtype.numpy)
        other = first if operation in _EXTREMES else neutral
        array = mapped(_selected, dtype, [contiguous(array), contiguous(mask), other], backend)
    if first is None:
        return _reduced(operation, array, axis, result, keepdims, out, backend)
    axes = axes_of(axis, array.ndim)
    shape = tuple([1 if n in axes else size for n, size in enumerate(array.shape) if keepdims or n not in axes])
    if out is not None:
        target(out, [array], result, shape)
    if not array.size and operation in _EXTREMES:
        return delivered(beside(array, np.full(shape, first[0], result.numpy)), out)
    found = _reduced(operation, array, axis, result, True, None, backend)
    return delivered(mapped(_combining(operation, result), result, [found, first], backend).reshape(shape), out)


@lru_cache(maxsize=64)
def _combining(operation: str, dtype: DType) -> Elementwise:
    """What an operation combines two results with."""
    combine = reduction_of(operation, dtype, dtype).combine
    return lambda result, initial: combine((result,), (initial,))[0]


def _selected(element: Value, is_selected: Value, other: Value) -> Value:
    return select(is_selected, element, other)


def _of_whole(operation: str, array: Array, result: DType, backend: Backend, ddof: int) -> Array:
    """The result of all elements as one sequence, an array of one element."""
    if not array.size:
        return _of_nothing(operation, array, result, 1)
    sequence = flattened(array)
    if sequence.size > BLOCK and operation in _ORDERLESS and runs_loops([sequence], backend):
        return _ORDERLESS[operation](operation, sequence, backend)
    states: list[Array] = []
    for kind, mean in _passes(operation, type_of(array), result, sequence.size, ddof):
        states = reduce_sequence(kind, [sequence, *states], backend, mean)
    return _finished(operation, states, result)


def _along(operation: str, array: Array, axes: tuple[int, ...], result: DType, backend: Backend, ddof: int) -> Array:
    """The results along some axes, which are read as they lie in memory if they follow each other there."""
    if len(axes) == 1 and is_contiguous(array):
        (axis,) = axes
        inner = math.prod(array.shape[axis + 1 :])
        if inner == 1 or inner >= SIDE_BY_SIDE or array.size <= FEW:
            return _of_sequences(operation, flattened(array), array.shape[axis], inner, result, backend, ddof)
    before, after = _around(array, axes)
    length, inner = math.prod(array.shape[n] for n in axes), math.prod(array.shape[n] for n in after)
    if 1 < inner < SIDE_BY_SIDE and array.size > FEW:
        before, after, inner = sorted([*before, *after]), [], 1
    left, order = [*before, *after], [*before, *axes, *after]
    flat = flattened(array if order == sorted(order) else array.transpose(*order))
    found = _of_sequences(operation, flat, length, inner, result, backend, ddof)
    if left == sorted(left):
        return found
    return contiguous(found.reshape([array.shape[n] for n in left]).transpose(*map(left.index, sorted(left))))


def _of_sequences(
    operation: str, flat: Array, length: int, inner: int, result: DType, backend: Backend, ddof: int
) -> Array:
    """The results of sequences of `length` elements, of which `inner` lie side by side."""
    outer = flat.size // (length * inner)
    states: list[Array] = []
    for kind, mean in _passes(operation, type_of(flat), result, length, ddof):
        states = reduce_axis(kind, [flat, *states], outer, length, inner, backend, mean)
    return _finished(operation, states, result)


def _around(array: Array, axes: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The axes before and after those that are reduced, as they lie in memory; all before where those are apart."""
    order = memory_order(array)
    at = order.index(axes[0]) if axes else array.ndim
    if tuple(order[at : at + len(axes)]) == axes:
        return order[:at], order[at + len(axes) :]
    return [n for n in range(array.ndim) if n not in axes], []


@lru_cache(maxsize=1024)
def _passes(operation: str, dtype: DType, result: DType, length: int, ddof: int) -> list[tuple[Reduction, Mean | None]]:
    """What is combined, and what is made of the states in the end; a second pass gets the results of the first, too."""
    if operation not in _MEANS:
        return [(reduction_of(operation, dtype, result), None)]
    state = f32 if result.bits == 16 else result
    added, number = reduction_of("sum", dtype, state), np.full(1, length, state.numpy)
    if operation == "mean":
        return [(added, Mean(Quotient(result), number))]
    divisor = np.full(1, builtins.max(length - ddof, 0), state.numpy)
    squares = Mean(Quotient(result, is_root=operation == "std"), divisor)
    if length <= BLOCK:
        return [(squares_of(dtype, state, is_one_block=True), squares)]
    return [(added, Mean(Quotient(state), number)), (squares_of(dtype, state, is_one_block=False), squares)]


def _of_segments(operation: str, array: Array, starts: Array, result: DType, backend: Backend) -> Array:
    number, longest = starts.size - 1, array.size
    has_empty = True
    if isinstance(starts, np.ndarray):
        lengths = starts[1:] - starts[:-1]
        has_empty, longest = np.count_nonzero(lengths) < number, int(np.maximum.reduce(lengths, initial=0))
        if has_empty and operation in _EXTREMES:
            return _of_nothing(operation, array, result, number)
        starts = beside(array, starts)
    elif operation in _EXTREMES:
        starts = launch(_filled(), {"starts": starts}, -(-starts.size // GROUP), backend)["filled"]
    if not number or not array.size:
        return _of_no_elements(operation, array, result, number)
    states = reduce_segments(reduction_of(operation, type_of(array), result), [array], starts, longest, backend)
    if operation in ("argmin", "argmax"):
        states[1] = mapped(_behind, i64, [states[1], starts[:-1]], backend)
    found = _finished(operation, states, result)
    if operation == "sum" and result.is_float and has_empty:  # the identity is −0
        if isinstance(found, np.ndarray):
            found[np.flatnonzero(lengths == 0)] = 0
            return found
        found = mapped(_or_zero, result, [found, starts[:-1], starts[1:]], backend)
    return found


@lru_cache(maxsize=1)
def _filled() -> Program:
    """The starts of segments; a trap unless each has an element."""
    with program("filled_segments", GROUP) as p:
        starts = p.read("starts", u32)
        filled = p.write("filled", u32, like=starts)
        i = p.global_id(0)
        with p.if_(i < starts.length):
            with p.if_((i + 1 < starts.length) & (starts[i] == starts[i + 1])):
                p.trap(i, "a segment without elements has no least or greatest one")
            filled[i] = starts[i]
    return p.build()


def _or_zero(total: Value, first: Value, last: Value) -> Value:
    return select(first == last, constant(total.dtype, 0), total)


_ORDERLESS = {"any": holds, "all": holds, "argmin": place, "argmax": place}
"""Operations of which these give the result of more than a block in less time."""
_EXTREMES = ("min", "max", "argmin", "argmax")
_MEANS = ("mean", "var", "std")


def _of_no_elements(operation: str, array: Array, result: DType, number: int) -> Array:
    """What a number of sequences without elements have; there may be none of them."""
    if number:
        return _of_nothing(operation, array, result, number)
    return zeros_beside(array, (0,), result)


def _of_nothing(operation: str, array: Array, result: DType, number: int) -> Array:
    if operation in _EXTREMES:
        needed = f"at least one element for {operation}"
        raise InvalidInput("x", needed=needed, got="none", fix="leave empty arrays and segments out")
    value: float = operation in ("prod", "all")
    if operation in _MEANS:
        value = np.nan
    elif operation == "and":
        value = all_ones(result)
    return beside(array, np.full(number, value, result.numpy))


def _behind(index: Value, start: Value) -> Value:
    return (index - start).cast(i64)


def _finished(operation: str, states: Sequence[Array], result: DType) -> Array:
    return converted(states[1] if operation in ("argmin", "argmax") else states[0], result)
