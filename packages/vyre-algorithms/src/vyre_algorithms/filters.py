"""Filters: correlations, convolutions and stencils over arrays with any number of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import (
    MOST,
    Array,
    Backend,
    array_of,
    called,
    contiguous,
    flattened,
    function,
    of_kind,
    type_of,
)
from vyre_algorithms.launches import flipped, launch, rounded, slots_beside, zeros_beside
from vyre_algorithms.traced import TracedFunction
from vyre_driver.errors import InvalidInput
from vyre_foundation import DType, Program, ProgramBuilder, Value, constant, program, select
from vyre_foundation.build.arguments import number, shown
from vyre_foundation.dtype import bool_, f32, u32
from vyre_foundation.errors import LiteralOutOfRange
from vyre_foundation.functions import fma, max as greatest, min as least
from vyre_foundation.ir.expr import Literal, literal

GROUP, LONG_GROUP = 64, 256
"""Invocations of a workgroup. Axes of at least `LONG_GROUP` elements have long ones, of which fewer lie at a border."""
NARROW = 32
"""Elements of the last axis, of which there are fewer than a workgroup needs along it."""
MIRRORS = {"reflect": 0, "symmetric": 1}
"""How often mirrors repeat the last element."""
BOUNDARIES = ("edge", "wrap", *MIRRORS)
UPDATE = "lambda at: at(0) + at(1)"

Stencil = Callable[[Callable[..., Value]], Value]
"""The element of a result, from a function that gives the element of the array at a distance."""


def correlate(x: object, weights: object, /, mode: str = "valid", *, backend: Backend = None) -> Array:
    """Correlate an array with weights: add the products at each position.

    An element starts at 0, and the products are added in the row-major order of the elements of `x`, for floats by a
    fused multiply-add, which rounds once. f16 and bf16 are added in f32 and rounded at the end. Positions outside of
    `x` contribute nothing.

    Args:
        x: An array of integers or floats, with any number of axes from 1. Integers wrap.
        weights: An array of the same type, with as many axes, and elements.
        mode: The places: "valid" for those where all weights are inside of `x`, "same" for a result in the shape of
            `x`, "full" for all where one weight is inside; as in `scipy.signal.correlate`.
        backend: As for `vyre.run`.

    Returns:
        An array of the type of `x`.

    Raises:
        InvalidInput: The arrays do not fit each other, or an argument is invalid.
    """
    return _filtered(x, weights, mode, backend, is_reversed=False)


def convolve(x: object, weights: object, /, mode: str = "full", *, backend: Backend = None) -> Array:
    """Convolve an array with weights: `correlate` with the weights in reverse order along every axis.

    Args:
        x: As for `correlate`.
        weights: As for `correlate`.
        mode: As for `correlate`.
        backend: As for `vyre.run`.

    Returns:
        As `correlate`, with the same order of operations.

    Raises:
        InvalidInput: The arrays do not fit each other, or an argument is invalid.
    """
    return _filtered(x, weights, mode, backend, is_reversed=True)


def stencil(x: object, /, update: Stencil, *, boundary: str | float = "edge", backend: Backend = None) -> Array:
    """Compute each element from its neighbours.

    Args:
        x: An array of any type, with any number of axes from 1.
        update: A function that gives the new element. It is passed a function ``at`` of one distance for each axis:
            ``lambda at: 0.25 * (at(0, 1) + at(0, -1) + at(1, 0) + at(-1, 0))``. The operations are done in the order
            that it states.
        boundary: What is outside of `x`, as in `numpy.pad`: "edge" for the nearest element, "wrap" for the one at the
            other end, "reflect" for the mirror image about the last element, "symmetric" for that about its far side,
            which repeats the last element; or a number.
        backend: As for `vyre.run`.

    Returns:
        An array in the shape of `x`, of the type that `update` gives.

    Raises:
        InvalidInput: `update` names other axes, or an argument is invalid.
    """
    array = contiguous(array_of(x))
    traced = function(update, "update", UPDATE)
    if not array.ndim:
        raise InvalidInput("x", needed="an array with an axis", got="a scalar", fix="pass .reshape(1)")
    kind = type_of(array)
    made = _stencil(traced, kind, array.ndim, _boundary(boundary, kind))
    if not array.size:
        return zeros_beside(array, array.shape, made.buffer("out").dtype)
    given = {"x": array.reshape(-1), "shape": np.array(array.shape, np.uint32)}
    return launch(made, given, -(-array.size // GROUP), backend)["out"].reshape(array.shape)


def _boundary(given: object, kind: DType) -> str | Literal:
    """What is outside of an array of a type. Literals of −0 and +0 differ, as keys of caches too."""
    if isinstance(given, str) and given in BOUNDARIES:
        return given
    value = number(given)
    if value is None:
        needed = f"{', '.join(map(repr, BOUNDARIES))} or a number of {kind}"
        raise InvalidInput("boundary", needed=needed, got=shown(given), fix="pass one of them")
    try:
        return literal(kind, value)
    except LiteralOutOfRange as error:
        raise InvalidInput("boundary", needed=f"a number of {kind}", got=shown(value), fix=error.fix) from None


def _filtered(x: object, weights: object, mode: str, backend: Backend, *, is_reversed: bool) -> Array:
    array, kernel = contiguous(array_of(x)), array_of(weights, "weights")
    kind = of_kind(array, "iuf", "integers or floats")
    if not array.ndim:
        raise InvalidInput("x", needed="an array with an axis", got="a scalar", fix="pass .reshape(1)")
    other = type_of(kernel, "weights")
    if other is not kind or kernel.ndim != array.ndim:
        axes = "one axis" if array.ndim == 1 else f"{array.ndim} axes"
        needed, got = f"an array of {kind} with {axes}", f"{other} {kernel.shape}"
        raise InvalidInput("weights", needed=needed, got=got, fix="reshape or convert one of the arrays")
    if not kernel.size:
        got, fix = f"none, in the shape {kernel.shape}", "pass an array with elements"
        raise InvalidInput("weights", needed="at least one weight", got=got, fix=fix)
    if mode not in ("valid", "same", "full"):
        raise InvalidInput("mode", needed="'valid', 'same' or 'full'", got=repr(mode), fix="pass one of them")
    if is_reversed:
        kernel = flipped(kernel)
    pairs = list(zip(array.shape, kernel.shape, strict=True))
    match mode:
        case "valid":
            shape, before = [a - w + 1 for a, w in pairs], [0] * array.ndim
            if min(shape) < 1:
                needed, fix = f"at most {array.shape} weights", "use the mode 'same' or 'full'"
                raise InvalidInput("weights", needed=needed, got=f"{kernel.shape}", fix=fix)
        case "same":
            shape, before = list(array.shape), [w - 1 - (w - 1) // 2 for _, w in pairs]
        case _:
            shape, before = [a + w - 1 if a else 0 for a, w in pairs], [w - 1 for _, w in pairs]
    size = math.prod(shape)
    if not size or not array.size:
        return zeros_beside(array, shape, kind)
    given = {
        "x": array.reshape(-1),
        "weights": flattened(kernel),
        "shapes": np.array([array.shape, kernel.shape, shape, before], np.uint32).reshape(-1),
        "slots": slots_beside(array, size),
    }
    lanes = array.ndim - 1 if shape[-1] >= NARROW else shape.index(max(shape))
    group = LONG_GROUP if shape[lanes] >= LONG_GROUP else GROUP
    grid = size // shape[lanes] * -(-shape[lanes] // group)
    found = launch(_correlation(kind, array.ndim, lanes, group), given, grid, backend)["out"]
    return rounded(found, kind, backend).reshape(tuple(shape))


@lru_cache(maxsize=64)
def _correlation(kind: DType, ndim: int, lanes: int, group: int) -> Program:
    """An element of the result for each invocation; those of a workgroup follow each other on the axis `lanes`.

    All of them take the same weights in the same turn: first those that are inside of the array for some of them, then
    those that are for all, and again those that are for some. No other loop runs over weights that are outside.
    """
    state = f32 if kind.is_float and kind.bits == 16 else kind
    with program("correlate", group) as p:
        x, weights = p.read("x", kind), p.read("weights", kind)
        shapes, slots = p.uniform("shapes", u32, 4 * ndim), p.read("slots", bool_)
        out = p.write("out", state, like=slots)
        lengths, widths, sizes, before = ([p.let(shapes[n * ndim + axis]) for axis in range(ndim)] for n in range(4))
        tiles = p.let((sizes[lanes] + (group - 1)) // group)
        begin = p.let(p.workgroup_id(0) % tiles * group)
        end = p.let(least(begin + (group - 1), sizes[lanes] - 1))
        place = _coordinates(p, p.workgroup_id(0) // tiles, sizes[:lanes] + sizes[lanes + 1 :])
        place.insert(lanes, p.let(begin + p.local_id(0)))
        total = p.var(0, state)

        def bounds(axis: int, at: Value) -> tuple[Value, Value]:
            """The weights inside of the array at a place, which is where the first is and may be before the array."""
            skipped = before[axis]
            first = p.let(select(at < skipped, skipped - at, constant(u32, 0)))
            return first, p.let(least(least(widths[axis], weights.length), lengths[axis] + skipped - at))

        def add_products(axis: int, of_x: Value, of_weights: Value, is_inside: Value | None) -> None:
            if axis == ndim:
                a, w = x[of_x], weights[of_weights]
                if state is not kind:
                    a, w = a.cast(state), w.cast(state)
                after = fma(a, w, total.get()) if state.is_float else total.get() + a * w
                total.set(after if is_inside is None else select(is_inside, after, total.get()))
                return

            def add(first: Value, last: Value, is_border: bool = False) -> None:
                with p.range(first, last) as k:
                    there = p.let(place[axis] + k - before[axis])
                    inner = p.let(of_x * lengths[axis] + there), p.let(of_weights * widths[axis] + k)
                    add_products(axis + 1, *inner, p.let(there < lengths[axis]) if is_border else is_inside)

            if axis != lanes:
                add(*bounds(axis, place[axis]))
                return
            (all_first, some_last), (some_first, all_last) = bounds(axis, begin), bounds(axis, end)
            add(some_first, least(all_first, some_last), is_border=True)
            add(all_first, all_last)
            add(p.let(greatest(all_first, all_last)), some_last, is_border=True)

        add_products(0, constant(u32, 0), constant(u32, 0), None)
        with p.if_(place[lanes] < sizes[lanes]):
            index = place[0]
            for axis in range(1, ndim):
                index = index * sizes[axis] + place[axis]
            out[index] = total
    return p.build()


@lru_cache(maxsize=64)
def _stencil(update: TracedFunction, kind: DType, ndim: int, boundary: str | Literal) -> Program:
    with program("stencil", GROUP) as p:
        x, shape = p.read("x", kind), p.uniform("shape", u32, ndim)
        lengths = [p.let(shape[axis]) for axis in range(ndim)]
        place = _coordinates(p, p.global_id(0), lengths)

        def at(*distances: int) -> Value:
            is_number = all(isinstance(distance, int) for distance in distances)
            if len(distances) != ndim or not is_number or max(map(abs, distances)) >= MOST:
                needed = f"{ndim} integer{'s, one for each axis' if ndim > 1 else ''}, between ±{MOST}"
                raise InvalidInput("at", needed=needed, got=f"{distances}", fix="call at() with literal distances")
            index, is_inside = constant(u32, 0), constant(bool_, True)
            for own, length, distance in zip(place, lengths, distances, strict=True):
                # Unsigned, where the sum of an index and a distance does not overflow.
                far = constant(u32, abs(distance))
                if boundary == "wrap":
                    step = p.let(far % length if distance >= 0 else length - far % length)
                    moved = p.let(own + step)
                    moved = select(moved < length, moved, moved - length)
                elif boundary in MIRRORS:
                    moved = _mirrored(p, own, length, distance, MIRRORS[boundary])
                elif distance >= 0:
                    moved = p.let(own + far)
                    if boundary == "edge":
                        moved = least(moved, length - 1)
                    elif distance:
                        is_inside = is_inside & (moved < length)
                else:
                    moved = p.let(own - far)
                    if boundary == "edge":
                        moved = select(own < far, constant(u32, 0), moved)
                    else:
                        is_inside = is_inside & (own >= far)
                index = p.let(index * length + moved)
            if isinstance(boundary, str):
                return p.let(x[index])
            return p.let(select(is_inside, x[index], Value(boundary)))

        found = called(update, "update", UPDATE, at)
        if not isinstance(found, Value):
            got = f"one that gives {type(found).__name__}"
            raise InvalidInput("update", needed="a function that gives a value", got=got, fix=f"pass {UPDATE}")
        found = p.let(found)
        out = p.write("out", found.dtype, like=x)
        out[p.global_id(0)] = found
    return p.build()


def _mirrored(p: ProgramBuilder, own: Value, length: Value, distance: int, repeated: int) -> Value:
    """The place at a distance from `own` on an axis with mirrors at both ends; `repeated`: 1 if they repeat the end.

    A distance beyond the length is one in the other direction, so that no sum overflows.
    """
    period = p.let((length - (1 - repeated)) * 2)
    rest = p.let(constant(u32, abs(distance)) % greatest(period, 1))
    is_short = p.let(rest < length)
    step = p.let(select(is_short, rest, period - rest))
    ahead = p.let(own + step)
    ahead = select(ahead < length, ahead, period - repeated - ahead)
    behind = select(own < step, step - own - repeated, own - step)
    return select(is_short, *((ahead, behind) if distance >= 0 else (behind, ahead)))


def _coordinates(p: ProgramBuilder, number: Value, lengths: Sequence[Value]) -> list[Value]:
    """The index on each axis of the element with this number in row-major order."""
    found: list[Value] = []
    rest = number
    for length in reversed(lengths[1:]):
        found.append(p.let(rest % length))
        rest = p.let(rest // length)
    return [rest, *reversed(found)]
