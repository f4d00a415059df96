"""Scans over chunked arrays: those of `vyre_algorithms` over the whole array, byte by byte.

A scan follows the tree of `vyre_algorithms.scan`: the totals of blocks are scanned on their own.
"""

from __future__ import annotations

from typing import Any

import dask.array as da

import vyre_algorithms
from vyre_algorithms.arguments import as_dtype, axis_of, type_of
from vyre_algorithms.launches import launch
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.scans import BLOCK, block_totals, run_scan, scan_rows
from vyre_algorithms.tree import Reduction
from vyre_distributed.chunked import LAST, empty, sequence, vector
from vyre_distributed.mapped import Array, along, each_chunk, require_sizes
from vyre_distributed.worker import local_backend


def scan(
    x: da.Array, /, operation: str = "sum", *, axis: int = -1, exclusive: bool = False, dtype: object = None
) -> da.Array:
    """Combine, for each element, all elements up to it; the bytes do not depend on the chunks.

    Args:
        x: A chunked array, as for `vyre_algorithms.scan`. Of several axes, `axis` is in one chunk while it is scanned.
        operation: As for `vyre_algorithms.scan`.
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
        return along(_scanned_rows, x, which, result, **options)
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


# ── what is built ──


def _cumulative(operation: str, x: da.Array, axis: int | None, dtype: object) -> da.Array:
    empty(x)
    if axis is None:
        require_sizes(x)
        return scan(x.reshape(-1), operation, dtype=dtype)
    return scan(x, operation, axis=axis, dtype=dtype)


def _scanned(x: da.Array, kind: dict[str, Any], *, is_of_states: bool) -> da.Array:
    """The scanned states of a sequence in chunks of whole blocks."""
    reduction = _reduction(kind, is_of_states)
    state = reduction.state[0].numpy
    exclusive = is_of_states or kind["exclusive"]
    if is_of_states and x.size <= LAST:
        one = x.rechunk(-1)
        return each_chunk(_scanned_states, one, state, one.chunks, kind=kind)
    sizes = (tuple([-(-size // BLOCK) for size in x.chunks[0]]),)
    totals = each_chunk(_totals, x, state, sizes, kind=kind, is_of_states=is_of_states)
    before = _scanned(totals.rechunk(LAST), kind, is_of_states=True).rechunk(sizes)
    options = {"kind": kind, "is_of_states": is_of_states, "exclusive": exclusive}
    return each_chunk(_scanned_chunk, x, state, x.chunks, before, **options)


# ── what runs on workers ──


def _reduction(kind: dict[str, Any], is_of_states: bool) -> Reduction:
    reduction = reduction_of(kind["operation"], as_dtype(kind["given"]), as_dtype(kind["result"]))
    return reduction.of_states if is_of_states else reduction


def _scanned_rows(chunk: Array, *, operation: str, exclusive: bool, result: Any, axis: int) -> Array:
    found: Array = vyre_algorithms.scan(
        chunk, operation, axis=axis, exclusive=exclusive, dtype=result, backend=local_backend()
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
