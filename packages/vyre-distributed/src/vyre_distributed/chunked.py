"""Reductions and counts of chunked arrays: `dask.array` in, `dask.array` out, lazily.

Each chunk is a task that runs on the local backend of a worker, or of this process where Dask's threads run tasks. The
results do not depend on the chunks: the array is one sequence in row-major order, which is combined in
the order of the fixed tree of `vyre_algorithms`, whose blocks chunks are made to hold whole.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

import vyre_algorithms
from vyre_algorithms.arguments import Axes, array_of, as_dtype, axes_of, count, type_of
from vyre_algorithms.exact import CELLS, long_accumulator, rounded
from vyre_algorithms.monoids import SCANNED, reduction_of, result_type
from vyre_algorithms.tree import BLOCK, reduce_blocks, reduce_sequence
from vyre_distributed.mapped import Array, in_one_chunk, require_sizes
from vyre_distributed.worker import local_backend
from vyre_driver.errors import InvalidInput
from vyre_foundation.dtype import DType

LAST = 1 << 20
"""States of blocks that one task combines: whole blocks of them."""


def reduce(
    x: da.Array, /, operation: str = "sum", *, axis: Axes = None, dtype: object = None, keepdims: bool = False
) -> da.Array:
    """Combine the elements by an operation that is named; the bytes do not depend on the chunks.

    Args:
        x: A chunked array, as for `vyre_algorithms.reduce`.
        operation: As for `vyre_algorithms.scan`.
        axis: An axis, a tuple of axes, or None for all elements as one sequence in row-major order.
        dtype: As for `vyre_algorithms.sum`, for sums and products.
        keepdims: Whether the reduced axes stay, with length 1.

    Returns:
        The array of `vyre_algorithms.reduce`, byte by byte.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    result = result_type(operation, empty(x), dtype, SCANNED)
    axes = axes_of(axis, x.ndim)
    if len(axes) < x.ndim:
        return _of_rows(_row, x, axes, result.numpy, operation, keepdims=keepdims, operation=operation)
    return _in_dimensions(_reduced(operation, x, result), x, keepdims=keepdims)


