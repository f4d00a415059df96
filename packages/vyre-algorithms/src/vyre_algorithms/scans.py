"""Scans: sums and other operations over all elements up to each one.

The order of the operations depends on the length alone. A sequence is cut into blocks of 4096 elements, a block into 64
runs of 64 for 64 lanes. A lane combines its run from the first element to the last. The results of the lanes are
scanned in six steps: in step ``d`` = 1, 2, 4, … 32 lane ``l`` becomes lane ``l - d`` combined with lane ``l``, for all
``l ≥ d`` at once. The result of lane 63 is that of the block, and those of the blocks are scanned in the same way. What
an element gets begins with the result of all blocks before its own, combined with that of the lanes before its own,
combined with the elements of its run one after another. What has no elements has the identity, which changes no bit.

Where there are several sequences, an invocation scans each one that is no longer than a run.
"""

from __future__ import annotations

import math
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
    flattened,
    target,
    type_of,
)
from vyre_algorithms.launches import (
    Range,
    Recorder,
    broadcast,
    has_lanes,
    joined,
    launch,
    rounded,
    run_graph,
    with_grid,
    words,
    zeros_beside,
)
from vyre_algorithms.monoids import SCANNED, reduction_of, result_type, segmented
from vyre_algorithms.move import offsets_of
from vyre_algorithms.tree import (
    COLUMNS,
    SIDE_BY_SIDE,
    OwnSequence,
    Reduction,
    State,
    assign,
    groups_of,
    values_of,
)
from vyre_foundation import (
    Array as Buffer,
    LengthOf,
    Program,
    ProgramBuilder,
    Value,
    constant,
    program,
    select,
    u32,
)
from vyre_foundation.dtype import bool_
from vyre_foundation.functions import min as least

