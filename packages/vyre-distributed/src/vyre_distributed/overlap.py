"""Programs over chunks with halos: one task for each chunk, and one that gives its neighbours their faces of it.

A face is the first or the last elements along one axis. What a diagonal neighbour needs is a part of a face, so that
the number of tasks does not depend on that of neighbours. What is beyond the ends of the array is made in the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import dask.array as da
import numpy as np
from dask.array.overlap import ensure_minimum_chunksize
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from vyre_algorithms.arguments import array_of
from vyre_distributed.mapped import Array, ChunkProgram, over_chunks, program_of, require_sizes, shown_depth
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_driver.plan.programs import HasProgram, defaults_of
from vyre_foundation.ir.program import Program

RULES = ("reflect", "nearest", "periodic", "none")
"""What may be beyond the ends of an axis, beside a number."""

Direction: TypeAlias = tuple[int, ...]
"""From a chunk to a neighbour: -1, 0 or 1 for each axis."""
Ends: TypeAlias = tuple[tuple[bool, bool], ...]
"""Whether the first and the last elements of a chunk are those of the array, by axis."""
Faces: TypeAlias = dict[tuple[int, int], Array]
"""The first (-1) and the last (1) elements of a chunk along an axis, by axis and side."""


def map_overlap(
    program: Program | HasProgram, *arrays: Any, depth: int | Mapping[int, int], boundary: Any = "none", steps: int = 1
) -> da.Array:
    """Run a program over each chunk with a halo of its neighbours.

    Indices and lengths in the program are those of a chunk with its halo. So its result is that of a call over the
    whole array if it reads no further than the halo, and needs its indices and lengths only to find elements, and to
    test for ends that are no further away.

    Args:
        program: A program or a kernel with one output, of the shape of its chunked inputs.
        *arrays: As for `map_blocks`.
        depth: The width of the halo in elements, for all axes or by axis.
        boundary: What is beyond the ends of the array: ``"none"``, so that the chunks there have no halo on that side,
            and the program meets the ends as in a call over the whole array; or, as for `dask.array.map_overlap`, a
            number, ``"reflect"``, ``"nearest"`` or ``"periodic"``. A mapping has one for each axis, and ``"none"`` for
            the others.
        steps: How often to run the program, with what it gives in place of the first chunked array. The result is that
            of as many calls. A task computes all steps of a chunk with a halo of `depth` times `steps` elements of its
            neighbours, so that data moves once.

    Returns:
        An array of the type of the output and the shape of the first chunked array. Launches compute the halo, too, and
        that part is dropped. Chunks that are narrower than the halo are joined with others.

    Raises:
        InvalidInput: An array, which the error names, is missing, or of another type or shape; or an axis is shorter
            than the halo, or the depth, the boundary or the number of steps is not one; or the program reads further
            than the depth, where its indices are ids and known numbers.
        InvalidLaunch: The program has no output, or several; or several steps are wanted of a program whose output is
            not of the type of its first chunked array. Computing the result raises it if the output has another shape.
    """
    runnable = program_of(program)
    task, inputs = over_chunks(runnable, arrays, defaults_of(program))
    first, dtype = inputs[0], runnable.outputs[0].dtype.numpy
    require_sizes(first, task.names[0])
    if type(steps) is not int or steps < 1:
        raise InvalidInput("steps", needed="a number of at least 1", got=repr(steps), fix="pass how often to run it")
    if steps > 1 and first.dtype != dtype:
        got, fix = f"{runnable.outputs[0].dtype}", "take one step at a time"
        raise InvalidLaunch("output", needed=f"the type of {task.names[0]!r} for several steps", got=got, fix=fix)
    halos = _halos(first, depth, boundary, steps)
    chunks = tuple(_wide_enough(halo, sizes) for halo, sizes in zip(halos, first.chunks, strict=True))
    _require_depth(halos, task.neighbours(runnable, first.ndim), [len(sizes) for sizes in chunks])
    wide = [array.rechunk(chunks) for array in inputs]
    over = OverlapProgram(task, halos, steps)
    token = tokenize(over, *[array.name for array in wide])
    name = f"{runnable.name}-{token}"
    graph = HighLevelGraph.from_collections(name, _tasks(over, wide, name, f"faces-{token}"), dependencies=wide)
    return da.Array(graph, name, chunks, dtype=dtype, meta=np.empty((0,) * first.ndim, dtype))


# ── what is built ──


@dataclass(frozen=True, slots=True)
class Halo:
    """The halo of an axis.

    Attributes:
        depth: How far a step reads, and the width of what is beyond an end of the array.
        width: The width of what is from a neighbour.
        beyond: What is beyond the ends: one of `RULES`, or a number.
    """

    depth: int
    width: int
    beyond: Any

    @property
    def is_periodic(self) -> bool:
        """Whether the last chunk is a neighbour of the first."""
        return isinstance(self.beyond, str) and self.beyond == "periodic"

    @property
    def has_end(self) -> bool:
        """Whether chunks at the ends have a halo there."""
        return not isinstance(self.beyond, str) or self.beyond != "none"


def _halos(x: da.Array, depth: Any, boundary: Any, steps: int) -> tuple[Halo, ...]:
    depths = _by_axis("depth", depth, x.ndim, 0)
    rules = _by_axis("boundary", boundary, x.ndim, "none")
    found = []
    for axis, (width, rule) in enumerate(zip(depths, rules, strict=True)):
        if not isinstance(width, (int, np.integer)) or width < 0:
            needed, fix = "a number of elements for each axis", "pass one number from 0, or one for each axis"
            raise InvalidInput("depth", needed=needed, got=repr(width), fix=fix)
        if width > x.shape[axis]:
            got, fix = f"{width}, of {x.shape[axis]} elements of axis {axis}", "use a smaller depth for this axis"
            raise InvalidInput("depth", needed="at most the length of the axis", got=got, fix=fix)
        found.append(Halo(int(width), int(width) * steps, _rule(rule, x.dtype)))
    return tuple(found)


def _require_depth(halos: Sequence[Halo], distances: Mapping[str, Sequence[int]], numbers: Sequence[int]) -> None:
    """Refuse a depth below what the program is known to read beside its own element."""
    for name, wanted in distances.items():
        for axis, (halo, distance, count) in enumerate(zip(halos, wanted, numbers, strict=True)):
            if distance > halo.depth and (count > 1 or (halo.depth and halo.has_end)):
                needed = f"at least {distance} along axis {axis}, as the program reads {name!r} that far away"
                fix = f"pass depth={shown_depth([max(h.depth, n) for h, n in zip(halos, wanted, strict=True)])}"
                raise InvalidInput("depth", needed=needed, got=f"{halo.depth}", fix=fix)


def _by_axis(name: str, given: Any, ndim: int, other: Any) -> list[Any]:
    """The value of each axis; `other` for those that a mapping has not."""
    if isinstance(given, (tuple, list)):
        given = dict(enumerate(given))
    if not isinstance(given, Mapping):
        return [given] * ndim
    axes = {axis + ndim if axis < 0 else axis: value for axis, value in given.items()}
    if axes and not 0 <= min(axes) <= max(axes) < ndim:
        fix = "name axes of the first chunked array"
        raise InvalidInput(name, needed=f"axes below {ndim}", got=f"{sorted(given)}", fix=fix)
    return [axes.get(axis, other) for axis in range(ndim)]


def _rule(given: Any, dtype: np.dtype[Any]) -> Any:
    needed, fix = f"a number of {dtype}, or one of {', '.join(RULES)}", "pass one of these"
    if isinstance(given, str):
        if given not in RULES:
            raise InvalidInput("boundary", needed=needed, got=repr(given), fix=fix)
        return given
    try:
        return np.array(given, dtype).reshape(())[()]  # `full` of NumPy 2.0 wraps
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput("boundary", needed=needed, got=repr(given), fix=fix) from error


def _wide_enough(halo: Halo, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Chunks of an axis that are at least as wide as the halo that their neighbours need."""
    if halo.width <= sum(sizes):
        wide: tuple[int, ...] = ensure_minimum_chunksize(halo.width, sizes)
        return wide
    if halo.is_periodic:
        got, fix = f"{halo.width} of {sum(sizes)} elements", "take fewer steps in one call"
        raise InvalidInput("steps", needed="a halo of at most a period", got=got, fix=fix)
    return (sum(sizes),)


