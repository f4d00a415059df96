"""Sorts, different and greatest elements of chunked arrays: those of `vyre_algorithms`, byte by byte.

A sort finds the keys at which the chunks of the result begin, eight bits at a time, from ranks in the sorted chunks;
then each chunk of the result is sorted from the parts that belong to it. So chunks have the sizes that they had,
however the elements are distributed.
"""

from __future__ import annotations

import math
import os
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed, delayed

import vyre_algorithms
from vyre_algorithms.arguments import as_dtype, axis_of, count, type_of
from vyre_algorithms.order import KeyOrder, bits_of, bits_type
from vyre_distributed.chunked import empty, sequence, vector
from vyre_distributed.mapped import Array, along, require_sizes
from vyre_distributed.runs import opened, stored
from vyre_distributed.worker import local_backend
from vyre_driver.errors import InvalidInput
from vyre_foundation.dtype import DType

DIGIT = 8
"""Bits of keys that a sort finds in one step."""
MERGED = 16
"""Results of chunks that one task combines."""


def sort(
    x: da.Array, /, axis: int = -1, *, descending: bool = False, folder: str | os.PathLike[str] | None = None
) -> da.Array:
    """Sort the elements along an axis, in the order of `vyre_algorithms.sort`.

    Args:
        x: A chunked array of any type. Of several axes, `axis` is in one chunk while it is sorted. An array with one
            axis of n chunks takes about n² small tasks if no `folder` is given: make chunks as large as memory permits.
        axis: The axis to sort along.
        descending: Whether the greatest element is first.
        folder: Where tasks write the sorted chunks of an array with one axis, in place of keeping them as data of the
            cluster; made if it is missing. All workers see it under this name. It needs room for the array, and stays
            until the result is computed.

    Returns:
        An array in the shape and the chunks of `x`.

    Raises:
        InvalidInput: An argument is of another kind, or the sizes of the chunks are not known. Computing the result
            raises it if a file of the folder is missing, and `DispatchFailed` if one cannot be written.
    """
    dtype = type_of(empty(x))
    which = axis_of(axis, x.ndim)
    if x.ndim > 1 or x.numblocks[0] == 1:
        return along(_sorted_rows, x, which, x.dtype, descending=descending)
    require_sizes(x)
    sizes = x.chunks[0][::-1] if descending else x.chunks[0]
    where = None if folder is None else os.fspath(Path(folder).absolute())
    name = f"sort-{tokenize(x, sizes, where)}"
    merged = _merged(_sorted_chunks(x, where, name), x.chunks[0], sizes, dtype, name, is_stored=where is not None)
    ascending = joined(merged, sizes, x.dtype)
    found: da.Array = ascending[::-1] if descending else ascending
    return found