LANES, RUN = 64, 64
BLOCK = LANES * RUN
AT_ONCE = 8
"""Elements of an iteration of the loop over a run, in scans of more than a block."""
MOST_STAGED = 6
"""Bytes of an element, at most, of which a block fits into the memory of a workgroup."""


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
        x: An array of any type; of bools or integers for "and", "or" and "xor", which combine bits.
        operation: "sum", "prod", "min", "max", "any", "all", "and", "or" or "xor".
        axis: The axis along which elements are combined.
        exclusive: Whether the element itself is excluded; the first one gets the identity, which changes no bit: 0, of
            sums of floats −0, or 1, the greatest or the least value of the type, False or True, no bit or every bit.
        dtype: As for `sum`, for sums and products.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`. Sums of f16 and bf16 are formed in f32, and each is rounded once.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    which = axis_of(axis, array.ndim)
    result = result_type(operation, array, dtype, SCANNED)
    if out is not None:
        target(out, [array], result, array.shape)
    if not array.size:
        return delivered(zeros_beside(array, array.shape, result), out)
    reduction = reduction_of(operation, type_of(array), result)
    if array.ndim == 1:
        (found,) = scan_rows(reduction, [flattened(array)], array.size, exclusive, backend)
        return delivered(rounded(found, result, backend), out)
    length, inner = array.shape[which], math.prod(array.shape[which + 1 :])
    if length <= RUN and inner >= SIDE_BY_SIDE:
        (found,) = _scan_short(reduction, [flattened(array)], length, inner, exclusive, backend)
        return delivered(rounded(found, result, backend).reshape(array.shape), out)
    rows = axis_last(array, which)
    (found,) = scan_rows(reduction, [flattened(rows)], length, exclusive, backend)
    return delivered(axis_back(rounded(found, result, backend).reshape(rows.shape), which), out)


def segmented_scan(
    x: object,
    starts: object,
    /,
    operation: str = "sum",
    *,
    axis: int = -1,
    exclusive: bool = False,
    dtype: object = None,
    backend: Backend = None,
) -> Array:
    """Scan along an axis, restarting at each segment.

    Args:
        x: An array with one axis or more.
        starts: As for `segmented_reduce`.
        operation: As for `scan`.
        axis: The axis that has the segments.
        exclusive: As for `scan`.
        dtype: As for `sum`, for sums and products.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`. The order of the operations is that of `scan` along the whole axis, where a start
        of a segment drops what came before.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = array_of(x)
    which = axis_of(axis, array.ndim)
    rows = axis_last(array, which)
    *outer, length = rows.shape
    offsets = offsets_of(starts, length, backend)
    result = result_type(operation, array, dtype, SCANNED)
    if not array.size:
        return zeros_beside(array, array.shape, result)
    given = {"starts": offsets, "begins": zeros_beside(array, (length,), bool_)}
    begins = launch(_begins(), given, -(-offsets.size // LANES), backend)["begins"]
    each = broadcast(begins.reshape(1, length), (math.prod(outer), length)).reshape(-1)
    reduction = segmented(reduction_of(operation, type_of(array), result), exclusive)
    flat = rows.reshape(-1)
    shifted = joined([flat[:1], flat[:-1]]) if exclusive else flat  # a row begins with a segment, which drops the last
    found, _ = scan_rows(reduction, [shifted, each], length, False, backend)
    return axis_back(rounded(found, result, backend).reshape(rows.shape), which)


@lru_cache(maxsize=1)
def _begins() -> Program:
    """Whether a segment begins at an element: of those that begin there, the one with elements says so."""
    with program("segment_begins", LANES) as p:
        starts, begins = p.read("starts", u32), p.read_write("begins", bool_)
        i = p.global_id(0)
        with p.if_((i + 1 < starts.length) & (starts[i] != starts[i + 1])):
            begins[starts[i]] = True
    return p.build()


def cumsum(
    x: object, /, axis: int | None = None, *, dtype: object = None, out: Array | None = None, backend: Backend = None
) -> Array:
    """Add, for each element, all elements up to it: `numpy.cumsum` with an order of additions that is fixed.

    Args:
        x: An array of any type.
        axis: The axis along which elements are added, or None for all elements in row-major order.
        dtype: As for `sum`.
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`, or with one axis if `axis` is None.

    Raises:
        InvalidInput: An argument is invalid.
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
        out: The array that receives the result.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`, or with one axis if `axis` is None.

    Raises:
        InvalidInput: An argument is invalid.
    """
    return _cumulative("prod", x, axis, dtype, out, backend)


def _cumulative(
    operation: str, x: object, axis: int | None, dtype: object, out: Array | None, backend: Backend
) -> Array:
    array = array_of(x)
    if axis is None:
        array, axis = flattened(array), 0
    return scan(array, operation, axis=axis, dtype=dtype, out=out, backend=backend)


def scan_rows(
    reduction: Reduction, arrays: Sequence[Array], length: int, exclusive: bool, backend: Backend
) -> list[Array]:
    """The scanned states of rows of `length` elements, an array for each value of the state."""
    size = arrays[0].size
    if length <= RUN and length < size:
        return _scan_short(reduction, arrays, length, 1, exclusive, backend)
    given = {f"x{n}": array for n, array in enumerate(arrays)}
    if size == length <= BLOCK:
        found = launch(block_scan(reduction, exclusive=exclusive), given, 1, backend)
    else:
        parameters = (reduction, size, length, exclusive, has_lanes(arrays, backend))
        found = run_graph(_record_scan, parameters, given, backend, is_short=True)
    return [found[f"s{n}"] for n in range(len(reduction.state))]


def _scan_short(
    reduction: Reduction, arrays: Sequence[Array], length: int, inner: int, exclusive: bool, backend: Backend
) -> list[Array]:
    """The scanned states of sequences of one run, of which `inner` lie side by side; they are rows if it is 1."""
    given = {f"x{n}": array for n, array in enumerate(arrays)} | {"shape": words(length, inner)}
    grid = groups_of(arrays[0].size // (length * inner), inner)
    return list(launch(short_scan(reduction, exclusive, inner == 1), given, grid, backend).values())


def _record_scan(graph: Recorder, reduction: Reduction, size: int, length: int, exclusive: bool, is_wide: bool) -> None:
    sources = [graph.input(f"x{n}", dtype, size) for n, dtype in enumerate(reduction.inputs)]
    for n, found in enumerate(record_scan(graph, reduction, sources, length, exclusive, is_wide)):
        graph.output(f"s{n}", found)


def record_scan(
    graph: Recorder, reduction: Reduction, sources: Sequence[Range], length: int, exclusive: bool, is_wide: bool
) -> list[Range]:
    """Record the scan of rows of `length` elements; the ranges of its states.

    If it `is_wide`, the lanes of a block read and write it together: neighbours side by side.
    """
    size = len(sources[0])
    blocks = -(-length // BLOCK)
    rows = size // length
    given: dict[str, object] = {f"x{n}": source for n, source in enumerate(sources)}
    if rows > 1:
        first = (np.arange(rows)[:, None] * length + np.arange(blocks) * BLOCK).astype(np.uint32)
        last = np.minimum(first + BLOCK, ((np.arange(rows) + 1) * length)[:, None]).astype(np.uint32)
        given |= {"first": first.reshape(-1), "last": last.reshape(-1)}
    grid, of_rows = with_grid(rows * blocks), rows > 1
    if blocks == 1:
        block = block_scan(reduction, exclusive=exclusive, of_rows=of_rows, is_wide=is_wide)
        found = graph.dispatch(block, given, config=grid)
    else:
        totals = graph.dispatch(block_totals(reduction, of_rows=of_rows, is_wide=is_wide), given, config=grid)
        names = range(len(reduction.state))
        states = [totals[f"total{n}"] for n in names]
        before = record_scan(graph, reduction.of_states, states, blocks, True, is_wide)
        given |= {f"lanes{n}": totals[f"lanes{n}"] for n in names} | {f"before{n}": before[n] for n in names}
        runs = run_scan(reduction, exclusive=exclusive, of_rows=of_rows, is_wide=is_wide)
        found = graph.dispatch(runs, given, config=grid)
    return [found[f"s{n}"] for n in range(len(reduction.state))]


@lru_cache(maxsize=1024)
def block_totals(reduction: Reduction, *, of_rows: bool = False, is_wide: bool = False) -> Program:
    """The states of blocks of ``x0``, …, as ``total0``, …; and those up to each lane in its block, as ``lanes0``, …."""
    with program(f"totals_{reduction.name}", LANES) as p:
        run = _Run(p, reduction, of_rows=of_rows, is_wide=is_wide)
        blocks, over = ("first", 1) if of_rows else ("x0", BLOCK)
        totals = [p.write(f"total{n}", t, LengthOf(blocks, over=over)) for n, t in enumerate(reduction.state)]
        outputs = [p.write(f"lanes{n}", t, LengthOf(blocks, LANES, over)) for n, t in enumerate(reduction.state)]
        shared = _scan_lanes(p, reduction, run.combined())
        _store(outputs, p.global_id(0), tuple(memory[p.local_id(0)] for memory in shared))
        with p.if_(p.local_id(0) == 0):
            _store(totals, p.workgroup_id(0), tuple(memory[LANES - 1] for memory in shared))
    return p.build()


@lru_cache(maxsize=1024)
def run_scan(reduction: Reduction, *, exclusive: bool = False, of_rows: bool = False, is_wide: bool = False) -> Program:
    """The scan of ``x0``, ``x1``, … after the states of blocks, ``before0``, …, and the lanes of `block_totals`."""
    with program(f"scan_runs_{reduction.name}", LANES) as p:
        run = _Run(p, reduction, of_rows=of_rows, is_wide=is_wide)
        lanes = [p.read(f"lanes{n}", dtype) for n, dtype in enumerate(reduction.state)]
        prefixes = [p.read(f"before{n}", dtype) for n, dtype in enumerate(reduction.state)]
        there = _before(p, reduction, tuple(memory[p.global_id(0) - 1] for memory in lanes))
        before = reduction.combine(tuple(prefix[p.workgroup_id(0)] for prefix in prefixes), there)
        run.scan(before, exclusive, AT_ONCE)
    return p.build()


@lru_cache(maxsize=1024)
def block_scan(
    reduction: Reduction, *, exclusive: bool = False, of_rows: bool = False, is_wide: bool = False
) -> Program:
    """The scan of sequences of ``x0``, ``x1``, … of one block each."""
    with program(f"scan_{reduction.name}", LANES) as p:
        run = _Run(p, reduction, of_rows=of_rows, is_wide=is_wide)
        shared = _scan_lanes(p, reduction, run.combined())
        run.scan(_before(p, reduction, tuple(memory[p.local_id(0) - 1] for memory in shared)), exclusive)
    return p.build()


@lru_cache(maxsize=1024)
def short_scan(reduction: Reduction, exclusive: bool, are_rows: bool) -> Program:
    """The scan of sequences of ``x0``, ``x1``, … of one run each: an invocation scans one."""
    with program(f"scan_short_{reduction.name}", COLUMNS) as p:
        sources = [p.read(f"x{n}", dtype) for n, dtype in enumerate(reduction.inputs)]
        results = [p.write(f"s{n}", dtype, LengthOf("x0")) for n, dtype in enumerate(reduction.state)]
        shape = p.uniform("shape", u32, 2)
        own = OwnSequence(p, shape, length := p.let(shape[0]), sources[0].length, are_rows=are_rows)
        running = [p.var(value) for value in reduction.identity]
        with p.if_(own.exists), p.range(least(length, RUN)) as k:
            at = p.let(own.at(k))
            before = values_of(running)
            assign(p, running, reduction.combine(before, reduction.leaf([source[at] for source in sources], at)))
            _store(results, at, before if exclusive else values_of(running))
    return p.build()


class _Run:
    """The run of an invocation: where it begins and ends, its elements, and the results for them.

    If it `is_wide` the elements of a block are in the memory of the workgroup, those of a lane behind each other with
    one place between lanes, which keeps lanes that read together in different banks. Results of the same types replace
    them there, before they are written to ``s0``, ``s1``, …: so neighbours read and write neighbours.
    """

    def __init__(self, p: ProgramBuilder, reduction: Reduction, *, of_rows: bool, is_wide: bool) -> None:
        self._p, self._reduction = p, reduction
        self._sources = [p.read(f"x{n}", dtype) for n, dtype in enumerate(reduction.inputs)]
        block = p.workgroup_id(0)
        if of_rows:
            firsts, lasts = p.read("first", u32), p.read("last", u32)
            self._begin, self._end = p.let(firsts[block]), p.let(lasts[block])
        else:
            self._begin, self._end = p.let(block * BLOCK), self._sources[0].length
        self._first = p.let(self._begin + p.local_id(0) * RUN)
        self._staged: list[Buffer] = []
        if is_wide and sum(dtype.size for dtype in reduction.inputs) <= MOST_STAGED:
            self._stage()
        else:
            self._last = p.let(least(self._first + RUN, self._end))

    def combined(self) -> State:
        """The state of all elements."""
        p, reduction = self._p, self._reduction
        own = [p.var(value) for value in reduction.identity]
        with p.range(self._first, self._last) as k:
            assign(p, own, reduction.combine(values_of(own), self._leaf(k)))
        return values_of(own)

    def scan(self, before: State, exclusive: bool, at_once: int = 1) -> None:
        """Write the scan of the elements after a state. A whole run takes `at_once` of them in each iteration."""
        p, reduction = self._p, self._reduction
        results = [p.write(f"s{n}", dtype, LengthOf("x0")) for n, dtype in enumerate(reduction.state)]
        outputs = self._staged if self._staged and reduction.state == reduction.inputs else results
        running = [p.var(value) for value in before]
        first, last = self._first, self._last

        def advance(at: Value, number: int) -> None:
            state = values_of(running)
            for n in range(number):
                element = tuple(p.let(value) for value in self._leaf(at + n))
                after = tuple(p.let(value) for value in reduction.combine(state, element))
                place = at + n if outputs is self._staged else self._index(at + n)
                _store(outputs, place, state if exclusive else after)
                state = after
            assign(p, running, state)

        if at_once == 1:
            with p.range(first, last) as k:
                advance(k, 1)
        else:
            with p.if_(last - first == RUN), p.range(0, RUN, at_once) as step:
                advance(p.let(first + step), at_once)
            with p.else_(), p.range(first, last) as k:
                advance(k, 1)
        if outputs is self._staged:
            p.barrier()
            with p.range(RUN) as run:
                index, place = self._across(run)
                with p.if_(index < self._end):
                    _store(results, index, tuple(tile[place] for tile in self._staged))

    def _leaf(self, at: Value) -> State:
        """The state of an element."""
        sources = self._staged or self._sources
        return self._reduction.leaf([source[at] for source in sources], self._index(at))

    def _index(self, at: Value) -> Value:
        """The index of an element in the arrays, of which `at` says where it is read."""
        return at + self._shift if self._staged else at

    def _stage(self) -> None:
        """Read the block. From now on an element is where it is in the memory of the workgroup."""
        p, inputs = self._p, self._reduction.inputs
        self._staged = [p.workgroup(f"run{n}", dtype, LANES * (RUN + 1)) for n, dtype in enumerate(inputs)]
        with p.range(RUN) as run:
            index, place = self._across(run)
            _store(self._staged, place, tuple(source[index] for source in self._sources))
        p.barrier()
        first = p.let(p.local_id(0) * (RUN + 1))
        number = select(self._first < self._end, least(self._end - self._first, RUN), constant(u32, 0))
        self._shift = p.let(self._first - first)
        self._first, self._last = first, p.let(first + number)

    def _across(self, run: Value) -> tuple[Value, Value]:
        """An element of a run that this lane reads and writes: its index, and its place."""
        p = self._p
        return p.let(self._begin + run * LANES + p.local_id(0)), p.let(run * (RUN + 1) + p.local_id(0))


def _before(p: ProgramBuilder, reduction: Reduction, there: State) -> State:
    """What is there for the lane before; the first one has the identity."""
    pairs = zip(reduction.identity, there, strict=True)
    return tuple(select(p.local_id(0) == 0, identity, value) for identity, value in pairs)


def _store(results: Sequence[Buffer], index: Value, values: State) -> None:
    for result, value in zip(results, values, strict=True):
        result[index] = value


def _scan_lanes(p: ProgramBuilder, reduction: Reduction, own: State) -> list[Buffer]:
    """Scan the states of the lanes of a workgroup; the memory of the states up to each lane."""
    lane = p.local_id(0)
    shared = [p.workgroup(f"shared{n}", dtype, LANES) for n, dtype in enumerate(reduction.state)]
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