def _tasks(over: OverlapProgram, arrays: Sequence[da.Array], name: str, face: str) -> dict[Any, Any]:
    """A task for each chunk of the result, and one for the faces of each chunk of an input that has neighbours."""
    numbers = arrays[0].numblocks
    widths = tuple(
        halo.width if count > 1 or halo.is_periodic else 0 for halo, count in zip(over.halos, numbers, strict=True)
    )
    tasks: dict[Any, Any] = {}
    for block in product(*map(range, numbers)):
        ends = tuple(
            (not halo.is_periodic and place == 0, not halo.is_periodic and place == count - 1)
            for halo, place, count in zip(over.halos, block, numbers, strict=True)
        )
        near = [
            tuple((place + step) % count for place, step, count in zip(block, direction, numbers, strict=True))
            for direction in directions(over.halos, ends)
        ]
        chunks = [(array.name, *block) for array in arrays]
        faces = [[(face, number, *other) for other in near] for number in range(len(arrays))]
        tasks[(name, *block)] = (over, ends, chunks, faces)
        if any(widths):
            tasks |= {(face, number, *block): (faces_of, chunk, widths) for number, chunk in enumerate(chunks)}
    return tasks


def directions(halos: Sequence[Halo], ends: Ends) -> Iterator[Direction]:
    """The directions in which a chunk has neighbours that it needs."""
    steps = [
        [step for step, is_end in ((-1, first), (0, False), (1, last)) if not (is_end or (step and not halo.width))]
        for halo, (first, last) in zip(halos, ends, strict=True)
    ]
    return (direction for direction in product(*steps) if any(direction))


