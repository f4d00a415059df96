"""Scans, sorts, different and greatest elements, and products of matrices over chunked arrays, lazily.

The results are those of the same functions of `vyre_algorithms` over the whole array, byte by byte, and their chunks
are known before anything runs, but for those of `unique`.

A scan follows the tree of `vyre_algorithms.scan`: the totals of blocks are scanned on their own. A sort finds the keys
at which the chunks of the result begin, eight bits at a time, from ranks in the sorted chunks; then each chunk of the
result is sorted from the parts that belong to it. So chunks have the sizes that they had, however the elements are
distributed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed, delayed

import vyre_algorithms
from vyre_algorithms.arguments import as_dtype, axis_of, count, type_of
from vyre_algorithms.launches import launch
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.order import KeyOrder, bits_type
from vyre_algorithms.scans import BLOCK, block_totals, run_scan, scan_rows
from vyre_algorithms.tree import Reduction
from vyre_distributed.chunked import LAST, Array, empty, sequence, vector
from vyre_distributed.worker import local_backend
from vyre_driver.errors import InvalidInput
from vyre_foundation.dtype import DType

DIGIT = 8
"""Bits of keys that a sort finds in one step."""
MERGED = 16
"""Candidates of chunks that a task of `top_k` merges."""


def scan(
    x: da.Array, /, operation: str = "sum", *, axis: int = -1, exclusive: bool = False, dtype: object = None
) -> da.Array:
    """Combine, for each element, all elements up to it; the bytes do not depend on the chunks.

    Args:
        x: A chunked array of any type. Of several axes, `axis` is in one chunk while it is scanned.
        operation: "sum", "prod", "min", "max", "any" or "all".
        axis: The axis along which elements are combined.
        exclusive: Whether an element itself is left out, as for `vyre_algorithms.scan`.
        dtype: As for `vyre_algorithms.scan`.

    Returns:
        An array in the shape of `x`: that of `vyre_algorithms.scan`, byte by byte.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    sample = empty(x)
    which = axis_of(axis, x.ndim)
    result = vyre_algorithms.scan(sample, operation, dtype=dtype).dtype
    options = {"operation": operation, "exclusive": exclusive, "result": result}
    if x.ndim > 1 or x.size <= BLOCK:
        return _along(_scanned_rows, x, which, result, **options)
    kind = {**options, "given": type_of(sample).numpy}
    scanned = _scanned(sequence(x), kind, is_of_states=False).rechunk(x.chunks)
    found: da.Array = scanned.astype(result)
    return found


