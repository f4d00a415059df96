"""Scans: sums and other operations over all elements up to each one.

The order of the operations depends on the length alone. A sequence is cut into blocks of 4096 elements, a block into 64
runs of 64 for 64 lanes. A lane combines its run from the first element to the last. The results of the lanes are
scanned in six steps: in step ``d`` = 1, 2, 4, … 32 lane ``l`` becomes lane ``l - d`` combined with lane ``l``, for all
``l ≥ d`` at once. The result of lane 63 is that of the block, and those of the blocks are scanned in the same way. What
an element gets begins with the result of all blocks before its own, combined with that of the lanes before its own,
combined with the elements of its run one after another. What has no elements has the identity, which changes no bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Backend,
    array_of,
    axis_back,
    axis_last,
    axis_of,
    delivered,
    starts_of,
    type_of,
    vector,
)
from vyre_algorithms.launches import Range, Recorder, joined, launch, run_graph, with_grid, zeros_beside
from vyre_algorithms.monoids import reduction_of, segmented, sum_type
from vyre_algorithms.tree import Reduction, State, assign, values_of
from vyre_driver.errors import InvalidInput
from vyre_foundation import Array as Buffer, DType, LengthOf, Program, ProgramBuilder, Value, program, select, u32
from vyre_foundation.dtype import bool_
from vyre_foundation.functions import min as least

LANES, RUN = 64, 64
BLOCK = LANES * RUN


def scan(
    x: object,
    /,
    operation: str = "sum",
    *,
    axis: int = -1,
    exclusive: bool = False,
    dtype: object = None,
    out: Array | None = None,
    backend: Backend = None,
) -> Array:
    """Combine, for each element, all elements up to it.

    Args:
        x: An array of any type.
        operation: "sum", "prod", "min", "max", "any" or "all".
        axis: The axis along which elements are combined.
        exclusive: Whether an element itself is left out; the first one gets the identity: 0, 1, the greatest or the
            least value of the type, False or True.
        dtype: As for `sum`, for sums and products.
        out: Where the result goes.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`. Sums of f16 and bf16 are formed in f32, and each is rounded once.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    array = array_of(x)
    which = axis_of(axis, array.ndim)
    result = _result_type(array, operation, dtype)
    rows = axis_last(array, which)
    if not array.size:
        return delivered(zeros_beside(array, array.shape, result), out)
    reduction = reduction_of(operation, type_of(array), result)
    length = rows.shape[-1]
    (found,) = scan_rows(reduction, [rows.reshape(-1)], length, exclusive, backend)
    return delivered(axis_back(found.astype(result.numpy, copy=False).reshape(rows.shape), which), out)


def segmented_scan(
    x: object,
    starts: object,
    /,
    operation: str = "sum",
    *,
    exclusive: bool = False,
    dtype: object = None,
    backend: Backend = None,
) -> Array:
    """Scan a vector, beginning anew at the start of each segment.

    Args:
        x: An array with one axis.
        starts: As for `segmented_reduce`.
        operation: As for `scan`.
        exclusive: As for `scan`.
        dtype: As for `sum`, for sums and products.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`. The order of the operations is that of `scan` over the whole vector, where a
        start of a segment drops what came before.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    array = vector(x)
    offsets = starts_of(starts, array.size)
    result = _result_type(array, operation, dtype)
    if not array.size:
        return zeros_beside(array, (0,), result)
    begins = np.zeros(array.size, np.bool_)
    begins[offsets[:-1][offsets[:-1] < array.size]] = True
    reduction = segmented(reduction_of(operation, type_of(array), result), exclusive)
    shifted = joined([array[:1], array[:-1]]) if exclusive else array
    found, _ = scan_rows(reduction, [shifted, begins], array.size, False, backend)
    return found.astype(result.numpy, copy=False)


