"""Sums of weights: those of the elements that are one number, added as `sum` adds a vector of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import Array, Backend, converted, type_of
from vyre_algorithms.buckets import values_in_buckets
from vyre_algorithms.launches import joined, launch, runs_loops, slots_beside, zeros_beside
from vyre_algorithms.monoids import reduction_of, sum_type
from vyre_algorithms.move import take_few
from vyre_algorithms.radix import DigitOf
from vyre_algorithms.reductions import segmented_reduce
from vyre_algorithms.scans import cumsum
from vyre_algorithms.sorts import sort_bits
from vyre_algorithms.tree import BLOCK, IN_VARIABLES, LANES, Reduction, halved
from vyre_driver.tune.distribution import SERIAL
from vyre_foundation import Array as Buffer, LengthOf, Program, ProgramBuilder, Value, constant, program, select, u32
from vyre_foundation.dtype import bool_, i64
from vyre_foundation.functions import min as least, sub_sat

MOST_AT_ONCE = 1 << 16
"""Elements whose weights one invocation adds: launches cost more than it takes. It has lanes for `LANES` blocks."""


def adds_at_once(keys: Array, weights: Array, backend: Backend) -> bool:
    """Whether `sums_at_once` takes less time than counting and `sums_in_order`."""
    return 0 < keys.size <= MOST_AT_ONCE and runs_loops([keys, weights], backend)


def sums_at_once(keys: Array, weights: Array, bins: int, backend: Backend) -> Array:
    """The sums of the weights of all numbers below `bins`. Keys are u32, and below `bins`."""
    result = sum_type(weights, None)
    reduction = reduction_of("sum", type_of(weights), result)
    given = {"keys": keys, "x0": weights, "slots": slots_beside(keys, bins)}
    return converted(launch(_sum_numbers(reduction), given, 1, backend)["sums"], result)


def sums_in_order(keys: Array, weights: Array, counts: Array, backend: Backend) -> Array:
    """The same from the counts of all numbers: sums of segments of weights in the order of their keys."""
    if keys.size:
        digit_of = next((each for each in (DigitOf.KEY, DigitOf.NUMBER) if counts.size <= each.digits), None)
        if digit_of is not None and keys.size > SERIAL and runs_loops([keys, weights], backend):
            weights = values_in_buckets(keys, weights, digit_of, backend)
        else:
            places = sort_bits(keys, True, False, keys.size, backend, most=counts.size - 1)
            weights = take_few(weights, places, backend)
    if isinstance(counts, np.ndarray):
        starts = np.zeros(counts.size + 1, np.int64)
        counts.cumsum(out=starts[1:])
    else:
        starts = joined([zeros_beside(counts, (1,), i64), cumsum(counts, backend=backend)])
    return segmented_reduce(weights, starts, backend=backend)


@lru_cache(maxsize=64)
def _sum_numbers(reduction: Reduction) -> Program:
    """The sums of the elements of each number, by one invocation.

    It counts the numbers, and so finds a place for the lanes of each: those of its first block, of the next, and so on.
    The element that begins a lane is stored there, and the others are added one after another.
    """
    with program("sum_numbers", 1) as p:
        keys, ((values,), _) = p.read("keys", u32), reduction.sources(p)
        p.read("slots", bool_)
        sums = p.write("sums", reduction.state[0], LengthOf("slots"))
        counts, firsts = (p.scratch(name, u32, like=sums) for name in ("counts", "firsts"))
        lanes = p.scratch("lanes", sums.dtype, LengthOf("keys"))
        with p.range(keys.length) as k:
            number = p.let(keys[k])
            counts[number] = counts[number] + 1
        before = p.var(0, u32)
        with p.range(sums.length) as number:
            count = p.let(counts[number])
            firsts[number], counts[number] = before, 0
            before += count // BLOCK * LANES + least(count % BLOCK, LANES)
        with p.range(keys.length) as k:
            number = p.let(keys[k])
            index = p.let(counts[number])
            counts[number] = index + 1
            place = p.let(firsts[number] + index // BLOCK * LANES + index % LANES)
            (element,) = reduction.leaf([values[k]], k)
            (added,) = reduction.combine((lanes[place],), (element,))
            lanes[place] = select(index % BLOCK < LANES, element, added)
        many, found = p.scratch("many", u32, LengthOf("keys", over=IN_VARIABLES + 1)), p.var(0, u32)
        with p.range(sums.length) as number:
            count, first = p.let(counts[number]), p.let(firsts[number])
            few = [(select(n < count, lanes[first + n], *reduction.identity),) for n in range(IN_VARIABLES)]
            (total,) = halved(p, reduction, few)
            sums[number] = select(count == 0, constant(sums.dtype, 0), total)
            with p.if_(count > IN_VARIABLES):
                many[found] = number
                found += 1
        # Of those that have more lanes, the ones of more than a block are put at the front.
        long = p.var(0, u32)
        with p.range(least(found, many.length)) as n:
            number = p.let(many[n])
            count, first = p.let(counts[number]), p.let(firsts[number])
            _halve(p, reduction, lanes, first, least(count, LANES))
            sums[number] = lanes[first]
            with p.if_(count > BLOCK):
                many[long] = number
                long += 1
        with p.range(least(long, keys.length // BLOCK)) as n:
            number = p.let(many[n])
            count, first = p.let(counts[number]), p.let(firsts[number])
            blocks = p.let(least((count + (BLOCK - 1)) // BLOCK, LANES))
            with p.range(1, blocks) as block:
                begin = p.let(first + block * LANES)
                _halve(p, reduction, lanes, begin, least(count - block * BLOCK, LANES))
                lanes[first + block] = lanes[begin]
            _halve(p, reduction, lanes, first, blocks)
            sums[number] = lanes[first]
    return p.build()


def _halve(p: ProgramBuilder, reduction: Reduction, lanes: Buffer, first: Value, number: Value) -> None:
    """Combine some lanes by halves. The result is in the first."""
    left = p.var(number)
    for half in (32, 16, 8, 4, 2, 1):
        with p.range(least(sub_sat(left.get(), half), half)) as n:
            (lanes[first + n],) = reduction.combine((lanes[first + n],), (lanes[first + half + n],))
        left.set(least(left, half))