def unique(x: da.Array, /, *, folder: str | os.PathLike[str] | None = None) -> da.Array:
    """Find the different elements, ascending.

    Args:
        x: A chunked array, whose elements are one sequence. −0 equals +0, and NaNs of one sign equal each other.
        folder: As for `sort`.

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
    chunks = sort(sequence(x), folder=folder).to_delayed().tolist()
    name, first = f"unique-{tokenize(chunks)}", delayed(_different)
    before = [None, *(delayed(_last)(chunk) for chunk in chunks[:-1])]
    parts = [first(*pair, dask_key_name=(name, n)) for n, pair in enumerate(zip(before, chunks, strict=True))]
    return joined(parts, [math.nan] * len(parts), x.dtype)


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
    require_sizes(x)
    if x.ndim != 1:
        raise InvalidInput("x", needed="an array with one axis", got=f"the shape {x.shape}", fix="pass .reshape(-1)")
    number = count(k, "k", x.size)
    starts = [0, *accumulate(x.chunks[0])]
    name = f"top-k-{tokenize(x, number, largest)}"
    parts = [
        delayed(_top)(chunk, start, number, largest, dask_key_name=(name, n))
        for n, (chunk, start) in enumerate(zip(x.to_delayed().tolist(), starts, strict=False))
    ]
    best = _combined(partial(_top_of, k=number, largest=largest), parts, f"merged-{name}")
    values, indices = (delayed(_item)(best, n, pure=True) for n in (0, 1))
    return joined([values], [number], x.dtype), joined([indices], [number], np.dtype(np.int64))


# ── what is built ──


def _sorted_chunks(x: da.Array, folder: str | None, name: str) -> list[Delayed]:
    """The sorted chunks, as data of the cluster or as the names of files."""
    chunks = x.to_delayed().tolist()
    if folder is None:
        return [delayed(_sorted)(chunk, dask_key_name=(f"sorted-{name}", i)) for i, chunk in enumerate(chunks)]
    return [
        delayed(_stored)(chunk, folder, f"sorted-{name}-{i}", dask_key_name=(f"stored-{name}", i))
        for i, chunk in enumerate(chunks)
    ]


def _merged(
    runs: list[Delayed], lengths: tuple[int, ...], sizes: tuple[int, ...], dtype: DType, name: str, *, is_stored: bool
) -> list[Delayed]:
    """Sorted chunks of these lengths as one sorted sequence in chunks of these sizes."""
    wanted = np.cumsum(sizes)[:-1]
    # The first key of each chunk of the result: the greatest key that at most `wanted` elements are less than.
    keys: Any = np.zeros(len(sizes) - 1, np.uint64)
    for shift in range(bits_type(dtype).bits - DIGIT, -1, -DIGIT):
        each = [
            delayed(_ranks)(run, keys, dtype.numpy, shift, dask_key_name=(f"ranks-{name}", shift, i))
            for i, run in enumerate(runs)
        ]
        ranks = _combined(_added, each, f"added-ranks-{name}-{shift}")
        keys = delayed(_next_keys)(keys, ranks, wanted, shift, dask_key_name=(f"keys-{name}", shift))
    bounds = [
        delayed(_bounds)(run, keys, dtype.numpy, dask_key_name=(f"bounds-{name}", i)) for i, run in enumerate(runs)
    ]
    cuts = delayed(_cuts)(bounds, wanted, lengths, dask_key_name=f"cuts-{name}")
    parts = range(len(sizes))
    if is_stored:
        files = delayed(list)(runs, dask_key_name=f"files-{name}")
        return [delayed(_sorted_slices)(files, cuts, j, dask_key_name=(f"merged-{name}", j)) for j in parts]
    return [
        delayed(_sorted_parts)(
            [delayed(_part)(run, cuts, i, j, dask_key_name=(f"part-{name}", i, j)) for i, run in enumerate(runs)],
            dask_key_name=(f"merged-{name}", j),
        )
        for j in parts
    ]


def _combined(task: Any, parts: list[Delayed], name: str) -> Delayed:
    """A tree of tasks that each take `MERGED` results in a list."""
    level = 0
    while len(parts) > 1:
        groups = [parts[n : n + MERGED] for n in range(0, len(parts), MERGED)]
        parts = [delayed(task)(group, dask_key_name=(name, level, n)) for n, group in enumerate(groups)]
        level += 1
    return parts[0]


def joined(parts: list[Delayed], sizes: Any, dtype: Any) -> da.Array:
    """Vectors behind each other, a chunk each."""
    pairs = zip(parts, sizes, strict=True)
    meta = np.empty(0, dtype)
    joined: da.Array = da.concatenate(
        [da.from_delayed(part, (size,), dtype=dtype, meta=meta) for part, size in pairs], allow_unknown_chunksizes=True
    )
    return joined


# ── what runs on workers ──


def _sorted_rows(chunk: Array, *, axis: int, descending: bool) -> Array:
    found: Array = vyre_algorithms.sort(chunk, axis, descending=descending, backend=local_backend())
    return found


def _sorted(chunk: Array) -> Array:
    found: Array = vyre_algorithms.sort(chunk, backend=local_backend())
    return found


def _stored(chunk: Array, folder: str, name: str) -> str:
    return stored(_sorted(chunk), folder, name)


def _ranks(run: Array | str, keys: Array, dtype: np.dtype[Any], shift: int) -> Array:
    """How many elements of a sorted chunk are less than each key with each digit at `shift`."""
    digits = np.arange(1 << DIGIT, dtype=np.uint64) << np.uint64(shift)
    return _places(run, (keys[:, None] + digits).reshape(-1), dtype, "left").reshape(keys.size, digits.size)


def _added(ranks: list[Array]) -> Array:
    found: Array = np.add.reduce(ranks)
    return found


def _next_keys(keys: Array, ranks: Array, wanted: Array, shift: int) -> Array:
    digits = (ranks <= wanted[:, None]).sum(axis=1) - 1
    found: Array = keys + (digits.astype(np.uint64) << np.uint64(shift))
    return found


def _bounds(run: Array | str, keys: Array, dtype: np.dtype[Any]) -> Array:
    """How many elements of a sorted chunk are less than each key, and how many are not greater."""
    return np.stack([_places(run, keys, dtype, side) for side in ("left", "right")], axis=-1)


def _places(run: Array | str, keys: Array, dtype: np.dtype[Any], side: str) -> Array:
    values = _elements(keys, as_dtype(dtype))
    found: Array = vyre_algorithms.searchsorted(opened(run), values, side, backend=local_backend())
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


def _cuts(bounds: list[Array], wanted: Array, lengths: tuple[int, ...]) -> Array:
    """Where the parts of each sorted chunk begin and end: of equal elements the first chunks give theirs first."""
    less, equal = (np.stack(columns) for columns in zip(*[(b[:, 0], b[:, 1] - b[:, 0]) for b in bounds], strict=True))
    missing = wanted - less.sum(axis=0)
    before = np.cumsum(equal, axis=0) - equal
    cuts = less + np.clip(missing - before, 0, equal)
    return np.column_stack([np.zeros(len(lengths), np.int64), cuts, np.array(lengths)])


def _part(run: Array, cuts: Array, i: int, j: int) -> Array:
    return run[cuts[i, j] : cuts[i, j + 1]].copy()


def _sorted_parts(parts: list[Array]) -> Array:
    return _sorted(np.concatenate(parts))


def _sorted_slices(files: list[str], cuts: Array, j: int) -> Array:
    """A chunk of the result from its parts of the files."""
    ends = np.cumsum(cuts[:, j + 1] - cuts[:, j])
    whole = np.empty(ends[-1], opened(files[0]).dtype)
    for file, cut, end in zip(files, cuts, ends, strict=True):
        part = opened(file)[cut[j] : cut[j + 1]]  # one map at a time: its pages count as memory of the process
        whole[end - part.size : end] = part
    return _sorted(whole)


def _last(chunk: Array) -> Array:
    return chunk[-1:].copy()


def _different(before: Array | None, chunk: Array) -> Array:
    """The elements of a sorted chunk that do not equal the one before them, the first of which may be `before`."""
    is_new = np.ones(chunk.size, np.bool_)
    is_new[1:] = ~_equal(chunk[1:], chunk[:-1])
    if before is not None:
        is_new[:1] = ~_equal(chunk[:1], before)
    found: Array = chunk[is_new]
    return found


def _equal(x: Array, y: Array) -> Array:
    """Whether elements are equal as `vyre_algorithms.unique` has it: NaNs of one sign are."""
    equal: Array = x == y
    dtype = type_of(x)
    if dtype.is_float:
        signs = (bits_of(x, dtype) ^ bits_of(y, dtype)) >> dtype.bits - 1
        equal |= (x != x) & (y != y) & (signs == 0)
    return equal


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