# ── what runs on workers ──


def faces_of(chunk: Array, widths: Sequence[int]) -> Faces:
    """Copies of the outermost elements of a chunk along each axis with a width that is not 0."""
    return {
        (axis, side): chunk[_along(axis, slice(width) if side < 0 else slice(chunk.shape[axis] - width, None))].copy()
        for axis, width in enumerate(widths)
        if width
        for side in (-1, 1)
    }


@dataclass(frozen=True, slots=True)
class OverlapProgram:
    """A program that a task runs over chunks with their halos."""

    program: ChunkProgram
    halos: tuple[Halo, ...]
    steps: int

    def __call__(self, ends: Ends, chunks: Sequence[Array], faces: Sequence[Sequence[Faces]]) -> Array:
        """Run it over one chunk of each array, beside the faces of its neighbours in the order of `directions`."""
        chunks = [array_of(chunk, name) for name, chunk in zip(self.program.names, chunks, strict=True)]
        pads = [
            tuple(halo.width if not is_end else halo.depth if halo.has_end else 0 for is_end in sides)
            for halo, sides in zip(self.halos, ends, strict=True)
        ]
        inner = tuple(slice(low, low + size) for (low, _), size in zip(pads, chunks[0].shape, strict=True))
        padded = [self._padded(chunk, ends, pads, near) for chunk, near in zip(chunks, faces, strict=True)]
        for array in padded:
            self._fill_ends(array, ends)
        for step in range(self.steps):
            if step:
                self._fill_ends(padded[0], ends)
            found = self.program(*padded)
            if found.shape != padded[0].shape:
                fix = "declare it like the input, or with the shape of the input"
                raise InvalidLaunch("output", needed=f"the shape {padded[0].shape}", got=f"{found.shape}", fix=fix)
            padded[0] = found
        return found[inner]

    def _padded(self, chunk: Array, ends: Ends, pads: Sequence[tuple[int, ...]], near: Sequence[Faces]) -> Array:
        """A chunk with the parts of its neighbours, and with room for what is beyond the ends."""
        shape = [size + low + high for size, (low, high) in zip(chunk.shape, pads, strict=True)]
        padded = np.empty(shape, chunk.dtype)
        padded[tuple(slice(low, low + size) for (low, _), size in zip(pads, chunk.shape, strict=True))] = chunk
        for direction, faces in zip(directions(self.halos, ends), near, strict=True):
            axis = next(axis for axis, step in enumerate(direction) if step)
            source, target = [], []
            for step, halo, (low, _), size in zip(direction, self.halos, pads, chunk.shape, strict=True):
                source.append({-1: slice(-halo.width, None), 0: slice(None), 1: slice(halo.width)}[step])
                target.append({-1: slice(low), 0: slice(low, low + size), 1: slice(low + size, None)}[step])
            padded[tuple(target)] = faces[axis, -direction[axis]][tuple(source)]
        return padded

    def _fill_ends(self, padded: Array, ends: Ends) -> None:
        """Set what is beyond the ends of the array, axis by axis: a later one decides what is in a corner."""
        for axis, (halo, (first, last)) in enumerate(zip(self.halos, ends, strict=True)):
            if not halo.depth or not halo.has_end:
                continue
            lines = np.moveaxis(padded, axis, 0)
            for is_end, side in ((first, lines), (last, lines[::-1])):
                if not is_end:
                    continue
                if not isinstance(halo.beyond, str):
                    side[: halo.depth] = halo.beyond
                elif halo.beyond == "nearest":
                    side[: halo.depth] = side[halo.depth]
                else:
                    side[: halo.depth] = side[halo.depth : 2 * halo.depth][::-1]


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, part)
