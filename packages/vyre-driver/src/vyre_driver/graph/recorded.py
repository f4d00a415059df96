"""Ranges of a graph that is being recorded: arrays whose elements are known when the graph is launched."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from vyre_driver.errors import InvalidInput
from vyre_driver.graph.buffers import BufferRange
from vyre_driver.plan.gather import convert, gather
from vyre_driver.plan.moves import WORDS
from vyre_driver.plan.operators import WithoutOperators
from vyre_driver.plan.strides import broadcast_strides, contiguous_strides, lengths_of, reordered, reshaped
from vyre_foundation.build.arguments import DTypeLike, dtype_of
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError

if TYPE_CHECKING:
    from vyre_driver.graph.record import GraphRecorder


class RecordedRange(WithoutOperators):
    """Some elements of a buffer of a graph that is being recorded, in a shape. Slices of it are ranges too.

    Its methods have the meaning that those of a `DeviceArray` have. What needs another order or another type records
    a node that writes to a new temporary.
    """

    __slots__ = ("dtype", "range", "recorder", "shape")

    instead_of_arithmetic = "call a kernel, or a function such as vyre.matmul, which records a dispatch"

    is_contiguous = True
    """A range is always a part of its buffer in order."""

    def __init__(
        self, recorder: GraphRecorder, dtype: DType, part: BufferRange, shape: tuple[int, ...] | None = None
    ) -> None:
        self.recorder, self.dtype, self.range = recorder, dtype, part
        self.shape = (part.count,) if shape is None else shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.range.count

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return self.size * self.dtype.size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a range without axes has no length. Fix: use `.size`")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<{self.dtype} range {self.range} of graph {self.recorder.name!r}>"

    # ── views ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def reshape(self, *shape: int | Sequence[int]) -> RecordedRange:
        """The same elements in another shape.

        Args:
            *shape: The lengths, as numbers or as one sequence; one of them may be -1.

        Raises:
            InvalidInput: The shape has another number of elements.
        """
        return RecordedRange(self.recorder, self.dtype, self.range, reshaped(self.size, shape))

    def __getitem__(self, chosen: slice) -> RecordedRange:
        """A part of it on the first axis, with a step of 1: ``x[16:32]``."""
        given: object = chosen
        if not isinstance(given, slice) or given.step not in (None, 1):
            fix = "write x[start:stop]; for one element x[i:i + 1]"
            raise BuildError(f"got the index {chosen!r}, expected a slice with a step of 1", fix=fix, where=repr(self))
        start, stop, _ = chosen.indices(len(self))
        for end in (chosen.start, chosen.stop):
            if end is not None and not -len(self) <= operator.index(end) <= len(self):
                what = "elements" if self.ndim == 1 else "rows"
                message = f"got the slice [{chosen.start}:{chosen.stop}], expected one within {len(self)} {what}"
                raise BuildError(message, fix="slice within the range, or declare a longer buffer", where=repr(self))
        rows, row = max(0, stop - start), math.prod(self.shape[1:])
        part = BufferRange(self.range.buffer, self.range.start + start * row, rows * row)
        return RecordedRange(self.recorder, self.dtype, part, (rows, *self.shape[1:]))

    def of(self, recorder: GraphRecorder, where: str) -> BufferRange:
        """The range, for the recorder that made it; `BuildError` for another."""
        if recorder is not self.recorder:
            other = " another" if self.recorder.name == recorder.name else ""
            message = f"got a range of{other} graph {self.recorder.name!r}, expected one of graph {recorder.name!r}"
            fix = "declare the buffer in this graph, or call the other graph with `call`"
            raise BuildError(message, fix=fix, where=where)
        return self.range

    # ── recorded ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def copy(self) -> RecordedRange:
        """Record a copy to a temporary."""
        made = self.recorder.temporary(self.dtype, self.shape, f"{self.range.buffer} copied")
        self.recorder.copy(self, made)
        return made

    def view(self, dtype: DTypeLike) -> RecordedRange:
        """The range itself for its own type, or record a copy of the bits to a temporary of another one.

        An element of another size divides or joins elements of the last axis.

        Raises:
            InvalidInput: The bytes of the last axis are not whole elements of that type.
        """
        other = dtype_of(dtype)
        last_axis = self.shape[-1] * self.dtype.size if self.shape else self.dtype.size
        if last_axis % other.size or (not self.shape and last_axis != other.size):
            needed = f"a type whose elements make {last_axis} bytes"
            raise InvalidInput("dtype", needed=needed, got=f"{other}", fix="convert the range with .astype(…)")
        if other is self.dtype:
            return self
        shape = (*self.shape[:-1], last_axis // other.size) if self.shape else ()
        made = self.recorder.temporary(other, shape, f"{self.range.buffer} as {other}")
        self.recorder.copy(self, made)
        return made

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> RecordedRange:
        """Record a conversion of the elements, as `cast` of the language does: floats saturate, and NaN becomes 0.

        Args:
            dtype: The type of the result.
            copy: Whether a range of that type is copied, or else returned as it is.
        """
        other = dtype_of(dtype)
        if other is self.dtype:
            return self.copy() if copy else self
        made = self.recorder.dispatch(convert(self.dtype, other), source=self)["target"]
        return made.reshape(self.shape)

    @property
    def T(self) -> RecordedRange:
        """A recorded copy with the axes in reverse order."""
        return self.transpose()

    def transpose(self, *axes: int | Sequence[int]) -> RecordedRange:
        """Record a copy with the axes in another order; in reverse order if none are named.

        Raises:
            InvalidInput: An axis is missing or named twice.
        """
        order, strides = reordered(self.ndim, axes), contiguous_strides(self.shape)
        return self._gathered([self.shape[n] for n in order], [strides[n] for n in order])

    def broadcast_to(self, shape: Sequence[int]) -> RecordedRange:
        """Record a copy that repeats the elements along new axes in front and along axes of length 1, as in NumPy.

        Raises:
            InvalidInput: The range does not broadcast to the shape.
        """
        lengths = lengths_of(shape)
        return self._gathered(lengths, broadcast_strides(self.shape, contiguous_strides(self.shape), lengths))

    def flip(self) -> RecordedRange:
        """Record a copy with the elements in reverse order on every axis."""
        return self._gathered([self.size], [-1], start=self.size - 1).reshape(self.shape)

    def assign(self, given: object) -> None:
        """Record that the elements are replaced by those of a range of the same graph, or of an array of the host.

        Raises:
            InvalidInput: The array has another type or shape.
            BuildError: The range is one of another graph.
        """
        if tuple(getattr(given, "shape", ())) != self.shape:
            got = f"the shape {getattr(given, 'shape', None)}"
            raise InvalidInput("array", needed=f"one of the shape {self.shape}", got=got, fix="reshape it first")
        if isinstance(given, RecordedRange):
            self.recorder.copy(given, self)
        else:
            self.recorder.upload(self, given)

    def __setitem__(self, chosen: slice, given: object) -> NoReturn:
        fix = "write x[start:stop].assign(…), which records a copy"
        raise BuildError("a range records nothing for an assignment to a part of it", fix=fix, where=repr(self))

    def _gathered(self, shape: Sequence[int], strides: Sequence[int], start: int = 0) -> RecordedRange:
        """A temporary with the elements that strides lead to from one of them."""
        word, own = WORDS[self.dtype.size], self
        if self.dtype is not word:
            own = self.view(word)
        made = self.recorder.temporary(word, tuple(shape), f"{self.range.buffer} in order")
        if made.size:
            move = gather(self.dtype.size, start, tuple(shape), tuple(strides))
            given = {"source": own, "layout": move.layout, "target": made}
            self.recorder.fill(made)
            self.recorder.dispatch(move.program, given, config=move.config)
        return made if self.dtype is word else made.view(self.dtype)

    # ── values, which are not known yet ──────────────────────────────────────────────────────────────────────────────

    def _unknown(self, *_: Any, **__: Any) -> NoReturn:
        message = "the elements of a range are not known before the graph is launched"
        fix = "make it an output of the graph, or pass an array of the host"
        raise BuildError(message, fix=fix, where=repr(self))

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __array__ = __bool__ = __int__ = __float__ = __index__ = __iter__ = item = numpy = _unknown
    __hash__ = object.__hash__
