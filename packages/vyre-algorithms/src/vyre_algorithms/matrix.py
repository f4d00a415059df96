"""Matrices: products with a stated order of operations, transposes, and sparse ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Backend,
    array_of,
    as_dtype,
    axis_of,
    contiguous,
    count,
    delivered,
    flattened,
    is_contiguous,
    of_kind,
    starts_of,
    target,
    type_of,
    vector,
)
from vyre_algorithms.launches import (
    beside,
    broadcast,
    counted_up,
    has_lanes,
    joined,
    launch,
    profile_of,
    rounded,
    runs_loops,
    slots_beside,
    words,
    zeros_beside,
)
from vyre_algorithms.move import gather, offsets_of, places_below
from vyre_algorithms.order import bits_of, bits_type, of_bits
from vyre_algorithms.search import searchsorted
from vyre_algorithms.sorts import argsort
from vyre_driver import DeviceArray
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.recorded import RecordedRange
from vyre_driver.plan.gather import gather as view_copy, layout_of, position
from vyre_driver.plan.strides import contiguous_strides
from vyre_driver.tune.distribution import SERIAL
from vyre_foundation import DType, LengthOf, Program, Value, program, u32
from vyre_foundation.build.arguments import shown
from vyre_foundation.dtype import bool_, f32, i64, u64
from vyre_foundation.functions import fma, max as greatest, min as least

STRIPS_FROM, STRIPS_FROM_WIDE = 96, 64
"""Rows of a product from which a copy of the right matrix in strips takes less time than it saves; and those where
vectors have 512 bits."""
BLOCKS_FROM = 32
"""Rows and columns of a product that lanes compute in blocks, which they read through the memory of the workgroup."""
WIDE_FROM = 1 << 22
"""Elements of a product of which an invocation computes 8 × 8 in place of 4 × 4: enough workgroups are left."""
NARROW = 8
"""Columns of a product up to which an invocation computes a row."""
TILE = 16
GROUP = 64
MOST_PRODUCTS = 1 << 32
"""Elements of a product: indices fit u32."""


def matmul(
    a: object, b: object, /, *, dtype: object = None, out: Array | None = None, backend: Backend = None
) -> Array:
    """Multiply matrices, or stacks of them.

    An element of the result starts at 0, and the products of its row and column are added in the order of the column:
    for floats each by a fused multiply-add, which rounds once. f16 and bf16 are added in f32 and rounded at the end.

    Args:
        a: An array of integers or floats, (…, m, k), or a vector (k,), which is one row.
        b: An array of the same type, (…, k, n), or a vector (k,), which is one column. The axes in front broadcast as
            in NumPy.
        dtype: The type of the result, in which products are added; by default that of the arrays. Integers wrap.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array (…, m, n), without the axis m or n that a vector does not have.

    Raises:
        InvalidInput: The shapes or types do not fit each other, or an argument is invalid.
    """
    left, right = array_of(a, "a"), array_of(b, "b")
    kind = of_kind(left, "iuf", "integers or floats", "a")
    given_shapes = left.shape, right.shape
    is_row, is_column = left.ndim == 1, right.ndim == 1
    left = left.reshape(1, -1) if is_row else left
    right = right.reshape(-1, 1) if is_column else right
    other = type_of(right, "b")
    if min(left.ndim, right.ndim) < 2 or left.shape[-1] != right.shape[-2] or other is not kind:
        got = f"{kind} {given_shapes[0]} and {other} {given_shapes[1]}"
        fix = "reshape or convert one of the arrays"
        if other is kind and min(left.ndim, right.ndim) == 2:
            turns = (left.shape[-1] == right.shape[-1], "b.T"), (left.shape[-2] == right.shape[-2], "a.T")
            fix = next((f"pass a transpose, as in {turn}" for fits, turn in turns if fits), fix)
        raise InvalidInput("b", needed="(…, m, k) and (…, k, n) of one type", got=got, fix=fix)
    result = kind if dtype is None else as_dtype(dtype)
    stack = _stack(left.shape, right.shape)
    (m, k), n = left.shape[-2:], right.shape[-1]
    shape = (*stack, *(() if is_row else (m,)), *(() if is_column else (n,)))
    state = f32 if result.is_float and result.bits == 16 else result
    if out is not None:
        target(out, [left, right], result, shape)
    size = math.prod(stack) * m * n
    if size >= MOST_PRODUCTS:
        needed, got = f"a product of fewer than {MOST_PRODUCTS} elements", f"one of {size}"
        raise InvalidInput("b", needed=needed, got=got, fix="multiply parts of `a`, some rows each")
    if not size or not k:
        return delivered(zeros_beside(left, shape, result), out)
    is_swapped = min(m, n) <= NARROW and _is_transposed(right if m < n else left)
    if is_swapped:  # the product of the transposes, of which the larger lies in order, adds the same products
        left, right, m, n = _transposed(right), _transposed(left), n, m
    given = {
        "a": flattened(broadcast(left, (*stack, m, k)) if stack else left),
        "b": flattened(broadcast(right, (*stack, k, n)) if stack else right),
        "shape": words(m, k, n),
        "slots": slots_beside(left, size),
    }
    if n <= min(m, NARROW):
        found = _in_rows(given, kind, state, backend)
    elif min(m, n) >= BLOCKS_FROM and has_lanes([left, right], backend):
        found = _in_blocks(given, kind, state, backend)
    else:
        found = _multiplied(given, kind, state, _tile(state, m, n, profile_of([left, right], backend)), backend)
    if is_swapped:
        found = contiguous(_transposed(found.reshape((*stack, m, n))))
    return delivered(rounded(found, result, backend).reshape(shape), out)


def _is_transposed(array: Array) -> bool:
    """Whether matrices are a view of their transposes, which lie in order."""
    return not is_contiguous(array) and is_contiguous(_transposed(array))


def _transposed(array: Array) -> Array:
    """The view of matrices that has their transposes."""
    *stack, rows, columns = range(array.ndim)
    return array.transpose(*stack, columns, rows)


class _Tile(NamedTuple):
    """What a workgroup computes of a product: `rows` of each invocation, and as many `columns` as it has of them.

    With `has_strips` it reads the right matrix from a copy in which its columns are side by side in all rows.
    """

    rows: int
    columns: int
    has_strips: bool


def _tile(state: DType, m: int, n: int, profile: DeviceProfile | None) -> _Tile:
    """Where invocations run one after the other, rows of two vectors, which stay in registers.

    Six rows of vectors of 256 bits take 12 of 16 registers, and eight of 512 bits 16 of 32: more rows took longer. A
    row of a matrix is a step between pages of memory and between the same few lines of a cache, a row of a strip is one
    line. Other devices have registers for more, and lanes that read a row of a matrix together.
    """
    narrow = 16 if state.size <= 4 else 8
    if profile is None or not profile.workgroups_are_loops:
        return _Tile(min(m, 8), 4 * narrow, False)
    is_wide = profile.ideal_vector_pack_bits == 512
    rows, columns, strips_from = (8, 2 * narrow, STRIPS_FROM_WIDE) if is_wide else (6, narrow, STRIPS_FROM)
    if m >= strips_from and n >= columns:
        return _Tile(rows, columns, True)
    columns = 4 * narrow
    while columns > 16 and columns >= 2 * n:
        columns //= 2
    return _Tile(min(m, 8), columns, False)


def _multiplied(given: dict[str, Array], kind: DType, state: DType, tile: _Tile, backend: Backend) -> Array:
    """The products of stacks of matrices ``a`` and ``b``, of the shapes (m, k) and (k, n)."""
    m, k, n = given["shape"].tolist()
    number, strips = given["a"].size // (m * k), -(-n // tile.columns)
    if tile.has_strips:
        slots = slots_beside(given["b"], number * strips * k * tile.columns)
        copied = {"b": given["b"], "shape": given["shape"], "slots": slots}
        strips_of_b = launch(_strips(kind, tile.columns), copied, (k, strips, number), backend)["strips"]
        given = {**given, "b": strips_of_b}
    return launch(_product(kind, state, tile), given, (-(-m // tile.rows), strips, number), backend)["out"]


def _in_rows(given: dict[str, Array], kind: DType, state: DType, backend: Backend) -> Array:
    """The same of few columns, by invocations that each compute a row."""
    m, k, n = given["shape"].tolist()
    number = given["a"].size // (m * k)
    return launch(_rows(kind, state, n), given, (-(-m // GROUP), 1, number), backend)["out"]


def _in_blocks(given: dict[str, Array], kind: DType, state: DType, backend: Backend) -> Array:
    """The same, by workgroups that share what they read."""
    m, k, n = given["shape"].tolist()
    number = given["a"].size // (m * k)
    side = 8 if state.size <= 4 and number * m * n >= WIDE_FROM else 4
    span = side * TILE
    return launch(_blocks(kind, state, side), given, (-(-n // span), -(-m // span), number), backend)["out"]


def _stack(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """The axes in front of those of the matrices."""
    if len(left) == len(right) == 2:
        return ()
    try:
        return np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        needed, got = "axes that broadcast", f"{left} and {right}"
        raise InvalidInput("b", needed=needed, got=got, fix="reshape one of the arrays") from None


def transpose(x: object, /, axes: Iterable[int] | None = None, *, backend: Backend = None) -> Array:
    """Put the axes into another order.

    Args:
        x: An array of any type.
        axes: The number of the axis of `x` that each axis of the result is, or None for the reverse order.
        backend: As for `vyre.run`.

    Returns:
        An array, contiguous: a copy, unlike NumPy's.

    Raises:
        InvalidInput: An axis is missing or named twice, or an argument is invalid.
    """
    array = array_of(x)
    order = tuple(range(array.ndim))[::-1]
    if axes is not None:
        try:
            named = tuple(axes)
        except TypeError:
            needed, fix = f"each of the {array.ndim} axes", "pass a tuple of integers"
            raise InvalidInput("axes", needed=needed, got=shown(axes), fix=fix) from None
        order = tuple(axis_of(a, array.ndim, "axes") for a in named)
    if sorted(order) != list(range(array.ndim)):
        needed = f"each of the {array.ndim} axes once"
        raise InvalidInput("axes", needed=needed, got=f"{order}", fix="name each axis once, counted from 0")
    shape = tuple(array.shape[n] for n in order)
    if not array.size:
        return zeros_beside(array, shape, type_of(array))
    if isinstance(array, DeviceArray) and backend is None and runs_loops([array], None):
        return array.transpose(*order).copy()
    array = contiguous(array)
    groups = _groups(order, array.shape)
    sizes = [math.prod(array.shape[n] for n in group) for group in groups]
    dtype = type_of(array)
    bits = bits_of(array, dtype).reshape(-1)
    places = tuple(sorted(range(len(groups)), key=lambda n: groups[n]))
    has_tiles = places in ((1, 0), (0, 2, 1)) and min(sizes[-2:]) >= TILE
    if len(groups) > 1 and not has_tiles and type(array) is np.ndarray and runs_loops([array], backend):
        return of_bits(_copied(bits, shape, [contiguous_strides(array.shape)[n] for n in order], backend), dtype)
    match places:
        case () | (0,):
            return array.copy().reshape(shape)
        case (1, 0):
            found = _exchanged(bits, 1, sizes[1], sizes[0], backend)
        case (0, 2, 1):
            found = _exchanged(bits, sizes[0], sizes[2], sizes[1], backend)
        case _:
            strides = contiguous_strides(array.shape)
            layout = layout_of(0, sizes, [strides[group[-1]] for group in groups])
            program = _permuted(bits_type(dtype), len(groups))
            found = launch(program, {"x": bits, "layout": layout}, -(-array.size // GROUP), backend)["out"]
    return of_bits(found, dtype).reshape(shape)


def matrix_transpose(x: object, /, *, backend: Backend = None) -> Array:
    """Exchange the last two axes, as the function of this name in the array API standard does.

    Args:
        x: An array with two axes or more.
        backend: As for `vyre.run`.

    Returns:
        An array, contiguous.

    Raises:
        InvalidInput: The array has fewer axes.
    """
    array = array_of(x)
    if array.ndim < 2:
        fix = "pass .reshape(1, -1)"
        raise InvalidInput("x", needed="two axes or more", got=f"the shape {array.shape}", fix=fix)
    *stack, rows, columns = range(array.ndim)
    return transpose(array, (*stack, columns, rows), backend=backend)


def _groups(order: Sequence[int], shape: Sequence[int]) -> list[list[int]]:
    """The axes in an order, those together that stay behind each other; without axes of one element."""
    groups: list[list[int]] = []
    present = [n for n in range(len(shape)) if shape[n] != 1]
    for axis in [n for n in order if shape[n] != 1]:
        place = present.index(axis)
        if groups and place and groups[-1][-1] == present[place - 1]:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


def _copied(bits: Array, shape: tuple[int, ...], strides: Sequence[int], backend: Backend) -> Array:
    """The elements of a view of the host in the order of its indices, as device arrays copy them."""
    made = view_copy(bits.itemsize, 0, shape, tuple(strides))
    given = {"source": bits, "layout": made.layout, "target": np.empty(bits.size, bits.dtype)}
    grid = made.config.grid_override
    assert grid is not None
    return launch(made.program, given, grid, backend)["target"].reshape(shape)


def _exchanged(bits: Array, number: int, rows: int, columns: int, backend: Backend) -> Array:
    """The transposes of a number of matrices."""
    grid = (-(-columns // TILE), -(-rows // TILE), number)
    return launch(_turn(type_of(bits)), {"x": bits, "shape": words(rows, columns)}, grid, backend)["out"]


def spmv(values: object, columns: object, starts: object, x: object, /, *, backend: Backend = None) -> Array:
    """Multiply a sparse matrix in compressed rows (CSR) with a vector, or with a matrix.

    The products of a row are added in its order, as `matmul` does.

    Args:
        values: The elements that are stored, row after row: an array of integers or floats with one axis.
        columns: The column of each: integers.
        starts: Where each row begins, and the number of elements last. Of a range of a graph, other numbers are a trap
            of the launch.
        x: A vector of the same type, or a matrix, whose rows are those of the columns.
        backend: As for `vyre.run`.

    Returns:
        An array with an element, or a row, for each row of the sparse matrix.

    Raises:
        InvalidInput: A column is out of bounds, or an argument is invalid.
    """
    elements, dense = vector(values, "values"), contiguous(array_of(x))
    places = vector(columns, "columns")
    of_kind(places, "iu", "integers", "columns")
    kind = of_kind(elements, "iuf", "integers or floats", "values")
    offsets = offsets_of(starts, elements.size, backend)
    if places.size != elements.size:
        needed, got = f"{elements.size} columns, one for each value", str(places.size)
        raise InvalidInput("columns", needed=needed, got=got, fix="pass a column for each value")
    if type_of(dense) is not kind or dense.ndim not in (1, 2):
        needed, got = f"a vector or matrix of {kind}", f"{type_of(dense)} {dense.shape}"
        raise InvalidInput("x", needed=needed, got=got, fix="reshape or convert it")
    is_recorded = RecordedRange in map(type, (elements, places, offsets, dense))
    if is_recorded or not places.size or not dense.size:
        places = columns_below(places, dense.shape[0], backend)
    if not places.size or not dense.size:
        return zeros_beside(dense, (offsets.size - 1, *dense.shape[1:]), kind)
    return multiply_rows(elements, places, offsets, dense, backend, checks=not is_recorded)


def multiply_rows(
    values: Array, columns: Array, starts: Array, dense: Array, backend: Backend, *, checks: bool = False
) -> Array:
    """What `spmv` gives for starts as u32, which are in bounds; no array is empty.

    So are columns, unless it `checks` them: then they are refused if one is not.
    """
    kind, width = type_of(values), dense.size // dense.shape[0]
    rows = starts.size - 1
    given = {"values": values, "columns": columns, "starts": starts, "x": dense.reshape(-1)}
    if checks:
        given["outside"] = np.zeros(1, np.uint32)
    state = f32 if kind.is_float and kind.bits == 16 else kind
    made = _sparse(kind, type_of(columns), state, width, checks=checks)
    found = launch(made, given, -(-rows * width // GROUP), backend)
    if checks and found["outside"].item():
        columns_below(columns, dense.shape[0], backend)  # which refuses them, and says which
    return rounded(found["out"], kind, backend).reshape(rows, *dense.shape[1:])


def coo(values: object, columns: object, starts: object, /, *, backend: Backend = None) -> tuple[Array, ...]:
    """Convert a sparse matrix in compressed rows to coordinates (COO): the inverse of `csr`.

    Args:
        values: As for `spmv`.
        columns: As for `spmv`.
        starts: As for `spmv`.
        backend: As for `vyre.run`.

    Returns:
        The rows, columns and values, as `csr` takes them.

    Raises:
        InvalidInput: An argument is invalid.
    """
    elements, of_columns = vector(values, "values"), vector(columns, "columns")
    of_kind(elements, "iuf", "integers or floats", "values")
    _require_columns(of_columns, elements.size)
    offsets = starts_of(starts, elements.size).astype(np.int64)
    rows = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    return beside(elements, rows), of_columns.copy(), elements.copy()


def _require_columns(columns: Array, number: int) -> None:
    """Refuse columns that are no integers, or of another number, or on the host below 0."""
    of_kind(columns, "iu", "integers", "columns")
    if columns.size != number:
        needed, got = f"{number} columns, one for each value", str(columns.size)
        raise InvalidInput("columns", needed=needed, got=got, fix="pass a column for each value")
    if isinstance(columns, np.ndarray) and columns.size and columns.min() < 0:
        fix = "number the columns from 0"
        raise InvalidInput("columns", needed="integers from 0", got=str(columns.min()), fix=fix)


def columns_below(columns: Array, length: int, backend: Backend) -> Array:
    """Columns as u32; refused if one is not below `length`."""
    return places_below(columns, length, "columns", "pass a vector with an element for each column", backend)


def csr(rows: object, columns: object, values: object, /, number: int, *, backend: Backend = None) -> tuple[Array, ...]:
    """Convert a sparse matrix of coordinates (COO) to compressed rows; elements of a row keep their order.

    Args:
        rows: The row of each element: integers below `number`.
        columns: The column of each: integers.
        values: The elements: integers or floats.
        number: The number of rows.
        backend: As for `vyre.run`.

    Returns:
        The values, the columns and the starts, as `spmv` takes them.

    Raises:
        InvalidInput: A row is not below `number`, a column is negative, or an argument is invalid.
    """
    most = count(number, "number")
    of_columns, of_values = vector(columns, "columns"), vector(values, "values")
    of_kind(of_values, "iuf", "integers or floats", "values")
    _require_columns(of_columns, of_values.size)
    of_each = vector(rows, "rows")
    if of_each.size != of_values.size:
        needed, got = f"{of_values.size} rows, one for each value", str(of_each.size)
        raise InvalidInput("rows", needed=needed, got=got, fix="pass a row for each value")
    fix = "pass the number of all rows as `number`"
    of_each = places_below(of_each, most, "rows", fix, backend)
    if 0 < of_each.size <= SERIAL - most and runs_loops([of_each, of_columns, of_values], backend):
        return _in_few_rows(of_each, of_columns, of_values, most, backend)
    order = argsort(of_each, backend=backend)
    sought = counted_up(most)
    ordered = gather(of_each, order, backend=backend)
    starts = searchsorted(ordered, sought, backend=backend)
    starts = joined([starts, np.array([of_each.size])])
    return gather(of_values, order, backend=backend), gather(of_columns, order, backend=backend), starts


def _in_few_rows(rows: Array, columns: Array, values: Array, number: int, backend: Backend) -> tuple[Array, ...]:
    """What `csr` gives for a few elements, of which there are some, and rows, which are u32 and in bounds."""
    kinds = type_of(values), type_of(columns)
    given = {"rows": rows, "columns": bits_of(columns, kinds[1]), "values": bits_of(values, kinds[0])}
    given["slots"] = slots_beside(rows, number + 1)
    found = launch(_few_rows(*map(bits_type, kinds)), given, 1, backend)
    moved, of_moved = (of_bits(found[name], kind) for name, kind in zip(("moved", "of_moved"), kinds, strict=True))
    return moved, of_moved, found["starts"]


def _added(state: DType, total: Value, a: Value, b: Value) -> Value:
    if state is not a.dtype:
        a, b = a.cast(state), b.cast(state)
    return fma(a, b, total) if state.is_float else total + a * b


@lru_cache(maxsize=64)
def _few_rows(kind: DType, of_columns: DType) -> Program:
    """The elements in the order of their rows, their columns, and where rows start, by one invocation, which counts."""
    with program("few_rows", 1) as p:
        rows, columns, values = p.read("rows", u32), p.read("columns", of_columns), p.read("values", kind)
        slots = p.read("slots", bool_)
        moved, of_moved = p.write("moved", kind, like=values), p.write("of_moved", of_columns, like=columns)
        starts, counts = p.write("starts", i64, like=slots), p.scratch("counts", u32, LengthOf("slots"))
        with p.range(rows.length) as k:
            row = p.let(rows[k])
            counts[row] = counts[row] + 1
        before = p.var(0, u32)
        with p.range(slots.length) as row:
            count = p.let(counts[row])
            starts[row], counts[row] = before.get().cast(i64), before
            before += count
        with p.range(rows.length) as k:
            row = p.let(rows[k])
            place = p.let(counts[row])
            counts[row] = place + 1
            moved[place], of_moved[place] = values[k], columns[k]
    return p.build()


@lru_cache(maxsize=64)
def _strips(kind: DType, columns: int) -> Program:
    """The matrices ``b`` in strips of columns, each with all its rows behind each other; the last repeats a column."""
    with program("matmul_strips", columns) as p:
        b, shape = p.read("b", kind), p.uniform("shape", u32, 3)
        p.read("slots", bool_)
        strips = p.write("strips", kind, LengthOf("slots"))
        n, depth = p.let(shape[2]), p.num_workgroups(0)
        row, strip, stack = p.workgroup_id(0), p.workgroup_id(1), p.workgroup_id(2)
        column = p.let(least(strip * columns + p.local_id(0), n - 1))
        there = p.let((stack * p.num_workgroups(1) + strip) * depth + row)
        strips[there * columns + p.local_id(0)] = b[(stack * depth + row) * n + column]
    return p.build()


@lru_cache(maxsize=64)
def _product(kind: DType, state: DType, tile: _Tile) -> Program:
    """A tile of the product: neighbours in x have neighbouring columns, and consecutive workgroups the same ones."""
    with program("matmul", tile.columns) as p:
        a, b, shape = p.read("a", kind), p.read("b", kind), p.uniform("shape", u32, 3)
        p.read("slots", bool_)
        out = p.write("out", state, LengthOf("slots"))
        m, n = p.let(shape[0]), p.let(shape[2])
        stack, rows = p.workgroup_id(2), (p.num_workgroups(0) - 1) * tile.rows + 1  # m is not less
        # Lengths and the grid bound it, so that estimates do: what is known to be short runs in the calling thread.
        depth = p.let(least(shape[1], a.length // (p.num_workgroups(2) * rows)))
        left, top = p.let(p.workgroup_id(1) * tile.columns + p.local_id(0)), p.let(p.workgroup_id(0) * tile.rows)
        of_a = p.let(stack * m * depth)
        of_b, step = stack * depth * n + left, n
        if tile.has_strips:
            strip = stack * p.num_workgroups(1) + p.workgroup_id(1)
            of_b, step = strip * depth * tile.columns + p.local_id(0), p.let(tile.columns, u32)
        of_b = p.let(of_b)
        totals = [p.var(0, state) for _ in range(tile.rows)]
        with p.range(0, depth) as k:
            right = p.let(b[of_b + k * step])
            for row, total in enumerate(totals):
                total.set(_added(state, total.get(), a[of_a + (top + row) * depth + k], right))
        for row, total in enumerate(totals):
            with p.if_((top + row < m) & (left < n)):
                out[(stack * m + top + row) * n + left] = total
    return p.build()


@lru_cache(maxsize=64)
def _rows(kind: DType, state: DType, columns: int) -> Program:
    """Rows of the product with few columns: an invocation computes one, and all read the same of the right matrix."""
    with program("matmul_rows", GROUP) as p:
        a, b, shape = p.read("a", kind), p.read("b", kind), p.uniform("shape", u32, 3)
        p.read("slots", bool_)
        out = p.write("out", state, LengthOf("slots"))
        m, stack, row = p.let(shape[0]), p.workgroup_id(2), p.global_id(0)
        rows = (p.num_workgroups(0) - 1) * GROUP + 1  # m is not less, as in `_product`
        depth = p.let(least(shape[1], a.length // (p.num_workgroups(2) * rows)))
        with p.if_(row < m):
            place = p.let(stack * m + row)
            totals = [p.var(0, state) for _ in range(columns)]
            with p.range(0, depth) as k:
                left = p.let(a[place * depth + k])
                right = p.let((stack * depth + k) * columns)
                for column, total in enumerate(totals):
                    total.set(_added(state, total.get(), left, b[right + column]))
            for column, total in enumerate(totals):
                out[place * columns + column] = total
    return p.build()


@lru_cache(maxsize=64)
def _blocks(kind: DType, state: DType, side: int) -> Program:
    """A block of the product, of which an invocation has `side` × `side` elements.

    Its rows are behind each other and its columns `TILE` apart, so that neighbours read and write neighbours. The
    workgroup reads `TILE` columns of a and rows of b at a time; those of a have a row more, which keeps the lanes that
    write a column in different banks.
    """
    span = side * TILE
    with program("matmul_blocks", (TILE, TILE)) as p:
        a, b, shape = p.read("a", kind), p.read("b", kind), p.uniform("shape", u32, 3)
        p.read("slots", bool_)
        out = p.write("out", state, LengthOf("slots"))
        of_a, of_b = p.workgroup("of_a", kind, TILE * (span + 1)), p.workgroup("of_b", kind, TILE * span)
        m, depth, n = p.let(shape[0]), p.let(shape[1]), p.let(shape[2])
        x, y, stack = p.local_id(0), p.local_id(1), p.workgroup_id(2)
        left, top = p.let(p.workgroup_id(0) * span), p.let(p.workgroup_id(1) * span)
        begin_a, begin_b = p.let(stack * m * depth), p.let(stack * depth * n)
        totals = [[p.var(0, state) for _ in range(side)] for _ in range(side)]

        def add(k: Value) -> None:
            row_of_b = [p.let(of_b[k * span + (column * TILE + x)]) for column in range(side)]
            for row, sums in enumerate(totals):
                factor = p.let(of_a[k * (span + 1) + (y * side + row)])
                for total, other in zip(sums, row_of_b, strict=True):
                    total.set(_added(state, total.get(), factor, other))

        with p.range(0, depth, TILE) as first:
            for n_th in range(0, span, TILE):
                of_a[x * (span + 1) + (n_th + y)] = a[begin_a + (top + n_th + y) * depth + (first + x)]
                of_b[y * span + (n_th + x)] = b[begin_b + (first + y) * n + (left + n_th + x)]
            p.barrier()
            with p.if_(depth - first >= TILE), p.range(TILE) as k:
                add(k)
            with p.else_(), p.range(least(depth - first, TILE)) as k:
                add(k)
            p.barrier()
        for row, sums in enumerate(totals):
            for column, total in enumerate(sums):
                i, j = p.let(top + y * side + row), p.let(left + column * TILE + x)
                with p.if_((i < m) & (j < n)):
                    out[(stack * m + i) * n + j] = total
    return p.build()


@lru_cache(maxsize=32)
def _permuted(bits: DType, axes: int) -> Program:
    """The elements that strides lead to; see `layout_of`."""
    with program("permute", GROUP) as p:
        x, layout = p.read("x", bits), p.uniform("layout", u32, 1 + 2 * axes)
        out = p.write("out", bits, like=x)
        i = p.global_id(0)
        out[i] = x[position(i, layout, axes)]
    return p.build()


@lru_cache(maxsize=8)
def _turn(bits: DType) -> Program:
    """In tiles through the memory of the workgroup, so that rows are read and rows are written."""
    with program("transpose", (TILE, TILE)) as p:
        x, shape = p.read("x", bits), p.uniform("shape", u32, 2)
        out = p.write("out", bits, like=x)
        tile = p.workgroup("tile", bits, TILE * (TILE + 1))
        rows, columns = p.let(shape[0]), p.let(shape[1])
        i, j = p.local_id(0), p.local_id(1)
        left, top = p.workgroup_id(0) * TILE, p.workgroup_id(1) * TILE
        first = p.let(p.workgroup_id(2) * rows * columns)
        with p.if_((left + i < columns) & (top + j < rows)):
            tile[j * (TILE + 1) + i] = x[first + (top + j) * columns + left + i]
        p.barrier()
        with p.if_((top + i < rows) & (left + j < columns)):
            out[first + (left + j) * rows + top + i] = tile[i * (TILE + 1) + j]
    return p.build()


@lru_cache(maxsize=256)
def _sparse(kind: DType, of_columns: DType, state: DType, width: int, *, checks: bool) -> Program:
    """Products of rows. If it `checks`, `outside` becomes the number of results that met a column beyond the vector."""
    number = u64 if of_columns.bits == 64 else u32
    with program("sparse_product", GROUP) as p:
        values, columns = p.read("values", kind), p.read("columns", of_columns)
        starts, x = p.read("starts", u32), p.read("x", kind)
        out = p.write("out", state, LengthOf("starts", times=width, plus=-width))
        i = p.global_id(0)
        row, column = (i, None) if width == 1 else (p.let(i // width), p.let(i % width))
        total = p.var(0, state)
        last = p.var(0, number) if checks else None
        with p.range(starts[row], least(starts[row + 1], values.length)) as k:
            of_element = p.let(columns[k].cast(number))
            if last is not None:
                last.set(greatest(last.get(), of_element))
            place = of_element.cast(u32)
            total.set(_added(state, total.get(), values[k], x[place if column is None else place * width + column]))
        out[i] = total
        if last is not None:
            outside = p.read_write("outside", u32)
            with p.if_(last.get() >= (x.length // width).cast(number)):
                outside.atomic_add(0, 1)
    return p.build()
