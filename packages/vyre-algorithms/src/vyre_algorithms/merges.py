"""Merge sort by a comparison of the caller: each pass merges pairs of sorted runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from vyre_algorithms.arguments import condition, function
from vyre_algorithms.launches import Range, Recorder, words
from vyre_algorithms.traced import TracedFunction
from vyre_foundation import DType, Program, Value, constant, program, select, u32
from vyre_foundation.functions import min as least, not_

GROUP = 64

Comparison = Callable[[Value, Value], Value]
BEFORE = "lambda a, b: a < b"


def comparison(before: Comparison | None, dtype: DType, descending: bool) -> TracedFunction | None:
    """A comparison of a caller as a key of caches; what is none is refused, even if there are no elements."""
    if before is None:
        return None
    traced = function(before, "before", BEFORE)
    _merge(dtype, traced, descending, True, False)
    return traced


def record_merges(
    graph: Recorder, dtype: DType, before: TracedFunction, descending: bool, size: int, length: int
) -> None:
    """Record the passes that sort rows of `length`; the output ``places`` has the indices that sort the vector."""
    elements = graph.input("x", dtype, size)
    given: dict[str, object] = {} if length == size else {"length": words(length)}
    places: Range = None
    width = 1
    while places is None or width < length:
        merge = _merge(dtype, before, descending, places is None, length < size)
        found = graph.dispatch(merge, {**given, "x": elements, "width": words(width)})
        elements, places, width = found["merged"], found["merged_places"], 2 * width
        given["places"] = places
    graph.output("places", places)


@lru_cache(maxsize=256)
def _merge(dtype: DType, before: TracedFunction, descending: bool, is_first: bool, has_rows: bool) -> Program:
    """Pairs of sorted runs of `width` elements become one: an element moves past those of the other run before it.

    With `has_rows` each row of `length` elements has runs of its own.
    """
    with program("sort_merge", GROUP) as p:
        x, width = p.read("x", dtype), p.uniform("width", u32, 1)
        places = None if is_first else p.read("places", u32)
        merged, moved = p.write("merged", dtype, like=x), p.write("merged_places", u32, like=x)
        i = p.global_id(0)
        length = p.uniform("length", u32, 1)[0] if has_rows else x.length
        row = p.let(i - i % length) if has_rows else constant(u32, 0)
        run = p.let((i - row) // width[0])
        is_left = p.let((run & 1) == 0)
        first = p.let((run ^ 1) * width[0])
        start = p.let(row + least(first, length))
        low, high = p.var(start), p.var(row + least(first + width[0], length))
        element = p.let(x[i])
        with p.range(32):
            with p.if_(low >= high):
                p.break_()
            middle = p.let((low + high) >> 1)
            left, right = (x[middle], element) if not descending else (element, x[middle])
            other = condition(before, "before", BEFORE, left, right)
            this = condition(before, "before", BEFORE, right, left)
            # Of equal elements those of the left run are first.
            goes_first = select(is_left, other, not_(this))
            low.set(select(goes_first, middle + 1, low))
            high.set(select(goes_first, high, middle))
        # `i` counts from the first row, and so does the target.
        target = p.let((run & 0xFFFF_FFFE) * width[0] + (i - run * width[0]) + (low - start))
        with p.if_(i < x.length):
            merged[target] = element
            moved[target] = i if places is None else places[i]
    return p.build()