def sum(x: da.Array, /, axis: Axes = None, *, dtype: object = None, keepdims: bool = False) -> da.Array:
    """Add the elements in the order of the fixed tree; the bytes do not depend on the chunks.

    Args:
        x: A chunked array of any type. Integers wrap.
        axis: An axis, a tuple of axes, or None for all elements as one sequence in row-major order.
        dtype: As for `vyre_algorithms.sum`.
        keepdims: Whether the reduced axes stay, with length 1.

    Returns:
        The array of `vyre_algorithms.sum`, byte by byte.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    return reduce(x, "sum", axis=axis, dtype=dtype, keepdims=keepdims)


def prod(x: da.Array, /, axis: Axes = None, *, dtype: object = None, keepdims: bool = False) -> da.Array:
    """Multiply the elements in the order of the fixed tree; otherwise as `sum`."""
    return reduce(x, "prod", axis=axis, dtype=dtype, keepdims=keepdims)


def min(x: da.Array, /, axis: Axes = None, *, keepdims: bool = False) -> da.Array:
    """Find the least element, as `vyre_algorithms.min` does; `axis` and `keepdims` as for `sum`."""
    return reduce(x, "min", axis=axis, keepdims=keepdims)


def max(x: da.Array, /, axis: Axes = None, *, keepdims: bool = False) -> da.Array:
    """Find the greatest element, as `vyre_algorithms.max` does; `axis` and `keepdims` as for `sum`."""
    return reduce(x, "max", axis=axis, keepdims=keepdims)


def any(x: da.Array, /, axis: Axes = None, *, keepdims: bool = False) -> da.Array:
    """Test whether an element is not 0; `axis` and `keepdims` as for `sum`."""
    return reduce(x, "any", axis=axis, keepdims=keepdims)


def all(x: da.Array, /, axis: Axes = None, *, keepdims: bool = False) -> da.Array:
    """Test whether no element is 0; `axis` and `keepdims` as for `sum`."""
    return reduce(x, "all", axis=axis, keepdims=keepdims)


def exact_sum(x: da.Array, /, axis: Axes = None, *, keepdims: bool = False) -> da.Array:
    """Add floats as if with unlimited precision, and round each sum once.

    Args:
        x: A chunked array of floats, of any length.
        axis: As for `sum`.
        keepdims: Whether the reduced axes stay, with length 1.

    Returns:
        The floats nearest to the sums, ties to even.

    Raises:
        InvalidInput: The array is of another type, or the sizes of its chunks are not known.
    """
    dtype = type_of(empty(x))
    if not dtype.is_float:
        raise InvalidInput("x", needed="floats", got=str(dtype), fix="use sum: sums of integers are exact")
    axes = axes_of(axis, x.ndim)
    if len(axes) < x.ndim:
        return _of_rows(_exact_row, x, axes, x.dtype, "exact-sum", keepdims=keepdims)
    flat = sequence(x)
    sizes = (CELLS + 3,) * flat.numblocks[0]
    cells = da.map_blocks(_cells, flat, token="exact-sum", chunks=(sizes,), dtype=np.int64, meta=np.empty(0, np.int64))
    return _in_dimensions(in_one_task(cells, _rounded, x.dtype, token="exact-sum-of-cells"), x, keepdims=keepdims)


def histogram(x: da.Array, /, bins: int | Sequence[float], range: tuple[float, float] | None = None) -> da.Array:
    """Count the elements between edges, as `vyre_algorithms.histogram` does.

    Args:
        x: A chunked array of integers or floats.
        bins: The number of bins of equal width, or their ascending edges.
        range: The first and the last edge; needed if `bins` is a number, because no chunk is read for them.

    Returns:
        The counts, as int64.

    Raises:
        InvalidInput: There are no edges, or they do not ascend.
    """
    if np.ndim(bins) == 0 and range is None:
        raise InvalidInput("range", needed="the first and the last edge", got="None", fix="pass range=(first, last)")
    _, edges = vyre_algorithms.histogram(np.zeros(0), bins, range)
    return _counts(x, _histogram, edges.size - 1, edges=edges)


def bincount(x: da.Array, /, *, length: int) -> da.Array:
    """Count how often each of the numbers 0 … length - 1 is in an array.

    Args:
        x: A chunked array of integers that are not negative.
        length: The number of counts.

    Returns:
        The counts, as int64. Computing them raises `InvalidInput` if a number is not below `length`.

    Raises:
        InvalidInput: `length` is not a number from 0 to 2**28.
    """
    bins = count(length, "length", 1 << 28)
    return _counts(x, _bincount, bins, length=bins)


# ── what is built ──


def empty(x: object, name: str = "x") -> Array:
    """No elements, of the type of a chunked array."""
    if not isinstance(x, da.Array):
        fix = "make one with dask.array.from_array, or use vyre_algorithms"
        if hasattr(x, "to_dask_array"):
            fix = "call .to_dask_array(lengths=True)"
        raise InvalidInput(name, needed="a dask.array", got=type(x).__name__, fix=fix)
    return np.empty(0, x.dtype)


def sequence(x: da.Array) -> da.Array:
    """All elements in row-major order, in chunks of whole blocks."""
    require_sizes(x)
    flat = x.reshape(-1) if x.size else da.from_array(empty(x))  # Dask does not reshape all that has no elements
    size = builtins.max(flat.chunks[0], default=1)
    chunks: da.Array = flat.rechunk(-(-size // BLOCK) * BLOCK)
    return chunks


def _of_rows(
    task: Any,
    x: da.Array,
    axes: tuple[int, ...],
    dtype: np.dtype[Any],
    token: str,
    *,
    keepdims: bool,
    **options: Any,
) -> da.Array:
    """What a task gives along axes, which the chunks that it gets hold whole."""
    rows = x
    for axis in axes:
        rows = in_one_chunk(rows, axis)
    chunks = tuple([(1,) if n in axes else sizes for n, sizes in enumerate(rows.chunks) if keepdims or n not in axes])
    found: da.Array = da.map_blocks(
        task, rows, token=token, drop_axis=[] if keepdims else axes, chunks=chunks, dtype=dtype,
        meta=np.empty((0,) * len(chunks), dtype), axes=axes, result=dtype, keepdims=keepdims, **options,
    )  # fmt: skip
    return found


def _in_dimensions(found: da.Array, x: da.Array, *, keepdims: bool) -> da.Array:
    """The result of all elements, with an axis of length 1 for each axis of the array if these stay."""
    shaped: da.Array = found.reshape((1,) * x.ndim) if keepdims else found
    return shaped


def _reduced(operation: str, x: da.Array, result: DType) -> da.Array:
    """The result of all elements, as one sequence in row-major order."""
    dtype, final = type_of(empty(x)), result.numpy
    if not x.size:
        nothing: da.Array = da.from_array(np.asarray(vyre_algorithms.reduce(empty(x), operation, dtype=final)))
        return nothing
    kind = {"operation": operation, "given": dtype.numpy, "result": final}
    state = reduction_of(operation, dtype, result).state[0].numpy
    states, is_states = sequence(x), False
    while states.size > LAST or not is_states:
        sizes = tuple([-(-size // BLOCK) for size in states.chunks[0]])
        states = da.map_blocks(
            _blocks,
            states,
            token=operation,
            chunks=(sizes,),
            dtype=state,
            meta=np.empty(0, state),
            of_states=is_states,
            **kind,
        )
        states, is_states = states.rechunk(LAST), True
    return in_one_task(states, _state, final, token=f"{operation}-of-blocks", **kind)


def in_one_task(parts: da.Array, task: Any, dtype: np.dtype[Any], **options: Any) -> da.Array:
    """One task over all parts, which gives a scalar."""
    found: da.Array = da.map_blocks(
        task, parts.rechunk(-1), drop_axis=0, dtype=dtype, meta=np.empty((), dtype), final=dtype, **options
    )
    return found


def _counts(x: da.Array, task: Any, bins: int, **options: Any) -> da.Array:
    empty(x)
    flat = sequence(x)
    parts = da.map_blocks(
        task, flat, chunks=((1,) * flat.numblocks[0], (bins,)), new_axis=1, dtype=np.int64,
        meta=np.empty((0, 0), np.int64), token=task.__name__.strip("_"), **options,
    )  # fmt: skip
    counts: da.Array = parts.sum(axis=0)
    return counts


# ── what runs on workers ──


def _blocks(chunk: Array, *, operation: str, given: Any, result: Any, of_states: bool) -> Array:
    reduction = reduction_of(operation, as_dtype(given), as_dtype(result))
    (states,) = reduce_blocks(reduction.of_states if of_states else reduction, [vector(chunk)], local_backend())
    merged: Array = states
    return merged


def _state(states: Array, *, operation: str, given: Any, result: Any, final: Any) -> Array:
    reduction = reduction_of(operation, as_dtype(given), as_dtype(result))
    (found,) = reduce_sequence(reduction.of_states, [vector(states)], local_backend())
    whole: Array = found.astype(final).reshape(())
    return whole


def _row(chunk: Array, *, operation: str, axes: tuple[int, ...], result: Any, keepdims: bool) -> Array:
    found = vyre_algorithms.reduce(
        chunk, operation, axis=axes, dtype=result, keepdims=keepdims, backend=local_backend()
    )
    return np.asarray(found)


def _exact_row(chunk: Array, *, axes: tuple[int, ...], result: Any, keepdims: bool) -> Array:
    return np.asarray(vyre_algorithms.exact_sum(chunk, axes, keepdims=keepdims, backend=local_backend()))


def _cells(chunk: Array) -> Array:
    result: Array = long_accumulator([vector(chunk)], type_of(chunk), local_backend())
    return result


def _rounded(cells: Array, *, final: Any) -> Array:
    totals = cells.reshape(-1, CELLS + 3).astype(object).sum(axis=0).tolist()
    return np.array(rounded(totals, as_dtype(final))).astype(final)


def _histogram(chunk: Array, *, edges: Array) -> Array:
    result: Array = vyre_algorithms.histogram(chunk, edges, backend=local_backend())[0][None]
    return result


def _bincount(chunk: Array, *, length: int) -> Array:
    counts = vyre_algorithms.bincount(chunk, minlength=length, backend=local_backend())
    if counts.size > length:
        raise InvalidInput("x", needed=f"numbers below {length}", got=f"{counts.size - 1}", fix="raise the length")
    result: Array = counts[None]
    return result


def vector(chunk: Array) -> Array:
    """A chunk as one sequence; `InvalidInput` if it is not an array of NumPy's own, such as one with a mask."""
    return np.ascontiguousarray(array_of(chunk)).reshape(-1)