def cumsum(x: da.Array, /, axis: int | None = None, *, dtype: object = None) -> da.Array:
    """Add, for each element, all elements up to it: `scan` along an axis, or of all elements in row-major order.

    Args:
        x: A chunked array of any type.
        axis: The axis along which elements are added, or None for all elements as one sequence.
        dtype: As for `vyre_algorithms.cumsum`.

    Returns:
        An array in the shape of `x`, or with one axis if `axis` is None.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    return _cumulative("sum", x, axis, dtype)


def cumprod(x: da.Array, /, axis: int | None = None, *, dtype: object = None) -> da.Array:
    """Multiply, for each element, all elements up to it; otherwise as `cumsum`."""
    return _cumulative("prod", x, axis, dtype)


def sort(x: da.Array, /, axis: int = -1, *, descending: bool = False) -> da.Array:
    """Sort the elements along an axis, in the order of `vyre_algorithms.sort`.

    Args:
        x: A chunked array of any type. Of several axes, `axis` is in one chunk while it is sorted. An array with one
            axis of n chunks takes about n² small tasks, so that chunks should be as large as memory permits.
        axis: The axis to sort along.
        descending: Whether the greatest element is first.

    Returns:
        An array in the shape and the chunks of `x`.

    Raises:
        InvalidInput: An argument is of another kind, or the sizes of the chunks are not known.
    """
    dtype = type_of(empty(x))
    which = axis_of(axis, x.ndim)
    if x.ndim > 1 or x.numblocks[0] == 1:
        return _along(_sorted, x, which, x.dtype, descending=descending)
    _require_sizes(x)
    sizes = x.chunks[0][::-1] if descending else x.chunks[0]
    runs = _mapped(_sorted, x, x.dtype, x.chunks, axis=0, descending=False)
    ascending = _merged(runs, sizes, dtype)
    found: da.Array = ascending[::-1] if descending else ascending
    return found


def unique(x: da.Array, /) -> da.Array:
    """Find the different elements, ascending.

    Args:
        x: A chunked array, whose elements are one sequence. −0 equals +0, and NaNs of one sign equal each other.

    Returns:
        An array with one axis: that of `vyre_algorithms.unique`. The sizes of its chunks are not known before it is
        computed.

    Raises:
        InvalidInput: The argument is of another kind, or the sizes of its chunks are not known.
    """
    empty(x)
    if not x.size:
        nothing: da.Array = da.from_array(np.empty(0, x.dtype))
        return nothing
    chunks = sort(sequence(x)).to_delayed().tolist()
    name, first = f"unique-{tokenize(chunks)}", delayed(_different)
    before = [None, *(delayed(_last)(chunk) for chunk in chunks[:-1])]
    parts = [first(*pair, dask_key_name=(name, n)) for n, pair in enumerate(zip(before, chunks, strict=True))]
    return _joined(parts, [math.nan] * len(parts), x.dtype)


def top_k(x: da.Array, k: int, /, *, largest: bool = True) -> tuple[da.Array, da.Array]:
    """Find the greatest elements, the greatest first.

    Args:
        x: A chunked array with one axis, of any type, in the order of `sort`.
        k: How many. A task holds them of 16 chunks.
        largest: Whether the greatest are wanted, or else the least, the least first.

    Returns:
        The elements, and their indices, of int64. Of equal elements those with lower indices come first.

    Raises:
        InvalidInput: There are fewer than `k` elements, or an argument is of another kind.
    """
    empty(x)
    _require_sizes(x)
    if x.ndim != 1:
        raise InvalidInput("x", needed="an array with one axis", got=f"the shape {x.shape}", fix="pass .reshape(-1)")
    number = count(k, "k", x.size)
    starts = [0, *accumulate(x.chunks[0])]
    name = f"top-k-{tokenize(x, number, largest)}"
    level = [
        delayed(_top)(chunk, start, number, largest, dask_key_name=(name, n))
        for n, (chunk, start) in enumerate(zip(x.to_delayed().tolist(), starts, strict=False))
    ]
    while len(level) > 1:
        groups = [level[n : n + MERGED] for n in range(0, len(level), MERGED)]
        level = [delayed(_top_of)(group, number, largest, pure=True) for group in groups]
    values, indices = (delayed(_item)(level[0], n, pure=True) for n in (0, 1))
    return _joined([values], [number], x.dtype), _joined([indices], [number], np.dtype(np.int64))


def matmul(a: da.Array, b: da.Array, /, *, dtype: object = None) -> da.Array:
    """Multiply matrices, adding the products of each element in the order of the columns of `a`.

    Args:
        a: A chunked array of integers or floats, (m, k).
        b: A chunked array of the same type, (k, n). A task holds whole rows of a chunk of `a` and whole columns of a
            chunk of `b`, and their product.
        dtype: As for `vyre_algorithms.matmul`.

    Returns:
        An array (m, n), in the chunks of the rows and the columns: that of `vyre_algorithms.matmul`, byte by byte.

    Raises:
        InvalidInput: The shapes or types do not fit each other, or an argument is of another kind.
    """
    left, right = empty(a), empty(b)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or left.dtype != right.dtype:
        got = f"{left.dtype} {a.shape} and {right.dtype} {b.shape}"
        raise InvalidInput("b", needed="(m, k) and (k, n) of one type", got=got, fix="reshape or convert one of them")
    result = vyre_algorithms.matmul(left.reshape(0, 0), right.reshape(0, 0), dtype=dtype).dtype
    found: da.Array = da.blockwise(
        _product, "ij", a.rechunk({1: -1}), "ik", b.rechunk({0: -1}), "kj", concatenate=True, token="matmul",
        dtype=result, meta=np.empty((0, 0), result), result=result,
    )  # fmt: skip
    return found


# ── what is built ──


def _require_sizes(x: da.Array) -> None:
    if math.isnan(x.size):
        raise InvalidInput("x", needed="chunks of known sizes", got="others", fix="call x.compute_chunk_sizes()")


def _mapped(task: Callable[..., Array], x: da.Array, dtype: Any, chunks: Any, *others: Any, **options: Any) -> da.Array:
    name = task.__name__.strip("_")
    found: da.Array = da.map_blocks(
        task, x, *others, chunks=chunks, dtype=dtype, meta=np.empty((0,) * len(chunks), dtype), token=name, **options
    )
    return found


def _along(task: Callable[..., Array], x: da.Array, axis: int, dtype: Any, **options: Any) -> da.Array:
    """A task over chunks that hold an axis whole, with its number; in the chunks of `x`."""
    rows = x.rechunk({axis: -1})
    found: da.Array = _mapped(task, rows, dtype, rows.chunks, axis=axis, **options).rechunk(x.chunks)
    return found


def _cumulative(operation: str, x: da.Array, axis: int | None, dtype: object) -> da.Array:
    empty(x)
    if axis is None:
        return scan(x.reshape(-1), operation, dtype=dtype)
    return scan(x, operation, axis=axis, dtype=dtype)


def _scanned(x: da.Array, kind: dict[str, Any], *, is_of_states: bool) -> da.Array:
    """The scanned states of a sequence in chunks of whole blocks."""
    reduction = _reduction(kind, is_of_states)
    state = reduction.state[0].numpy
    exclusive = is_of_states or kind["exclusive"]
    if is_of_states and x.size <= LAST:
        one = x.rechunk(-1)
        return _mapped(_scanned_states, one, state, one.chunks, kind=kind)
    sizes = (tuple([-(-size // BLOCK) for size in x.chunks[0]]),)
    totals = _mapped(_totals, x, state, sizes, kind=kind, is_of_states=is_of_states)
    before = _scanned(totals.rechunk(LAST), kind, is_of_states=True).rechunk(sizes)
    options = {"kind": kind, "is_of_states": is_of_states, "exclusive": exclusive}
    return _mapped(_scanned_chunk, x, state, x.chunks, before, **options)


def _merged(runs: da.Array, sizes: tuple[int, ...], dtype: DType) -> da.Array:
    """Sorted chunks as one sorted sequence in chunks of these sizes."""
    bits, number = bits_type(dtype).bits, len(sizes) - 1
    wanted = np.cumsum(sizes)[:-1]
    # The greatest key of which at most so many elements are less: the key of the first element of a chunk.
    keys: Any = da.from_array(np.zeros(number, np.uint64), chunks=-1)
    for shift in range(bits - DIGIT, -1, -DIGIT):
        shape = ((1,) * runs.numblocks[0], (number,), (1 << DIGIT,))
        ranks = _mapped(_ranks, runs, np.int64, shape, keys, shift=shift, new_axis=[1, 2]).sum(axis=0)
        keys = da.map_blocks(
            _next_keys, keys, ranks.rechunk(-1).to_delayed().item(), wanted=wanted, shift=shift, token="next-keys",
            dtype=np.uint64, meta=np.empty(0, np.uint64),
        )  # fmt: skip
    shape = ((1,) * runs.numblocks[0], (number,), (2,))
    bounds = _mapped(_bounds, runs, np.int64, shape, keys, new_axis=[1, 2]).rechunk(-1).to_delayed().item()
    name = f"sort-{tokenize(runs, sizes)}"
    cuts = delayed(_cuts)(bounds, wanted, runs.chunks[0], dask_key_name=f"cuts-{name}")
    chunks = list(enumerate(runs.to_delayed().tolist()))
    parts = [
        [delayed(_part)(run, cuts, i, j, dask_key_name=(f"part-{name}", i, j)) for i, run in chunks]
        for j in range(len(sizes))
    ]
    merged = [delayed(_sorted_parts)(own, dask_key_name=(f"merged-{name}", j)) for j, own in enumerate(parts)]
    return _joined(merged, sizes, runs.dtype)


def _joined(parts: list[Delayed], sizes: Any, dtype: Any) -> da.Array:
    """Vectors behind each other, a chunk each."""
    pairs = zip(parts, sizes, strict=True)
    meta = np.empty(0, dtype)
    joined: da.Array = da.concatenate(
        [da.from_delayed(part, (size,), dtype=dtype, meta=meta) for part, size in pairs], allow_unknown_chunksizes=True
    )
    return joined


# ── what runs on workers ──


def _reduction(kind: dict[str, Any], is_of_states: bool) -> Reduction:
    reduction = reduction_of(kind["operation"], as_dtype(kind["given"]), as_dtype(kind["result"]))
    return reduction.of_states if is_of_states else reduction


def _scanned_rows(chunk: Array, *, operation: str, exclusive: bool, result: Any, axis: int) -> Array:
    options = {"dtype": result} if operation in ("sum", "prod") else {}
    found: Array = vyre_algorithms.scan(
        chunk, operation, axis=axis, exclusive=exclusive, backend=local_backend(), **options
    )
    return found


def _scanned_states(states: Array, *, kind: dict[str, Any]) -> Array:
    given = vector(states)
    found: Array = scan_rows(_reduction(kind, True), [given], given.size, True, local_backend())[0]
    return found


def _totals(chunk: Array, *, kind: dict[str, Any], is_of_states: bool) -> Array:
    """The states of the blocks of a chunk."""
    return _block_totals(vector(chunk), _reduction(kind, is_of_states))["total0"]


def _block_totals(chunk: Array, reduction: Reduction) -> dict[str, Array]:
    return launch(block_totals(reduction), {"x0": chunk}, -(-chunk.size // BLOCK), local_backend())


def _scanned_chunk(chunk: Array, before: Array, *, kind: dict[str, Any], is_of_states: bool, exclusive: bool) -> Array:
    """The scan of a chunk, where each block begins with the state of all blocks before it."""
    given, reduction = vector(chunk), _reduction(kind, is_of_states)
    arrays = {"x0": given, "lanes0": _block_totals(given, reduction)["lanes0"], "before0": vector(before)}
    program = run_scan(reduction, exclusive=exclusive)
    found: Array = launch(program, arrays, -(-given.size // BLOCK), local_backend())["s0"]
    return found


def _sorted(chunk: Array, *, axis: int, descending: bool) -> Array:
    found: Array = vyre_algorithms.sort(chunk, axis, descending=descending, backend=local_backend())
    return found


def _ranks(run: Array, keys: Array, *, shift: int) -> Array:
    """How many elements of a sorted chunk are less than each key with each digit at `shift`."""
    digits = np.arange(1 << DIGIT, dtype=np.uint64) << np.uint64(shift)
    return _places(run, (keys[:, None] + digits).reshape(-1), "left").reshape(1, keys.size, digits.size)


def _next_keys(keys: Array, ranks: Array, *, wanted: Array, shift: int) -> Array:
    digits = (ranks <= wanted[:, None]).sum(axis=1) - 1
    found: Array = keys + (digits.astype(np.uint64) << np.uint64(shift))
    return found


def _bounds(run: Array, keys: Array) -> Array:
    """How many elements of a sorted chunk are less than each key, and how many are not greater."""
    return np.stack([_places(run, keys, side) for side in ("left", "right")], axis=-1)[None]


def _places(run: Array, keys: Array, side: str) -> Array:
    dtype = type_of(run)
    found: Array = vyre_algorithms.searchsorted(run, _elements(keys, dtype), side, backend=local_backend())
    return found


def _elements(keys: Array, dtype: DType) -> Array:
    """The elements that have these keys: the opposite of `KeyOrder.key`."""
    order, bits = KeyOrder.of(dtype), keys.astype(bits_type(dtype).numpy)
    sign = bits.dtype.type(1 << (bits_type(dtype).bits - 1))
    if order is KeyOrder.SIGNED:
        bits = bits ^ sign
    elif order is KeyOrder.FLOAT:
        bits = np.where(bits >= sign, bits ^ sign, ~bits)
    found: Array = bits.view(dtype.numpy)
    return found


def _cuts(bounds: Array, wanted: Array, sizes: tuple[int, ...]) -> Array:
    """Where the parts of each sorted chunk begin and end: of equal elements the first chunks give theirs first."""
    less, equal = bounds[..., 0], bounds[..., 1] - bounds[..., 0]
    missing = wanted - less.sum(axis=0)
    before = np.cumsum(equal, axis=0) - equal
    cuts = less + np.clip(missing - before, 0, equal)
    return np.column_stack([np.zeros(len(sizes), np.int64), cuts, np.array(sizes)])


def _part(run: Array, cuts: Array, i: int, j: int) -> Array:
    return run[cuts[i, j] : cuts[i, j + 1]].copy()


def _sorted_parts(parts: list[Array]) -> Array:
    found: Array = vyre_algorithms.sort(np.concatenate(parts), backend=local_backend())
    return found


def _last(chunk: Array) -> Array:
    return chunk[-1:].copy()


def _different(before: Array | None, chunk: Array) -> Array:
    """The first of each run of equal elements of a sorted chunk, but for one that begins in the chunk before."""
    given = chunk if before is None else np.concatenate([before, chunk])
    found: Array = vyre_algorithms.run_length(given, backend=local_backend()).values
    return found if before is None else found[1:]


def _top(chunk: Array, start: int, k: int, largest: bool) -> tuple[Array, Array]:
    given = vector(chunk)
    values, places = vyre_algorithms.top_k(given, min(k, given.size), largest=largest, backend=local_backend())
    return values, places + start


def _top_of(candidates: list[tuple[Array, Array]], k: int, largest: bool) -> tuple[Array, Array]:
    values, places = (np.concatenate(arrays) for arrays in zip(*candidates, strict=True))
    found, chosen = _top(values, 0, k, largest)
    return found, places[chosen]


def _item(pair: tuple[Array, Array], number: int) -> Array:
    return pair[number]


def _product(a: Array, b: Array, *, result: Any) -> Array:
    found: Array = vyre_algorithms.matmul(a, b, dtype=result, backend=local_backend())
    return found
