"""Programs over the chunks of arrays: `dask.array` in, `dask.array` out, lazily."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import dask.array as da
import numpy as np
import numpy.typing as npt

from vyre_algorithms.arguments import array_of
from vyre_distributed.neighbours import neighbours
from vyre_distributed.worker import decoded, local_backend
from vyre_driver.arrays.make import imported
from vyre_driver.backend.config import DEFAULT_CONFIG
from vyre_driver.backend.typed import number_bytes
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_driver.plan.axes import given_shapes, shaped_launch
from vyre_driver.plan.launch import validated
from vyre_driver.plan.programs import HasProgram, defaults_of, required_program
from vyre_foundation.build.arguments import fix_of_elements, number, shown_type
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE, Shapes
from vyre_foundation.wire import decode

Array = npt.NDArray[Any]


def map_blocks(
    program: Program | HasProgram, *arrays: Any, chunks: Any = None, drop_axis: Any = None, new_axis: Any = None
) -> da.Array:
    """Run a program over each chunk. Indices and lengths in the program are those of the chunk.

    Args:
        program: A program or a kernel with one output.
        *arrays: One for each input, in binding order. Of a `dask.array` each launch gets one chunk; arrays of one shape
            get the chunks of the first. A NumPy array, or a number, goes whole to every launch. If buffers are declared
            with shapes, chunks have these shapes, and give the grid of their launch.
        chunks: The chunks of the result, where they are not those of the first chunked array.
        drop_axis: An axis, or axes, that the result does not have, as for `dask.array.map_blocks`.
        new_axis: Axes that it has beside, likewise.

    Returns:
        An array of the type of the output. Nothing runs until it is computed.

    Raises:
        InvalidInput: An array, which the error names, is missing, or of another type or shape; or the program reads
            elements beside its own, and an axis has several chunks.
        InvalidLaunch: The program has no output, or several, or its output has another number of axes.
    """
    runnable = program_of(program)
    task, inputs = over_chunks(runnable, arrays, defaults_of(program))
    _require_whole_axes(runnable, task, inputs[0])
    output = runnable.outputs[0]
    dtype, dropped = output.dtype.numpy, [] if drop_axis is None else list(np.atleast_1d(drop_axis))
    found: da.Array = da.map_blocks(
        task, *inputs, chunks=chunks, drop_axis=dropped, new_axis=new_axis, token=runnable.name,
        dtype=dtype, meta=np.empty(0, dtype),
    )  # fmt: skip
    axes = None if runnable.shapes is None else runnable.shapes.buffers.get(output.name)
    if axes is not None and len(axes) != found.ndim:
        needed, got = f"{found.ndim} axes, as the chunks have", f"{len(axes)}"
        fix = "say which axes differ, as in drop_axis=1 for one that the output does not have, or new_axis=0"
        raise InvalidLaunch(output.name, needed=needed, got=got, fix=fix)
    return found


# ── what is built ──


def program_of(given: Program | HasProgram) -> Program:
    """A program, or that of a kernel, with one output."""
    program = required_program(given)
    validated(program)
    if len(program.outputs) != 1:
        names = ", ".join(buffer.name for buffer in program.outputs) or "none"
        got, fix = f"{len(program.outputs)} ({names})", "map one program for each output"
        raise InvalidLaunch("output", needed="a program with one output", got=got, fix=fix)
    return program


def over_chunks(
    program: Program, arrays: Sequence[Any], defaults: Mapping[str, object]
) -> tuple[ChunkProgram, list[da.Array]]:
    """The program as a task, and the chunked arrays whose chunks it takes, in the chunks of the first.

    Inputs behind those that `arrays` has may be among the `defaults`.
    """
    added = () if program.shapes is None else (LAUNCH_SHAPE, *program.shapes.zeros)
    inputs = [buffer for buffer in program.inputs if buffer.name not in added]
    arrays = [*arrays, *(defaults[buffer.name] for buffer in inputs[len(arrays) :] if buffer.name in defaults)]
    if len(arrays) != len(inputs):
        names = ", ".join(buffer.name for buffer in inputs)
        needed, fix = f"{len(inputs)} arrays in binding order", "pass one for each of them"
        raise InvalidInput(names, needed=needed, got=f"{len(arrays)}", fix=fix)
    chunked: dict[str, da.Array] = {}
    constants: dict[str, Array] = {}
    for buffer, array in zip(inputs, arrays, strict=True):
        if isinstance(array, da.Array):
            chunked[buffer.name] = _chunk_like(buffer, array, next(iter(chunked.values()), array))
        else:
            constants[buffer.name] = _constant(buffer, array)
    if not chunked:
        raise InvalidInput(
            inputs[0].name if inputs else "arrays",
            needed="a dask.array",
            got="none among the arrays",
            fix="make one with dask.array.from_array, or run the program as it is",
        )
    return ChunkProgram.of(program, tuple(chunked), constants), list(chunked.values())


def _require_whole_axes(program: Program, task: ChunkProgram, x: da.Array) -> None:
    """Refuse a program that reads elements beside its own, and so those of other chunks."""
    for name, distances in task.neighbours(program, x.ndim).items():
        for axis, (distance, count) in enumerate(zip(distances, x.numblocks, strict=True)):
            if distance and count > 1:
                needed = f"one chunk along axis {axis}, as the program reads elements that are {distance} away"
                fix = f"call map_overlap with depth={shown_depth(distances)}, or {name}.rechunk({{{axis}: -1}}) before"
                raise InvalidInput(name, needed=needed, got=f"{count} chunks", fix=fix)


def shown_depth(distances: Sequence[int]) -> str:
    """The depth to pass, as a caller writes it: one number if it is one for all axes."""
    return f"{distances[0]}" if len(set(distances)) == 1 else f"{dict(enumerate(distances))}"


def _chunk_like(buffer: Buffer, array: da.Array, first: da.Array) -> da.Array:
    if array.dtype != buffer.dtype.numpy:
        fix = fix_of_elements(array.dtype) or f"convert it with .astype({buffer.dtype.numpy.name!r})"
        got = f"one of {shown_type(array.dtype)}"
        raise InvalidInput(buffer.name, needed=f"an array of {buffer.dtype}", got=got, fix=fix)
    if array is first:
        return array
    require_sizes(array, buffer.name)
    require_sizes(first)
    if array.shape != first.shape:
        fix = "chunk arrays of one shape, and compute() another one: an array of NumPy or a number goes to every launch"
        raise InvalidInput(buffer.name, needed=f"the shape {first.shape}", got=f"{array.shape}", fix=fix)
    chunked: da.Array = array.rechunk(first.chunks)
    return chunked


def require_sizes(x: da.Array, name: str = "x") -> None:
    """Refuse an array whose chunks have unknown sizes, as those of a selection by a mask."""
    if math.isnan(x.size):
        raise InvalidInput(
            name, needed="chunks of known sizes", got="unknown sizes", fix=f"call {name}.compute_chunk_sizes()"
        )


def in_one_chunk(x: da.Array, axis: int) -> da.Array:
    """An array whose chunks hold an axis whole."""
    if math.isnan(x.shape[axis]):
        fix = "call x.compute_chunk_sizes()"
        raise InvalidInput("x", needed=f"chunks of known sizes along axis {axis}", got="unknown sizes", fix=fix)
    whole: da.Array = x.rechunk({axis: -1})
    return whole


def _constant(buffer: Buffer, value: object) -> Array:
    found = number(value)
    if found is not None:
        return number_bytes(buffer, found).view(buffer.dtype.numpy)
    array, wanted = imported(value, buffer.name), buffer.dtype.numpy
    if array is None or array.dtype != wanted:
        needed, got = f"a number, or an array of {buffer.dtype}", type(value).__name__
        fix = f"make an array of it, as in numpy.asarray(…, {wanted.name!r})"
        if array is not None:
            got, fix = f"one of {shown_type(array.dtype)}", f"convert it with .astype({wanted.name!r})"
        raise InvalidInput(buffer.name, needed=needed, got=got, fix=fix)
    return array


def each_chunk(
    task: Callable[..., Array], x: da.Array, dtype: Any, chunks: Any, *others: Any, **options: Any
) -> da.Array:
    """A task over each chunk, with its name."""
    name = task.__name__.strip("_")
    found: da.Array = da.map_blocks(
        task, x, *others, chunks=chunks, dtype=dtype, meta=np.empty((0,) * len(chunks), dtype), token=name, **options
    )
    return found


def along(task: Callable[..., Array], x: da.Array, axis: int, dtype: Any, **options: Any) -> da.Array:
    """A task over chunks that hold an axis whole, with its number; in the chunks of `x`."""
    rows = in_one_chunk(x, axis)
    found: da.Array = each_chunk(task, rows, dtype, rows.chunks, axis=axis, **options).rechunk(x.chunks)
    return found


# ── what runs on workers ──


@dataclass(frozen=True, slots=True)
class ChunkProgram:
    """A program that a task runs over one chunk of each chunked array.

    Attributes:
        wire: The program.
        shapes: Those that its buffers are declared with: the arguments of `Shapes`, as they are a key of a cache.
        names: The inputs that are chunks, in order.
        constants: The others, each as its bytes, the name of its type, and its shape: the types of arrays that were
            pickled are not those of NumPy, for which launches have a short way.
    """

    wire: bytes
    shapes: tuple[Any, ...] | None
    names: tuple[str, ...]
    constants: Mapping[str, tuple[bytes, str, tuple[int, ...]]]

    @classmethod
    def of(cls, program: Program, names: tuple[str, ...], constants: Mapping[str, Array]) -> ChunkProgram:
        """The task of a program."""
        wire, shapes = program.encode(), program.shapes
        packed = {name: (array.tobytes(), array.dtype.name, array.shape) for name, array in constants.items()}
        if shapes is None:
            return cls(wire, None, names, packed)
        buffers = tuple(shapes.buffers.items())
        return cls(wire, (buffers, shapes.launch, shapes.passed, shapes.zeros, shapes.numbers), names, packed)

    def neighbours(self, program: Program, ndim: int) -> Mapping[str, tuple[int, ...]]:
        """How far from its own element the program, of which this is the task, reads chunks of `ndim` axes."""
        return neighbours(program, self.names, ndim, self._others())

    def _others(self) -> dict[str, Array]:
        """The inputs that are no chunks."""
        packed = self.constants.items()
        return {name: np.frombuffer(data, dtype).reshape(shape) for name, (data, dtype, shape) in packed}

    def __call__(self, *chunks: Array) -> Array:
        """Launch it over one chunk of each array."""
        given = {name: np.asarray(array_of(x, name), order="C") for name, x in zip(self.names, chunks, strict=True)}
        given |= self._others()
        if self.shapes is None:
            return next(iter(local_backend().dispatch_arrays(decoded(self.wire), given).values()))
        program, shapes = _with_shapes(self.wire, *self.shapes)
        shaped = shaped_launch(program, given_shapes(shapes, given), DEFAULT_CONFIG, given)
        given |= {**shaped.constants, **{name: np.zeros(shape, dtype) for name, shape, dtype in shaped.zeros}}
        ((name, output),) = local_backend().dispatch_arrays(program, given, shaped.config).items()
        return output.reshape(shaped.results.get(name, output.shape))


@lru_cache(256)
def _with_shapes(wire: bytes, buffers: tuple[Any, ...], *rest: Any) -> tuple[Program, Shapes]:
    """One program for all tasks, so that launches after the first are prepared."""
    shapes = Shapes(dict(buffers), *rest)
    return decode(wire).with_shapes(shapes), shapes
