"""Choosing elements: by a mask, by a predicate, and the first of equal ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from vyre_algorithms.arguments import (
    Array,
    Backend,
    array_of,
    axis_of,
    condition,
    flattened,
    function,
    known,
    of_kind,
    prefix,
    type_of,
    vector,
)
from vyre_algorithms.launches import (
    ImmediateGraph,
    Recorder,
    has_lanes,
    joined,
    launch,
    mapped,
    run_graph,
    runs_loops,
    slots_beside,
    with_grid,
    words,
    zeros_beside,
)
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.move import gather, scatter, take
from vyre_algorithms.order import KeyType, bits_of, bits_type, of_bits
from vyre_algorithms.scans import record_scan, scan
from vyre_algorithms.short_sorts import sort_serially
from vyre_algorithms.sorts import argsort, sort
from vyre_algorithms.traced import TracedFunction
from vyre_driver.errors import InvalidInput
from vyre_foundation import (
    Array as Buffer,
    DType,
    LengthOf,
    Program,
    ProgramBuilder,
    Value,
    program,
    select as selected,
    u32,
)
from vyre_foundation.build import Operand
from vyre_foundation.dtype import bool_, i64
from vyre_foundation.functions import is_nan, min as least, ne, not_

CHUNK, GROUP = 256, 64
"""Elements of an invocation, and invocations of a workgroup."""
LONG_CHUNK, LONG_CHUNKS = 1 << 11, 1 << 11
"""Elements at least, and invocations at most, where a worker runs one invocation after the other."""
AT_ONCE = 8
"""Elements that are written without a look at the end of the chunk's places."""
BATCHES = 4
"""How often it is found out how many elements may be written so."""
SPARSE = 8
"""Elements for each chosen one from which a branch is predicted well."""
OUTPUT_PARTS = 16
"""The length of an output is a multiple of all elements divided by this number: a launch clears its output, so a short
one takes less time, and each new length has to be prepared."""
LOOK = 32
"""Elements among which a worker looks for any chosen one, before it looks at each."""
PREDICATE = "lambda v: v > 0"
FEW = 4096
"""Elements from which one invocation chooses: more launches would take longer."""
FEW_IN_LOOPS = 1 << 15
"""The same where a worker runs one invocation after the other."""


@dataclass(frozen=True, eq=False)
class Elements:
    """An array in a program. Floats are there as bits, so that no bit of one changes on its way."""

    buffer: Buffer
    dtype: DType

    def __getitem__(self, index: Operand) -> Value:
        """The element at an index, in its type."""
        bits = self.buffer[index]
        if self.dtype is bool_:
            return ne(bits, 0)
        return bits if bits.dtype is self.dtype else bits.bitcast(self.dtype)


_NAMES = ("x0", "x1")
"""The arrays of a choice in programs."""
Choice = Callable[[Sequence[Elements], Value], Value]
"""Whether the element at an index is chosen, from the arrays."""


def compact(x: object, mask: object, /, axis: int | None = None, *, backend: Backend = None) -> Array:
    """Return the elements that a mask selects, in their order.

    Args:
        x: An array.
        mask: An array of bool in the shape of `x`; with `axis`, of one axis, with an element for each index of that
            axis.
        axis: The axis along which the mask selects, or None for the elements of the array in row-major order.
        backend: As for `vyre.run`.

    Returns:
        An array with one axis; with `axis`, one in the shape of `x` except for its length on that axis.

    Raises:
        InvalidInput: The arrays do not fit each other, or an argument is invalid.
    """
    array, chosen, which = _masked(x, mask, axis)
    if which is None:
        return choose(_where_true, [array, chosen], backend)
    return take(array, choose(_where_true, [chosen, chosen], backend, has_places=True), backend, which)


def partition(x: object, mask: object, /, axis: int | None = None, *, backend: Backend = None) -> tuple[Array, int]:
    """Move the elements that a mask selects before the others; both keep their order.

    Args:
        x: As for `compact`.
        mask: As for `compact`.
        axis: The axis whose elements are moved, or None for the elements of the array in row-major order.
        backend: As for `vyre.run`.

    Returns:
        An array with one axis, or with `axis`, in the shape of `x`; and the number of selected elements.

    Raises:
        InvalidInput: The arrays do not fit each other, or an argument is invalid.
    """
    array, chosen, which = _masked(x, mask, axis)
    has_places = which is not None
    arrays = [chosen if has_places else array, chosen]
    first, others = (choose(choice, arrays, backend, has_places=has_places) for choice in (_where_true, _where_false))
    both = joined([first, others])
    return both if which is None else take(array, both, backend, which), first.size


