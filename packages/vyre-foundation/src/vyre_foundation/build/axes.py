"""Axes of buffers: shapes by numbers and by names, and the lengths that a launch gives to the names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vyre_foundation.build import arguments
from vyre_foundation.dtype import u32
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import Buffer, LengthOf
from vyre_foundation.ir.expr import Cast, Expr, Length, Load, Local, literal
from vyre_foundation.ir.shapes import GRID_AXES, LAUNCH_SHAPE, Axis, Shapes, on_axes, surplus_axis
from vyre_foundation.ir.stmt import Body, Stmt
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions


class ShapedBuffer(NamedTuple):
    """A buffer of the host that is declared with a shape."""

    decl: Buffer
    axes: tuple[Axis, ...]
    is_result: bool
    """Whether the caller passes nothing for it."""


class ShapeVariables:
    """The shapes that a program declares. A name stands for a local until `build` knows where its length comes from."""

    def __init__(self, shape: tuple[Axis, ...] | None) -> None:
        self.stated = shape
        self.buffers: list[ShapedBuffer] = []
        self.scalars: dict[str, Buffer] = {}
        """The integers that are the same for all invocations: a shape variable of such a name has its value."""

    @property
    def launch(self) -> tuple[Axis, ...]:
        """The shape of the launch: what the program states, or that of its first output, if it is one of a launch."""
        if self.stated is not None:
            return self.stated
        outputs = [buffer.axes for buffer in self.buffers if buffer.decl.is_output]
        return outputs[0] if outputs and len(outputs[0]) <= GRID_AXES and "" not in outputs[0] else ()

    def count_of(self, axes: Sequence[Axis]) -> int | LengthOf | None:
        """The number of elements as a number, or as a rule over the length of an input; None if there is no rule."""
        fixed, named = _split(axes)
        if not named:
            return fixed
        for buffer in self.buffers:
            times, same = _split(buffer.axes)
            if buffer.is_result or same != named or "" in named:
                continue
            if fixed % times == 0:
                return LengthOf(buffer.decl.name, fixed // times)
            if times % fixed == 0:
                return LengthOf(buffer.decl.name, over=times // fixed)
        return None

    def passed(self) -> tuple[str, ...]:
        """The names whose lengths the launch passes: those that no number and no input of one axis has.

        Raises:
            BuildError: A length follows from no input.
        """
        inputs = [buffer.axes for buffer in self.buffers if not buffer.is_result]
        alone = {axes[0] for axes in inputs if len(axes) == 1}
        known = {axis for axes in inputs for axis in axes} | self.scalars.keys()
        named = [axis for buffer in self.buffers for axis in buffer.axes] + list(self.launch)
        for axis in named:
            if isinstance(axis, str) and axis not in known:
                fix = f"use a shape variable of the inputs, a number, or a parameter that is one, {axis}: u32"
                raise BuildError(f"the length of {axis!r} follows from no input", fix=fix)
        held = alone | self.scalars.keys()
        return tuple(dict.fromkeys(axis for axis in named if isinstance(axis, str) and axis not in held))

    def numbers(self) -> tuple[str, ...]:
        """The names of integers of the program that shapes have too."""
        named = {axis for axes in (*(buffer.axes for buffer in self.buffers), self.launch) for axis in axes}
        return tuple([name for name in self.scalars if name in named])

    def shapes(self) -> Shapes:
        """What a launch has to know."""
        zeros = tuple([b.decl.name for b in self.buffers if b.is_result and b.decl.is_input])
        return Shapes({b.decl.name: b.axes for b in self.buffers}, self.launch, self.passed(), zeros, self.numbers())

    def resolve(self, body: Body, table: Buffer | None) -> Body:
        """`body` with the lengths of buffers, and the elements of the launch's uniform, for the names."""
        lengths: dict[Expr, Expr] = {}
        if table is not None:
            for number, axis in enumerate(self.passed()):
                lengths[length_of(axis)] = Load(table, literal(u32, number))
        for buffer in self.buffers:
            if len(buffer.axes) == 1 and isinstance(buffer.axes[0], str) and not buffer.is_result:
                lengths.setdefault(length_of(buffer.axes[0]), Length(buffer.decl))
        for name in self.numbers():
            value = Load(self.scalars[name], literal(u32, 0))
            lengths.setdefault(length_of(name), value if value.dtype is u32 else Cast(u32, value))
        if not lengths:
            return body
        memo: dict[Expr, Expr] = {}

        def known(root: Expr) -> Expr:
            return rewrite(root, lambda node: lengths.get(node, node), memo)

        def resolved(stmt: Stmt) -> Stmt:
            return with_expressions(stmt, known)

        return rewrite_body(body, resolved)