def cumsum(
    x: object, /, axis: int | None = None, *, dtype: object = None, out: Array | None = None, backend: Backend = None
) -> Array:
    """Add, for each element, all elements up to it: `numpy.cumsum` with an order of additions that is fixed.

    Args:
        x: An array of any type.
        axis: The axis along which elements are added, or None for all elements in row-major order.
        dtype: As for `sum`.
        out: Where the result goes.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`, or with one axis if `axis` is None.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    return _cumulative("sum", x, axis, dtype, out, backend)


def cumprod(
    x: object, /, axis: int | None = None, *, dtype: object = None, out: Array | None = None, backend: Backend = None
) -> Array:
    """Multiply, for each element, all elements up to it, in the order of `scan`.

    Args:
        x: An array of any type.
        axis: As for `cumsum`.
        dtype: As for `sum`.
        out: Where the result goes.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`, or with one axis if `axis` is None.

    Raises:
        InvalidInput: An argument is of another kind.
    """
    return _cumulative("prod", x, axis, dtype, out, backend)


def _cumulative(
    operation: str, x: object, axis: int | None, dtype: object, out: Array | None, backend: Backend
) -> Array:
    array = array_of(x)
    if axis is None:
        array, axis = array.reshape(-1), 0
    return scan(array, operation, axis=axis, dtype=dtype, out=out, backend=backend)


def _result_type(array: Array, operation: str, dtype: object) -> DType:
    if operation in ("sum", "prod"):
        return sum_type(array, dtype)
    if operation not in ("min", "max", "any", "all"):
        needed = "one of sum, prod, min, max, any, all"
        raise InvalidInput("operation", needed=needed, got=repr(operation), fix="pass the name of an operation")
    return type_of(array) if operation in ("min", "max") else bool_


def scan_rows(
    reduction: Reduction, arrays: Sequence[Array], length: int, exclusive: bool, backend: Backend
) -> list[Array]:
    """The scanned states of rows of `length` elements, an array for each value of the state."""
    size = arrays[0].size
    given = {f"x{n}": array for n, array in enumerate(arrays)}
    if size == length <= BLOCK:
        found = launch(block_scan(reduction, exclusive=exclusive), given, 1, backend)
    else:
        found = run_graph(_record_scan, (reduction, size, length, exclusive), given, backend, is_short=True)
    return [found[f"s{n}"] for n in range(len(reduction.state))]


def _record_scan(graph: Recorder, reduction: Reduction, size: int, length: int, exclusive: bool) -> None:
    sources = [graph.input(f"x{n}", dtype, size) for n, dtype in enumerate(reduction.inputs)]
    for n, found in enumerate(record_scan(graph, reduction, sources, length, exclusive)):
        graph.output(f"s{n}", found)


def record_scan(
    graph: Recorder, reduction: Reduction, sources: Sequence[Range], length: int, exclusive: bool
) -> list[Range]:
    """Record the scan of rows of `length` elements; the ranges of its states."""
    size = len(sources[0])
    blocks = -(-length // BLOCK)
    rows = size // length
    given: dict[str, object] = {f"x{n}": source for n, source in enumerate(sources)}
    if rows > 1:
        first = (np.arange(rows)[:, None] * length + np.arange(blocks) * BLOCK).astype(np.uint32)
        last = np.minimum(first + BLOCK, ((np.arange(rows) + 1) * length)[:, None]).astype(np.uint32)
        given |= {"first": first.reshape(-1), "last": last.reshape(-1)}
    grid, shape = with_grid(rows * blocks), {"exclusive": exclusive, "of_rows": rows > 1}
    if blocks > 1:
        totals = graph.dispatch(block_scan(reduction, totals=True, of_rows=rows > 1), given, config=grid)
        states = [totals[f"total{n}"] for n in range(len(reduction.state))]
        before = record_scan(graph, reduction.of_states, states, blocks, True)
        given |= {f"before{n}": state for n, state in enumerate(before)}
    found = graph.dispatch(block_scan(reduction, has_before=blocks > 1, **shape), given, config=grid)
    return [found[f"s{n}"] for n in range(len(reduction.state))]


@lru_cache(maxsize=1024)
def block_scan(
    reduction: Reduction,
    *,
    exclusive: bool = False,
    totals: bool = False,
    has_before: bool = False,
    of_rows: bool = False,
) -> Program:
    """The scan of blocks of ``x0``, ``x1``, … after the states ``before0``, …; or the `totals` of the blocks alone."""
    with program(f"scan_{reduction.name}", LANES) as p:
        sources = [p.read(f"x{n}", dtype) for n, dtype in enumerate(reduction.inputs)]
        block, lane = p.workgroup_id(0), p.local_id(0)
        if of_rows:
            firsts, lasts = p.read("first", u32), p.read("last", u32)
            begin, end = p.let(firsts[block]), p.let(lasts[block])
        else:
            begin, end = p.let(block * BLOCK), sources[0].length
        prefixes = [p.read(f"before{n}", dtype) for n, dtype in enumerate(reduction.state)] if has_before else []
        first = p.let(begin + lane * RUN)
        last = p.let(least(first + RUN, end))

        def leaf(index: Value) -> State:
            return reduction.leaf([source[index] for source in sources], index)

        own = [p.var(value) for value in reduction.identity]
        with p.range(first, last) as k:
            assign(p, own, reduction.combine(values_of(own), leaf(k)))
        lanes = _scan_lanes(p, reduction, values_of(own))
        if totals:
            count = LengthOf("first") if of_rows else LengthOf("x0", over=BLOCK)
            for n, (dtype, memory) in enumerate(zip(reduction.state, lanes, strict=True)):
                total = p.write(f"total{n}", dtype, count)
                with p.if_(lane == 0):
                    total[block] = memory[LANES - 1]
            return p.build()

        results = [p.write(f"s{n}", dtype, LengthOf("x0")) for n, dtype in enumerate(reduction.state)]
        before = tuple(
            select(lane == 0, identity, memory[lane - 1])
            for identity, memory in zip(reduction.identity, lanes, strict=True)
        )
        if has_before:
            before = reduction.combine(tuple(prefix[block] for prefix in prefixes), before)
        running = [p.var(value) for value in before]
        with p.range(first, last) as k:
            element = tuple(p.let(value) for value in leaf(k))
            if exclusive:
                _store(results, k, values_of(running))
            assign(p, running, reduction.combine(values_of(running), element))
            if not exclusive:
                _store(results, k, values_of(running))
    return p.build()


def _store(results: Sequence[Buffer], index: Value, values: State) -> None:
    for result, value in zip(results, values, strict=True):
        result[index] = value


def _scan_lanes(p: ProgramBuilder, reduction: Reduction, own: State) -> list[Buffer]:
    """Scan the states of the lanes of a workgroup; the memory of the states up to each lane."""
    lane = p.local_id(0)
    shared = [p.workgroup(f"lanes{n}", dtype, LANES) for n, dtype in enumerate(reduction.state)]
    _store(shared, lane, own)
    distance = 1
    while distance < LANES:
        p.barrier()
        below, here = (tuple(memory[lane - back] for memory in shared) for back in (distance, 0))
        p.barrier()
        with p.if_(lane >= distance):
            _store(shared, lane, reduction.combine(below, here))
        distance *= 2
    p.barrier()
    return shared
