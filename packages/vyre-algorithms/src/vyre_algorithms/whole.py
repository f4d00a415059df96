"""Whether elements are 0, and where the extreme ones are: reductions whose result does not depend on an order.

Where a worker runs the invocations of a workgroup one after the other, they take less time than those of the fixed
tree: a test ends at the first element that decides it, and the index of an extreme element is looked for in the one
block that has it. The results are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from vyre_algorithms.arguments import Array, Backend, type_of
from vyre_algorithms.launches import launch, words
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.order import bits_of, bits_type
from vyre_algorithms.tree import BLOCK, reduce_blocks
from vyre_foundation import DType, Program, ProgramBuilder, Value, program, select, u32
from vyre_foundation.dtype import bool_, i64
from vyre_foundation.functions import eq, gt, is_nan, lt, min as least, ne

CHUNK = 1 << 15
"""Elements that one invocation tests."""
LOOK = 1 << 8
"""Elements after which it looks whether one has decided."""


def holds(operation: str, array: Array, backend: Backend) -> Array:
    """The result of "any" or "all" of a sequence, which has more than a block: an array of one bool."""
    dtype = type_of(array)
    given = {"x": bits_of(array, dtype), "holds": words(operation == "all")}
    found = launch(_test(operation, dtype), given, -(-array.size // CHUNK), backend)["holds"]
    return found.view(bool_.numpy)[:1]  # the lowest byte of a word


def place(operation: str, array: Array, backend: Backend) -> Array:
    """The result of "argmin" or "argmax" of a sequence, which has more than a block: an array of one i64."""
    dtype = type_of(array)
    (extremes,) = reduce_blocks(reduction_of(operation.removeprefix("arg"), dtype, dtype), [array], backend)
    return launch(_locate(operation, dtype), {"x": array, "extremes": extremes}, 1, backend)["place"]


@lru_cache(maxsize=64)
def _test(operation: str, dtype: DType) -> Program:
    """Each invocation tests a chunk, unless another one has found an element that decides."""
    decided = operation == "any"
    with program(f"test_{operation}", 1) as p:
        x, holds = p.read("x", bits_type(dtype)), p.read_write("holds", u32)
        first = p.let(p.global_id(0) * CHUNK)
        last = p.let(least(first + CHUNK, x.length))

        def decides(index: Value) -> Value:
            bits = x[index] << 1 if dtype.is_float else x[index]  # −0 is 0
            return ne(bits, 0) if decided else eq(bits, 0)

        with p.if_(holds.atomic_or(0, 0) != decided):
            index = _first_where(p, first, last, CHUNK, x.dtype, decides)
            with p.if_(index < last):
                holds.atomic_exchange(0, int(decided))
    return p.build()


@lru_cache(maxsize=64)
def _locate(operation: str, dtype: DType) -> Program:
    """The index of the first element that is the extreme one, from the extremes of the blocks."""
    beats = lt if operation == "argmin" else gt
    with program(f"locate_{operation}", 1) as p:
        x, extremes, index = p.read("x", dtype), p.read("extremes", dtype), p.write("place", i64, 1)
        extreme, block = p.var(_ordered(extremes[0])), p.var(0, u32)
        with p.range(1, extremes.length) as n:
            other = p.let(_ordered(extremes[n]))
            is_better = beats(other, extreme.get())
            if dtype.is_float:
                is_better = (is_better | is_nan(other)) & ~is_nan(extreme.get())
            is_better = p.let(is_better)
            extreme.set(select(is_better, other, extreme.get()))
            block.set(select(is_better, n, block.get()))
        first = p.let(block * BLOCK)

        def is_extreme(at: Value) -> Value:
            element = _ordered(x[at])
            found = eq(element, extreme.get())
            return found | is_nan(element) & is_nan(extreme.get()) if dtype.is_float else found

        found = _first_where(p, first, p.let(least(first + BLOCK, x.length)), BLOCK, dtype, is_extreme)
        index[0] = found.cast(i64)
    return p.build()


def _ordered(element: Value) -> Value:
    """An element as a value that can be compared: bools are not ordered."""
    return element.cast(u32) if element.dtype is bool_ else element


def _first_where(
    p: ProgramBuilder, first: Value, last: Value, most: int, dtype: DType, test: Callable[[Value], Value]
) -> Value:
    """The first index for which a test holds, or `last`, which is at most `most` behind `first`.

    The test is applied to `LOOK` elements at once, and to each of them only if it holds for one. Its results are as
    wide as the elements, of `dtype`, so that a vector has as many of both.
    """
    part, index, lanes = p.var(first), p.var(last), u32 if dtype is bool_ else dtype.unsigned
    with p.range(first, first + least(last - first, most) // LOOK * LOOK, LOOK) as begin:
        hits = p.var(0, lanes)
        with p.range(LOOK) as n:
            hits |= test(begin + n).cast(lanes)
        with p.if_(hits != 0):
            p.break_()
        part.set(begin + LOOK)
    rest = p.let(part.get())
    with p.range(rest, least(rest + LOOK, last)) as k, p.if_(test(k)):
        index.set(k)
        p.break_()
    return index.get()