def length_of(axis: str) -> Local:
    """What stands for the length of a shape variable while the program is recorded."""
    return Local(f"shape.{axis}", u32)


def axes_of(given: object, what: str) -> tuple[Axis, ...]:
    """The axes that a caller passes: a number, a name, or a sequence of them. The name "" is that of no other axis."""
    parts: Iterable[object] = given if isinstance(given, (tuple, list)) else (given,)
    axes: list[Axis] = []
    for axis in parts:
        if isinstance(axis, (int, np.integer)) and not isinstance(axis, bool) and 0 < axis < 2**32:
            axes.append(int(axis))
        elif isinstance(axis, str) and (axis.isidentifier() or axis == ""):
            axes.append(axis)
        else:
            fix = "pass lengths, or names of shape variables, as in shape=('h', 'w')"
            raise BuildError(f"got {arguments.shown(axis)} as an axis of {what}", fix=fix)
    return tuple(axes)


def fixed_axes(count: object, shape: object, name: str) -> tuple[int, tuple[int, ...]]:
    """The length and the axes of an array in memory that the host does not see, from its `count` or its `shape`."""
    if (count is None) == (shape is None):
        raise BuildError(f"{name!r} needs a count or a shape", fix="pass one of them, as in shape=(16, 16)")
    if shape is None:
        length = arguments.length_of(count, name)
        return length, (length,)
    axes = axes_of(shape, repr(name))
    lengths = tuple([axis for axis in axes if isinstance(axis, int)])
    if len(lengths) != len(axes):
        fix = "pass lengths, as in shape=(16, 16)"
        raise BuildError(f"the shape {axes} of {name!r} has names, and its memory is in the program", fix=fix)
    return math.prod(lengths), lengths


def launch_axes(given: object) -> tuple[Axis, ...] | None:
    """The shape of a launch that a caller states; None for None."""
    if given is None:
        return None
    axes = axes_of(given, "the shape of the launch")
    if not axes:
        raise BuildError("the shape of the launch has no axes", fix="state some, as in shape=('h', 'w')")
    return axes


def require_workgroup_axes(axes: tuple[Axis, ...] | None, workgroup_size: tuple[int, int, int]) -> None:
    """Refuse a workgroup with several invocations on an axis that the stated shape of the launch does not have."""
    if axes is None or (surplus := surplus_axis(len(axes), workgroup_size)) is None:
        return
    shape = f"({', '.join(map(str, axes))})"
    message = f"workgroup_size {workgroup_size} has {workgroup_size[surplus]} invocations on {'xyz'[surplus]}, "
    longer = (*workgroup_size[len(axes) : surplus + 1][::-1], *axes)
    fix = f"write workgroup_size={on_axes(len(axes), workgroup_size)}, or state a longer shape, as in shape={longer}"
    raise BuildError(f"{message}an axis that the shape of the launch, {shape}, does not have", fix=fix)


def refuse_reserved(name: str) -> None:
    """Refuse the name of the uniform that the builder declares."""
    if name == LAUNCH_SHAPE:
        raise BuildError(f"the name {name!r} is that of the lengths of axes", fix="give the buffer another name")


def _split(axes: Sequence[Axis]) -> tuple[int, list[str]]:
    """The product of the numbers among axes, and the names in order."""
    return math.prod(axis for axis in axes if isinstance(axis, int)), sorted(a for a in axes if isinstance(a, str))