def select(x: object, /, predicate: Callable[[Value], Value], *, backend: Backend = None) -> Array:
    """Leave the elements for which a predicate holds, in their order.

    Args:
        x: An array, whose elements are one sequence.
        predicate: A function of a value of the language that gives a bool, such as ``lambda v: v > 0.5``. The program
            is cached for the function: pass the same one again.
        backend: As for `vyre.run`.

    Returns:
        An array with one axis.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = flattened(known(array_of(x)))
    return choose(_Where(function(predicate, "predicate", PREDICATE)), [array], backend)


class Runs(NamedTuple):
    """Runs of equal elements: their values, lengths and starts."""

    values: Array
    lengths: Array
    starts: Array


def run_length(x: object, /, *, backend: Backend = None) -> Runs:
    """Find the runs of equal elements.

    Args:
        x: An array with one axis. −0 equals +0, and NaNs of one sign equal each other.
        backend: As for `vyre.run`.

    Returns:
        For each run the first of its elements, the number of them, and the index of the first.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = vector(known(array_of(x)))
    if isinstance(array, np.ndarray) and 0 < array.size <= FEW:
        dtype = type_of(array)
        found = launch(_runs_few(dtype), {"x": bits_of(array, dtype)}, 1, backend)
        number = found["number"].item()
        values, lengths, first = (prefix(found[name], number) for name in ("values", "lengths", "starts"))
        return Runs(of_bits(values, dtype), lengths, first)
    starts = choose(_where_new, [array], backend, has_places=True)
    ends = joined([starts[1:], np.full(starts.size and 1, array.size, np.uint32)])
    lengths = mapped(_difference, i64, [ends, starts], backend)
    return Runs(take(array, starts, backend), lengths, starts.astype(np.int64))


class Unique(NamedTuple):
    """The distinct elements, ascending, with first indices, inverse and counts."""

    values: Array
    indices: Array
    inverse: Array
    counts: Array


