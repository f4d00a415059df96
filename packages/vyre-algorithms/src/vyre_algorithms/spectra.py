"""Fourier transforms with a fixed order of operations.

A row whose length N has no prime factor above 13 goes through passes (Stockham), from the whole length down: of radix 4
as often as 4 divides it, of radix 2 if a factor 2 is left, then of 3, 5, 7, 11 and 13. A pass of radix r has N / r
butterflies. With s the product of the radices before, the butterfly i takes the numbers ``x0, x1, …`` at
``i, i + N / r, …``. Its result m is multiplied by the root of unity ``exp(−2πj n m / N)``, where n is i rounded down to
a multiple of s, and goes to ``i − n + r n + m s``. The results are

- of radix 4: ``(x0 + x2) + (x1 + x3)``, ``(x0 − x2) − j(x1 − x3)``, ``(x0 + x2) − (x1 + x3)`` and
  ``(x0 − x2) + j(x1 − x3)``;
- of radix 2: ``x0 + x1`` and ``x0 − x1``, which is not multiplied if N is a power of two;
- of an odd radix: with ``t[k] = x[k] + x[r − k]``, ``u[k] = x[k] − x[r − k]`` and ``c + js = exp(−2πj mk / r)``, for k
  from 1 to (r − 1) / 2 in this order, ``(x0 + t[1]) + t[2] + …``, and for m up to (r − 1) / 2 ``a + jb`` and, for
  r − m, ``a − jb``, where ``a = (x0 + t[1] c) + t[2] c + …`` and ``b = u[1] s + u[2] s + …``.

The product of ``u + jv`` and ``w + jz`` is ``(uw − vz) + j(uz + vw)``; each product and each sum is rounded. Roots of
unity are rounded from twice the precision of f64. The inverse has conjugate roots, and divides each part by N at the
end.

Rows of another length are convolved with a chirp (Bluestein): multiplied by ``exp(−πj n² / N)``, filled with zeros,
transformed, multiplied by the transform of the conjugate chirp divided by its length, conjugated, transformed,
conjugated, and multiplied by the chirp. The length of these transforms is the least that is at least 2N − 1 and a power
of two, or above 1024 one times 3, 5, 9 or 15. The transform of the chirp is computed in f64 and rounded once more for
f32. The inverse conjugates the numbers before and after that, and divides each part by N at the end.

Real rows of an even length N are transformed as N / 2 complex numbers Z, with neighbours as parts. With a = Z[k], b the
conjugate of Z[N/2 − k], where Z[N/2] is Z[0], and w = exp(−2πj k / N), the result k is ``½((a + b) − j(w(a − b)))``.
The inverse of numbers X is that of ``½((a + b) + j(w̄(a − b)))``, with a = X[k] and b the conjugate of X[N/2 − k]; the
imaginary parts of X[0] and X[N/2] count as 0. Real rows of an odd length are transformed as complex numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from vyre_algorithms.arguments import (
    MOST,
    Array,
    Backend,
    HostArray,
    array_of,
    axis_back,
    axis_last,
    axis_of,
    contiguous,
    count,
    type_of,
)
from vyre_algorithms.butterflies import passes_of
from vyre_algorithms.chirps import kernel_table, wide_of
from vyre_algorithms.launches import Range, Recorder, constants, run_graph, with_grid, words, zeros_beside
from vyre_algorithms.roots import chirp_table, memory_of, quarter_root_table, root_table
from vyre_algorithms.transforms import (
    GROUP,
    RowMove,
    blocks,
    elements_of,
    finished,
    lanes_of,
    moved,
    one_pass,
    products,
    short,
    short_real,
    short_real_inverse,
    spread,
    tangled,
    untangled,
)
from vyre_driver.errors import InvalidInput
from vyre_foundation import DType, Program
from vyre_foundation.dtype import f32, f64

SHORT_BYTES = 1 << 14
"""Rows of at most this size are transformed by one launch if their length is a power of two: two arrays of it are all
the memory of a workgroup that a program may have (V012)."""
MOST_NUMBERS = MOST // 8
_Types = tuple[np.dtype[Any], np.dtype[Any]]
_SINGLE: _Types = np.dtype(np.complex64), np.dtype(np.float32)
_DOUBLE: _Types = np.dtype(np.complex128), np.dtype(np.float64)
_TYPES: dict[np.dtype[Any], _Types] = {**dict.fromkeys(_SINGLE, _SINGLE), **dict.fromkeys(_DOUBLE, _DOUBLE)}
"""The types of NumPy that are transformed, with those of the numbers and of their parts."""
FIX = "name an axis of the array; to transform another number of elements, pass n="


def fft(x: object, /, axis: int = -1, *, n: int | None = None, backend: Backend = None) -> Array:
    """Transform an array along an axis: ``y[k]`` is the sum of ``x[n] · exp(−2πj kn / N)``.

    Args:
        x: An array of complex64, complex128, float32 or float64. A device array has f32 or f64 and a last axis of
            length 2, the real and the imaginary part, which `axis` does not count.
        axis: The axis.
        n: The number of elements of the axis that are transformed, or None for all. Further elements are left out,
            missing ones are 0.
        backend: As for `vyre.run`.

    Returns:
        An array of complex numbers of the same precision in the shape of `x`, with `n` elements on the axis. The order
        of the operations is that of the module's description (docs/algorithms.md): it depends on the length alone.

    Raises:
        InvalidInput: The axis has no elements, or an argument is invalid.
    """
    return _complex(x, axis, n, False, backend)


def ifft(x: object, /, axis: int = -1, *, n: int | None = None, backend: Backend = None) -> Array:
    """Invert `fft`: conjugate roots in the same order, and a division of each part by the length at the end.

    Args:
        x: As for `fft`.
        axis: The axis.
        n: As for `fft`.
        backend: As for `vyre.run`.

    Returns:
        As `fft`.

    Raises:
        InvalidInput: The axis has no elements, or an argument is invalid.
    """
    return _complex(x, axis, n, True, backend)


def rfft(x: object, /, axis: int = -1, *, n: int | None = None, backend: Backend = None) -> Array:
    """Transform real numbers: the first ``N // 2 + 1`` elements of their `fft`; the others are conjugates of these.

    Args:
        x: An array of float32 or float64.
        axis: The axis.
        n: As for `fft`.
        backend: As for `vyre.run`.

    Returns:
        An array of complex numbers of the same precision; for a device array, one with a last axis of length 2. A row
        of an even length is transformed as half as many complex numbers (docs/algorithms.md).

    Raises:
        InvalidInput: The axis has no elements, or an argument is invalid.
    """
    rows, which = _real_rows(x, axis, n)
    *others, length = rows.shape
    given = rows.reshape(-1) if length % 2 else _numbers(rows)
    found = _run(_record_real, type_of(rows), math.prod(others), (length,), given, backend)
    return _complex_along(found.reshape(*others, length // 2 + 1, 2), which)


def irfft(x: object, /, n: int | None = None, axis: int = -1, *, backend: Backend = None) -> Array:
    """Invert `rfft`: real numbers from the first ``n // 2 + 1`` elements of their transform.

    Args:
        x: As for `fft`. Further elements are left out, missing ones are 0, and the imaginary part has no effect in
            element 0, and for an even `n` in element n / 2.
        n: The length of the result along the axis; without it ``2 · (m − 1)`` for m elements.
        axis: The axis.
        backend: As for `vyre.run`.

    Returns:
        An array of real numbers of the same precision.

    Raises:
        InvalidInput: The result has no elements along the axis, or an argument is invalid.
    """
    parts, which = _complex_rows(x, axis)
    *others, known, _ = parts.shape
    length = 2 * (known - 1) if n is None else count(n, "n")
    if not length:
        got = "0" if n is not None else "0, for 1 element"
        raise InvalidInput("n", needed="1 or more", got=got, fix="pass the length of the result")
    rows = math.prod(others)
    if length * rows >= MOST_NUMBERS:
        needed, got = f"fewer than {MOST_NUMBERS} numbers", f"{length} in each of {rows} rows"
        raise InvalidInput("n", needed=needed, got=got, fix="pass a shorter length, or part of the array")
    found = _run(_record_real_inverse, type_of(parts), rows, (length, known), _numbers(parts), backend)
    return _real_along(found.reshape(*others, length), which)


# ── arrays ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _complex(x: object, axis: int, n: int | None, is_inverse: bool, backend: Backend) -> Array:
    parts, which = _complex_rows(x, axis, n)
    length = parts.shape[-2]
    if length == 1:
        return _complex_along(parts.copy(), which)
    rows = parts.size // (2 * length)
    found = _run(_record_complex, type_of(parts), rows, (length, is_inverse), _numbers(parts), backend)
    return _complex_along(found.reshape(parts.shape), which)


def _complex_rows(x: object, axis: int, n: int | None = None) -> tuple[Array, int]:
    """The parts of complex numbers with two axes more, the row and the part, and the number of the axis of the row.

    NumPy's complex numbers are no type of the language.
    """
    array = array_of(x)
    if isinstance(array, np.ndarray):
        types = _TYPES.get(array.dtype)
        if types is None:
            fix = "convert it with .astype(…)"
            raise InvalidInput("x", needed="complex numbers, or floats of 32 or 64 bits", got=f"{array.dtype}", fix=fix)
        of_number, of_part = types
        which = axis_of(axis, array.ndim, fix=FIX)
        rows = axis_last(array.astype(of_number, copy=False), which)
        parts = rows.view(of_part).reshape(*rows.shape, 2)
    else:
        if array.ndim < 2 or array.shape[-1] != 2 or array.dtype not in (f32, f64):
            fix = "put the real and the imaginary part on the last axis"
            got = f"{array.dtype} {array.shape}"
            raise InvalidInput("x", needed="f32 or f64 with a last axis of length 2", got=got, fix=fix)
        which = axis_of(axis, array.ndim - 1, fix=FIX)
        order = [n for n in range(array.ndim - 1) if n != which]
        parts = contiguous(array if which == len(order) else array.transpose(*order, which, array.ndim - 1))
    if n is not None:
        parts = _resized(parts, parts.ndim - 2, n)
    _require_rows(parts.shape[-2], parts.size // 2, array)
    return parts, which


def _real_rows(x: object, axis: int, n: int | None) -> tuple[Array, int]:
    """Real numbers with the rows on the last axis, and the number of the axis where they were."""
    array = array_of(x)
    if array.dtype not in ((np.float32, np.float64) if isinstance(array, np.ndarray) else (f32, f64)):
        fix = "convert it with .astype(…), or use fft for complex numbers"
        raise InvalidInput("x", needed="an array of float32 or float64", got=f"one of {array.dtype}", fix=fix)
    which = axis_of(axis, array.ndim, fix=FIX)
    rows = axis_last(array, which)
    if n is not None:
        rows = _resized(rows, rows.ndim - 1, n)
    _require_rows(rows.shape[-1], rows.size, array)
    return rows, which


def _resized(array: Array, axis: int, n: int) -> Array:
    """The array with `n` elements on an axis: the first of those that it has, and zeros behind them, contiguous."""
    size, shape = array.shape[axis], list(array.shape)
    shape[axis] = count(n, "n", MOST_NUMBERS)
    if not shape[axis] or math.prod(shape) >= MOST:
        needed, fix = f"1 or more, and fewer than {MOST} elements in all", "pass another number, or part of the array"
        raise InvalidInput("n", needed=needed, got=str(n), fix=fix)
    before = (slice(None),) * axis
    if shape[axis] <= size:
        return contiguous(array[(*before, slice(shape[axis]))])
    found = zeros_beside(array, shape, type_of(array))
    part = (*before, slice(size))
    if isinstance(found, np.ndarray):
        found[part] = array
    elif array.size:
        found[part].assign(array)
    return found


def _require_rows(length: int, numbers: int, array: Array) -> None:
    if length and numbers < MOST_NUMBERS:
        return
    needed = f"1 element or more on the axis, and fewer than {MOST_NUMBERS} numbers"
    raise InvalidInput(
        "x", needed=needed, got=f"the shape {array.shape}", fix="pass another axis, or part of the array"
    )


def _complex_along(parts: Array, axis: int) -> Array:
    """Complex numbers of the host, or parts of those of a device, with the rows where they are in an array."""
    if isinstance(parts, np.ndarray):
        of_number, _ = _TYPES[parts.dtype]
        return axis_back(np.ascontiguousarray(parts).view(of_number).reshape(parts.shape[:-1]), axis)
    last = parts.ndim - 2
    return contiguous(parts.transpose(*range(axis), last, *range(axis, last), last + 1)) if axis != last else parts


def _real_along(rows: Array, axis: int) -> Array:
    return axis_back(rows, axis) if isinstance(rows, np.ndarray) else contiguous(axis_back(rows, axis))


def _run(make: Callable[..., None], dtype: DType, rows: int, lengths: tuple[int, ...], x: Array, on: Backend) -> Array:
    """The parts that the graph of `make` gives for `rows` rows, one after another."""
    if not rows:
        return zeros_beside(x, (0,), dtype)
    return run_graph(make, (dtype, rows, *lengths), {"x": x}, on, is_short=True)["y"].view(dtype.numpy)


def _numbers(parts: Array) -> Array:
    """The parts as the elements of buffers for numbers."""
    flat, memory = parts.reshape(-1), memory_of(type_of(parts)).numpy
    try:
        return flat.view(memory)
    except InvalidInput:  # a view of an array of a device may begin inside of an element
        return flat.copy().view(memory)


# ── graphs ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _record_complex(graph: Recorder, dtype: DType, rows: int, length: int, is_inverse: bool) -> None:
    x = graph.input("x", memory_of(dtype), elements_of(dtype) * length * rows)
    graph.output("y", _record_rows(graph, x, dtype, rows, length, is_inverse=is_inverse))


def _record_real(graph: Recorder, dtype: DType, rows: int, length: int) -> None:
    half = length // 2
    if length % 2:
        x = graph.input("x", dtype, length * rows)
        x = _record_moved(graph, RowMove.FROM_REAL, x, dtype, rows, length, length)
        x = _record_rows(graph, x, dtype, rows, length, is_inverse=False)
        graph.output("y", _record_moved(graph, RowMove.FIRST, x, dtype, rows, length, half + 1))
        return
    x = graph.input("x", memory_of(dtype), elements_of(dtype) * half * rows)
    turns = constants(graph, quarter_root_table, length, dtype)
    if _is_short(half, dtype):
        given = {"x": x, "turns": turns, "slots": constants(graph, _slots, rows * (half + 1))}
        graph.output("y", _record_short(graph, short_real(dtype, half, _rows_of(half, rows)), given, dtype, rows, half))
        return
    x = _record_rows(graph, x, dtype, rows, half, is_inverse=False)
    given = {"x": x, "roots": turns, "shape": words(half, rows)}
    graph.output("y", _record_slots(graph, untangled(dtype), given, rows * (half + 1), rows * (half // 2 + 1)))


def _record_real_inverse(graph: Recorder, dtype: DType, rows: int, length: int, known: int) -> None:
    half = length // 2
    x = graph.input("x", memory_of(dtype), elements_of(dtype) * known * rows)
    if length % 2:
        x = _record_moved(graph, RowMove.MIRRORED, x, dtype, rows, known, length)
        x = _record_rows(graph, x, dtype, rows, length, is_inverse=True)
        graph.output("y", _record_moved(graph, RowMove.TO_REAL, x, dtype, rows, length, length))
        return
    turns = constants(graph, quarter_root_table, length, dtype)
    if _is_short(half, dtype):
        given = {"x": x, "turns": turns, "slots": constants(graph, _slots, rows * half), "known": words(known)}
        made = short_real_inverse(dtype, half, _rows_of(half, rows))
        graph.output("y", _record_short(graph, made, given, dtype, rows, half))
        return
    given = {"x": x, "roots": turns, "shape": words(half, rows, known)}
    x = _record_slots(graph, tangled(dtype), given, rows * half, rows * (half // 2 + 1))
    graph.output("y", _record_rows(graph, x, dtype, rows, half, is_inverse=True))


def _record_rows(graph: Recorder, x: Range, dtype: DType, rows: int, length: int, *, is_inverse: bool) -> Range:
    """The transforms of rows."""
    if length == 1:
        return x
    if _is_short(length, dtype):
        made = short(dtype, length, _rows_of(length, rows), is_inverse)
        return _record_short(graph, made, {"x": x}, dtype, rows, length)
    passes = passes_of(length)
    if passes is None:
        return _record_convolution(graph, x, dtype, rows, length, is_inverse=is_inverse)
    roots, stride = constants(graph, root_table, length, dtype), 1
    for number, radices in enumerate(passes, 1):
        step = length // math.prod(radices)
        is_divided = is_inverse and number == len(passes)
        made = one_pass(dtype, radices, is_inverse, stride == 1, blocks(step, stride), is_divided)
        given = {"x": x, "roots": roots, "shape": words(step, stride, step * rows)}
        x = _record(graph, made, given, step * rows)
        stride *= math.prod(radices)
    return x


def _record_short(
    graph: Recorder, made: Program, given: dict[str, object], dtype: DType, rows: int, length: int
) -> Range:
    """The result of a program that transforms short rows."""
    given = {**given, "roots": constants(graph, root_table, length, dtype)}
    return graph.dispatch(made, given, config=with_grid(-(-rows // _rows_of(length, rows))))["y"]


def _is_short(length: int, dtype: DType) -> bool:
    """Whether a workgroup transforms whole rows."""
    return length > 1 and length & (length - 1) == 0 and 2 * length * dtype.size <= SHORT_BYTES


def _rows_of(length: int, rows: int) -> int:
    """How many short rows a workgroup transforms."""
    return max(1, GROUP // lanes_of(length)) if rows > 1 else 1


def _record_convolution(graph: Recorder, x: Range, dtype: DType, rows: int, length: int, *, is_inverse: bool) -> Range:
    wide = wide_of(length)
    given = {"chirp": constants(graph, chirp_table, length, dtype), "shape": words(length, wide)}
    x = _record_slots(graph, spread(dtype, is_inverse), {"x": x, **given}, rows * wide)
    x = _record_rows(graph, x, dtype, rows, wide, is_inverse=False)
    kernel = constants(graph, kernel_table, length, dtype)
    x = _record(graph, products(dtype), {"x": x, "kernel": kernel, "shape": words(wide)}, wide * rows)
    x = _record_rows(graph, x, dtype, rows, wide, is_inverse=False)
    return _record_slots(graph, finished(dtype, is_inverse), {"x": x, **given}, rows * length)


def _record_moved(graph: Recorder, move: RowMove, x: Range, dtype: DType, rows: int, given: int, wanted: int) -> Range:
    return _record_slots(graph, moved(dtype, move), {"x": x, "shape": words(given, wanted)}, rows * wanted)


def _record_slots(
    graph: Recorder, made: Program, given: dict[str, object], number: int, invocations: int | None = None
) -> Range:
    """The result of a program, which has `number` numbers. There are as many invocations, unless they are stated."""
    given = {**given, "slots": constants(graph, _slots, number)}
    return _record(graph, made, given, number if invocations is None else invocations)


def _slots(number: int) -> HostArray:
    return np.zeros(number, np.bool_)


def _record(graph: Recorder, made: Program, given: dict[str, object], invocations: int) -> Range:
    return graph.dispatch(made, given, config=with_grid(-(-invocations // GROUP)))["y"]