def unique(x: object, /, *, backend: Backend = None) -> Array:
    """Find the distinct elements, ascending.

    Args:
        x: An array, whose elements are one sequence. −0 equals +0, and NaNs of one sign equal each other.
        backend: As for `vyre.run`.

    Returns:
        An array with one axis: of equal elements the first in the order of `sort`.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = flattened(known(array_of(x)))
    if isinstance(array, np.ndarray) and 0 < array.size <= FEW:
        dtype = type_of(array)
        found = launch(_unique_few(dtype), {"keys": bits_of(array, dtype)}, 1, backend)
        return of_bits(_first(found), dtype)
    return choose(_where_new, [sort(array, backend=backend)], backend)


def unique_all(x: object, /, *, backend: Backend = None) -> Unique:
    """Find the distinct elements, ascending, with first indices, inverse and counts.

    Args:
        x: As for `unique`.
        backend: As for `vyre.run`.

    Returns:
        The elements, as of `unique`; the index of the first that equals each; for each element of `x` the index of its
        value among them, in the shape of `x`; and the count of each.

    Raises:
        InvalidInput: An argument is invalid.
    """
    array = known(array_of(x))
    if isinstance(array, np.ndarray) and 0 < array.size <= FEW:
        dtype = type_of(array)
        keys = bits_of(flattened(array), dtype)
        found = launch(_unique_all_few(dtype), {"keys": keys}, 1, backend)
        number = found["number"].item()
        values, first, counts = (prefix(found[name], number) for name in ("values", "indices", "counts"))
        return Unique(of_bits(values, dtype), first, found["inverse"].reshape(array.shape), counts)
    order = argsort(array.reshape(-1), backend=backend)
    runs = run_length(gather(array.reshape(-1), order, backend=backend), backend=backend)
    indices = gather(order, runs.starts, backend=backend)
    has_equal_bits = not type_of(array).is_float  # others that are equal are not sorted by their indices
    if not isinstance(order, np.ndarray):
        begins = scatter(zeros_beside(order, order.shape, i64), runs.starts, _ones_like(runs.starts), backend=backend)
        number = mapped(_less_one, i64, [scan(begins, backend=backend)], backend)
        inverse = scatter(number, order, number, backend=backend)
        if not has_equal_bits and order.size:
            first, each = indices.astype(u32), order.astype(u32)
            indices = scatter(first, number, each, "min", backend=backend).astype(i64)
    else:
        inverse = np.empty(order.size, np.int64)
        inverse[order] = np.repeat(np.arange(runs.values.size), runs.lengths)
        if not has_equal_bits:
            indices = np.minimum.reduceat(order, runs.starts)
    return Unique(runs.values, indices, inverse.reshape(array.shape), runs.lengths)


# ── the programs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _difference(end: Value, start: Value) -> Value:
    return (end - start).cast(i64)


def _less_one(number: Value) -> Value:
    return number - 1


def _one(number: Value) -> Value:
    return number * 0 + 1


def _ones_like(array: Array) -> Array:
    return mapped(_one, i64, [array], None)


def _masked(x: object, mask: object, axis: int | None) -> tuple[Array, Array, int | None]:
    """An array and its mask as sequences; or an array, the mask of an axis, and the axis."""
    array, chosen = known(array_of(x)), known(array_of(mask, "mask"), "mask")
    of_kind(chosen, "b", "bools", "mask")
    which = None if axis is None else axis_of(axis, array.ndim)
    shape = array.shape if which is None else (array.shape[which],)
    if chosen.shape != shape:
        needed, got = f"the shape {shape}", f"{chosen.shape}"
        raise InvalidInput("mask", needed=needed, got=got, fix="pass a bool for each element")
    chosen = flattened(chosen)
    if which is None or array.ndim == 1:
        return flattened(array), chosen, None
    return array, chosen, which


def _where_true(sources: Sequence[Elements], index: Value) -> Value:
    return sources[1][index]


def _where_false(sources: Sequence[Elements], index: Value) -> Value:
    return not_(sources[1][index])


@dataclass(frozen=True, slots=True)
class _Where:
    """The elements for which a predicate holds."""

    predicate: TracedFunction

    def __call__(self, sources: Sequence[Elements], index: Value) -> Value:
        return condition(self.predicate, "predicate", PREDICATE, sources[0][index])


def _where_new(sources: Sequence[Elements], index: Value) -> Value:
    here, before = sources[0][index], sources[0][index - 1]
    differs = ne(here, before)
    if sources[0].dtype.is_float:
        bits = sources[0].buffer
        has_one_sign = (bits[index] ^ bits[index - 1]) < 1 << (bits.dtype.bits - 1)
        differs = differs & ~(is_nan(here) & is_nan(before) & has_one_sign)
    return (index == 0) | differs


def choose(choice: Choice, arrays: list[Array], backend: Backend, *, has_places: bool = False) -> Array:
    """The chosen elements of the first array, or their indices, in order."""
    size = arrays[0].size
    if size > FEW and (size > FEW_IN_LOOPS or not runs_loops(arrays, backend)):
        return choose_by_chunks(choice, arrays, backend, has_places=has_places)
    dtypes = tuple(map(type_of, arrays))
    few = _choose_few(choice, dtypes, has_places)  # which refuses a predicate that gives no bool
    if not size:
        return zeros_beside(arrays[0], (0,), u32 if has_places else dtypes[0])
    chosen = _first(launch(few, _bits(arrays, dtypes), 1, backend))
    return chosen if has_places else of_bits(chosen, dtypes[0])


def choose_by_chunks(choice: Choice, arrays: list[Array], backend: Backend, *, has_places: bool = False) -> Array:
    """The same of many elements: invocations count those of chunks, and then write them to where the counts say."""
    sizes, dtypes = tuple(array.size for array in arrays), tuple(map(type_of, arrays))
    parts = _parts(sizes[0], runs_loops(arrays, backend))
    parameters = (choice, dtypes, has_places, sizes, parts, has_lanes(arrays, backend))
    chosen = _first(run_graph(_record_choice, parameters, _bits(arrays, dtypes), backend, is_short=True))
    return chosen if has_places else of_bits(chosen, dtypes[0])


def _bits(arrays: Sequence[Array], dtypes: Sequence[DType]) -> dict[str, Array]:
    """The arrays by the names that they have in programs."""
    return dict(zip(_NAMES, map(bits_of, arrays, dtypes), strict=False))


def _first(found: dict[str, Array]) -> Array:
    """The elements that were chosen, which the others of the output follow."""
    return prefix(found["chosen"], found["number"].item())


class _Parts(NamedTuple):
    """How elements are divided: `chunk` of them for an invocation, and `group` invocations for a workgroup."""

    chunk: int
    group: int


def _parts(size: int, is_serial: bool) -> _Parts:
    """Few long chunks where invocations run one after the other: the scan of their counts is one launch then."""
    if not is_serial:
        return _Parts(CHUNK, GROUP)
    return _Parts(long_chunk(size), 1)


def long_chunk(size: int) -> int:
    """Elements of an invocation, of `size` in all, where invocations run one after the other."""
    return max(LONG_CHUNK, 1 << (-(-size // LONG_CHUNKS) - 1).bit_length())


def _record_choice(
    graph: Recorder,
    choice: Choice,
    dtypes: tuple[DType, ...],
    has_places: bool,
    sizes: tuple[int, ...],
    parts: _Parts,
    is_wide: bool,
) -> None:
    given = {f"x{n}": graph.input(f"x{n}", bits_type(dtype), sizes[n]) for n, dtype in enumerate(dtypes)}
    number = -(-sizes[0] // parts.chunk) + 1
    grid = with_grid(-(-number // parts.group))
    counts = graph.dispatch(_count(choice, dtypes, parts), given, config=grid)["counts"]
    (starts,) = record_scan(graph, reduction_of("sum", u32, u32), [counts], number, True, is_wide)
    total, given["starts"] = starts[number - 1 :], starts
    if is_known := isinstance(graph, ImmediateGraph):
        part, total = -(-sizes[0] // OUTPUT_PARTS), words(total.item())  # which is read once
        given["slots"] = slots_beside(starts, max(1, -(-total.item() // part)) * part)
    found = graph.dispatch(_write(choice, dtypes, has_places, parts, is_known), given, config=grid)
    graph.output("number", total)
    graph.output("chosen", found["chosen"])


def _chunk(p: ProgramBuilder, dtypes: tuple[DType, ...], chunk: int) -> tuple[list[Elements], Value, Value]:
    """The arrays, and the bounds of the chunk of an invocation."""
    sources = [Elements(p.read(f"x{n}", bits_type(dtype)), dtype) for n, dtype in enumerate(dtypes)]
    length = sources[0].buffer.length
    first = p.let(least(p.global_id(0) * chunk, length))
    return sources, first, p.let(least(first + chunk, length))


@lru_cache(maxsize=256)
def _choose_few(choice: Choice, dtypes: tuple[DType, ...], has_places: bool) -> Program:
    """The chosen elements of a small array, or their indices, by one invocation."""
    with program("choose_few", 1) as p:
        sources = [Elements(p.read(f"x{n}", bits_type(dtype)), dtype) for n, dtype in enumerate(dtypes)]
        chosen = p.write("chosen", u32 if has_places else bits_type(dtypes[0]), LengthOf("x0"))
        _choose_serially(p, choice, sources, chosen, has_places=has_places)
    return p.build()


@lru_cache(maxsize=64)
def _unique_few(dtype: DType) -> Program:
    """The distinct elements of a small array, by one invocation."""
    with program("unique_few", 1) as p:
        keys = p.read("keys", bits_type(dtype))
        chosen = p.write("chosen", keys.dtype, LengthOf("keys"))
        ordered = p.scratch("ordered", keys.dtype, LengthOf("keys"))
        sort_serially(p, keys, ordered, KeyType.of(dtype))
        _choose_serially(p, _where_new, [Elements(ordered, dtype)], chosen)
    return p.build()


@lru_cache(maxsize=64)
def _unique_all_few(dtype: DType) -> Program:
    """The distinct elements of a small array, and what goes with them, by one invocation."""
    with program("unique_all_few", 1) as p:
        keys = p.read("keys", bits_type(dtype))
        values = p.write("values", keys.dtype, like=keys)
        indices, inverse, counts = (p.write(name, i64, like=keys) for name in ("indices", "inverse", "counts"))
        order = p.scratch("order", u32, LengthOf("keys"))
        ordered = p.scratch("ordered", keys.dtype, LengthOf("keys"))
        sort_serially(p, keys, order, KeyType.of(dtype), has_places=True)
        with p.range(keys.length) as k:
            ordered[k] = keys[order[k]]
        first = p.var(0, u32)

        def also(k: Value, run: Value, begin: Value, is_new: Value) -> None:
            place = p.let(order[k])
            first.set(selected(is_new, place, least(first, place)))  # equal floats need not be sorted by their indices
            indices[run], counts[run] = first.cast(i64), (k + 1 - begin).cast(i64)
            inverse[place] = run.cast(i64)

        _runs_serially(p, Elements(ordered, dtype), values, also)
    return p.build()


@lru_cache(maxsize=64)
def _runs_few(dtype: DType) -> Program:
    """The runs of a small array, by one invocation."""
    with program("runs_few", 1) as p:
        x = p.read("x", bits_type(dtype))
        values = p.write("values", x.dtype, like=x)
        lengths, starts = p.write("lengths", i64, like=x), p.write("starts", i64, like=x)

        def also(k: Value, run: Value, begin: Value, is_new: Value) -> None:
            starts[run], lengths[run] = begin.cast(i64), (k + 1 - begin).cast(i64)

        _runs_serially(p, Elements(x, dtype), values, also)
    return p.build()


def _runs_serially(
    p: ProgramBuilder,
    elements: Elements,
    values: Buffer,
    also: Callable[[Value, Value, Value, Value], None],
) -> None:
    """Have one invocation write the first element of each run, and the number of runs.

    `also` writes more of a run: it gets the index of an element, the number of its run, where that begins, and whether
    it begins there. It runs for each element, since CPUs cannot predict a branch here; the last call of a run holds.
    """
    source = elements.buffer
    number, runs = p.write("number", u32, 1), p.var(0, u32)
    begin, value = p.var(0, u32), p.var(source[0])
    with p.range(source.length) as k:
        is_new = p.let(_where_new([elements], k))
        begin.set(selected(is_new, k, begin))
        value.set(selected(is_new, source[k], value))
        runs += is_new.cast(u32)
        run = p.let(runs - 1)
        values[run] = value
        also(k, run, begin.get(), is_new)
    number[0] = runs


def _choose_serially(
    p: ProgramBuilder,
    choice: Choice,
    sources: Sequence[Elements],
    chosen: Buffer,
    *,
    has_places: bool = False,
) -> None:
    """Have one invocation write the chosen elements, or their indices, and their number.

    There is no branch, which CPUs cannot predict: the next chosen element takes the place of one that is not.
    """
    number, place = p.write("number", u32, 1), p.var(0, u32)
    with p.range(sources[0].buffer.length) as k:
        chosen[place] = k if has_places else sources[0].buffer[k]
        place.set(place + choice(sources, k).cast(u32))
    number[0] = place


@lru_cache(maxsize=256)
def _count(choice: Choice, dtypes: tuple[DType, ...], parts: _Parts) -> Program:
    """The number of chosen elements of each chunk, and 0 last, which the scan makes their sum."""
    with program("choose_count", parts.group) as p:
        sources, first, last = _chunk(p, dtypes, parts.chunk)
        counts = p.write("counts", u32, LengthOf("x0", over=parts.chunk, plus=1))
        number = p.var(0, u32)
        with p.range(first, last) as k:
            number += choice(sources, k).cast(u32)
        counts[p.global_id(0)] = number
    return p.build()


@lru_cache(maxsize=256)
def _write(choice: Choice, dtypes: tuple[DType, ...], has_places: bool, parts: _Parts, is_known: bool) -> Program:
    """The chosen elements, or their indices, from where the scanned counts say; if their number `is_known`, in `slots`.

    The next chosen element takes the place of one that is not: without a branch that CPUs cannot predict. An element
    needs one place at most, so as many as there are places left are written without a look at each.
    """
    with program("choose_write", parts.group) as p:
        sources, first, last = _chunk(p, dtypes, parts.chunk)
        starts = p.read("starts", u32)
        if is_known:
            p.read("slots", bool_)
        length = LengthOf("slots" if is_known else "x0")
        chosen = p.write("chosen", u32 if has_places else bits_type(dtypes[0]), length)
        place, end = p.var(starts[p.global_id(0)]), p.let(starts[p.global_id(0) + 1])
        begin = p.var(first)

        def write(k: Value) -> None:
            chosen[place] = k if has_places else sources[0].buffer[k]
            place.set(place + choice(sources, k).cast(u32))

        def write_sparsely(first: Value, last: Value) -> None:
            with p.range(first, last) as k, p.if_(choice(sources, k)):
                chosen[place] = k if has_places else sources[0].buffer[k]
                place.set(place + 1)

        with p.if_((end - place) * SPARSE <= last - first):
            if parts.group > 1:
                write_sparsely(first, last)
            else:
                whole = p.let(first + least(last - first, parts.chunk) // LOOK * LOOK)
                with p.range(first, whole, LOOK) as part:
                    number = p.var(0, u32)
                    with p.range(LOOK) as k:
                        number += choice(sources, part + k).cast(u32)
                    with p.if_(number != 0):
                        write_sparsely(part, part + LOOK)
                write_sparsely(whole, least(last, whole + LOOK))
        with p.else_():
            with p.range(BATCHES):
                here = p.let(begin.get())
                free = least(least(last - here, end - place), parts.chunk)
                sure = p.let(free // AT_ONCE * AT_ONCE)
                with p.range(0, sure, AT_ONCE) as k:
                    for n in range(AT_ONCE):
                        write(p.let(here + k + n))
                begin.set(here + sure)
            rest = p.let(begin.get())
            with p.range(0, least(last - rest, parts.chunk)) as k:
                with p.if_(place >= end):
                    p.break_()
                write(p.let(rest + k))
    return p.build()
