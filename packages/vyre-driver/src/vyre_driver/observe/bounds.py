"""Accesses out of bounds: defined, and often not meant. Found by the program itself, IR to IR, on every backend.

Each access first compares its index with the length of the buffer. If it is out of bounds, two atomics count it and
remember the lowest invocation with its index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import mul

import numpy as np

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.legalization.coordinates import invocation
from vyre_driver.legalization.declare import declare, next_binding
from vyre_driver.observe.accesses import (
    AccessSite,
    Path,
    Touch,
    accesses,
    instrumented_launch,
    surrounded,
    without_traps,
)
from vyre_driver.plan.axes import given_shapes, shaped_launch
from vyre_driver.plan.programs import HasProgram, defaults_of, required_program
from vyre_foundation.build import Value, constant
from vyre_foundation.dtype import bool_, i64, u32, u64
from vyre_foundation.functions import max as maximum, min as minimum
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Length, Literal, Load, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE, Axis, Shapes
from vyre_foundation.ir.stmt import Atomic, AtomicOp, Body, If, Let, Stmt
from vyre_foundation.ops import arithmetic

_FIELDS = 2
"""Results of a place: how many accesses were out of bounds, and the complement of the first."""


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """Accesses of one place in the program that were out of bounds.

    `count` is how many there were, `invocation` the linear id of the lowest invocation that made one, and `index` its
    lowest index there; of an index of 64 bits, the nearest that has 32. Loads have given 0, stores were dropped,
    atomics have done nothing and given 0. Where a load has an index for each axis, `index` and `length` are those of
    `axis`.
    """

    buffer: str
    length: int
    touch: Touch
    path: Path
    count: int
    invocation: int
    index: int
    axis: int | None = None

    def __str__(self) -> str:
        others = f", one of {self.count} here" if self.count > 1 else ""
        place = f"{self.buffer}[{self.index}] of {self.length}"
        if self.axis is not None:
            place = f"{self.buffer} at index {self.index} of {self.length} on axis {self.axis}"
        return f"invocation {self.invocation} {self.touch.value} {place}{others}"


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """An index of an access, and the condition that it is out of bounds: on an axis, or in a buffer of one."""

    site: AccessSite
    index: Expr
    is_out: Expr
    axis: int | None = None


def out_of_bounds(
    backend: VyreBackend,
    program: Program | HasProgram,
    arrays: Mapping[str, object],
    config: DispatchConfig = DEFAULT_CONFIG,
) -> list[OutOfBounds]:
    """Run `program` on `backend` with a check of every access.

    Args:
        backend: Any that has 64-bit atomics.
        program: A valid program, or a kernel. Its traps do not count. A load with an index for each axis is out of
            bounds where one of them is; a store with such indices is not made there, and not reported.
        arrays: The inputs by buffer name; numbers for uniforms of one element.
        config: The options of the dispatch.

    Returns:
        A report for each place with an access out of bounds, in program order.

    Raises:
        VyreError: The dispatch failed.
    """
    arrays = {**defaults_of(program), **arrays}
    program = required_program(program)
    shapes: dict[str, tuple[int, ...]] = {}
    if program.shapes is not None:
        shaped = shaped_launch(program, given_shapes(program.shapes, arrays), config, arrays)
        zeros = {name: np.zeros(shape, dtype) for name, shape, dtype in shaped.zeros}
        shapes = {**shaped.results, **given_shapes(program.shapes, arrays)}
        arrays, config = {**arrays, **shaped.constants, **zeros}, shaped.config
    plan, launch = instrumented_launch(program, arrays, config)
    checking, results, checks = checking_bounds(plan.program, program.shapes)
    counts = backend.dispatch_arrays(checking, arrays, launch)[results].tolist()
    found = []
    for number, check in enumerate(checks):
        count, first = counts[_FIELDS * number : _FIELDS * (number + 1)]
        if count:
            who, biased = divmod(2**64 - 1 - first, 2**32)
            index, site = biased - 2**31 if check.index.dtype.is_signed else biased, check.site
            length = plan.lengths.get(site.buffer.name, site.buffer.count)
            if check.axis is not None:
                length = shapes[site.buffer.name][check.axis]
            assert isinstance(length, int)
            found.append(OutOfBounds(site.buffer.name, length, site.touch, site.path, count, who, index, check.axis))
    return found


def checking_bounds(program: Program, shapes: Shapes | None) -> tuple[Program, str, tuple[IndexCheck, ...]]:
    """`program` without traps, which counts its accesses out of bounds; the name of the added output; the checks."""
    fresh = Fresh.of(program)
    checks: list[IndexCheck] = []
    places = sum(len(_checks(site, shapes)) for stmt in program.statements for site in accesses(stmt, ()))
    results = Buffer(
        fresh("bounds"), u64, Access.WRITE, Memory.STORAGE, max(1, _FIELDS * places), next_binding(program)
    )

    def around(stmt: Stmt, path: Path) -> tuple[Body, Body]:
        counting: list[Stmt] = []
        for check in (check for site in accesses(stmt, path) for check in _checks(site, shapes)):
            index = Local(fresh.numbered("bounds_index"), check.index.dtype)
            counting += _counted(program, check, index, results, len(checks))
            checks.append(check)
        return tuple(counting), ()

    body = without_traps(surrounded(program.body, around))
    return declare(program, body, results), results.name, tuple(checks)


def _checks(site: AccessSite, shapes: Shapes | None) -> list[IndexCheck]:
    """What to check of an access: its index, or those of all axes, of which each access is counted for the first."""
    parts = [] if shapes is None or site.touch is not Touch.READ else _of_axes(site, shapes)
    if not parts:
        return [IndexCheck(site, site.index, _is_beyond(site.index, Length(site.buffer)).expr)]
    checks, before = [], constant(bool_, False)
    for axis, (index, length) in enumerate(parts):
        is_out = _is_beyond(index, length)
        checks.append(IndexCheck(site, index, (is_out & ~before).expr, axis))
        before = before | is_out
    return checks


def _of_axes(site: AccessSite, shapes: Shapes) -> list[tuple[Expr, Expr]]:
    """The index and the length of each axis of a load, as the builder has combined them; empty for other loads."""
    found: list[tuple[Expr, Expr]] = []
    rest = site.index
    for axis in reversed(shapes.buffers.get(site.buffer.name, ())[1:]):
        match rest:
            case Apply(arithmetic.ADD, (Apply(arithmetic.MUL, (before, length)), part)) if _is_axis(
                length, axis, shapes
            ):
                found.insert(0, (_uncast(part), length))
                rest = before
            case _:
                return []
    if not found:
        return []
    row = reduce(mul, (Value(length) for _, length in found))
    return [(_uncast(rest), (Value(Length(site.buffer)) // row).expr), *found]


def _is_axis(length: Expr, axis: Axis, shapes: Shapes) -> bool:
    """Whether an expression is the length of an axis."""
    match length:
        case Literal():
            return length.value == axis
        case Load(buffer, Literal() as place) if buffer.name == LAUNCH_SHAPE:
            return shapes.passed[int(place.value)] == axis
        case Load(buffer):
            return buffer.name == axis and axis in shapes.numbers
        case Length(buffer):
            return shapes.buffers.get(buffer.name) == (axis,)
    return False


def _uncast(index: Expr) -> Expr:
    """An index before the builder has converted it to u32."""
    return index.value if isinstance(index, Cast) and index.value.dtype.is_integer else index


def _is_beyond(index: Expr, length: Expr) -> Value:
    return Value(index).cast(u64) >= Value(length).cast(u64)


def _counted(program: Program, check: IndexCheck, index: Local, results: Buffer, number: int) -> Body:
    least, most = (-(2**31), 2**31 - 1) if check.index.dtype.is_signed else (0, 2**32 - 1)
    if check.index.dtype.size == u64.size:
        shown = minimum(maximum(Value(index), least), most).cast(i64)
    else:
        shown = Value(index).cast(i64)
    first = (Value(invocation(program, u64)) << 32) | (shown - least).cast(u64)
    place = _FIELDS * number
    return (
        Let(index.name, check.index),
        If(
            check.is_out,
            (
                Atomic(AtomicOp.ADD, results, literal(u32, place), literal(u64, 1)),
                Atomic(AtomicOp.MAX, results, literal(u32, place + 1), (~first).expr),
            ),
        ),
    )
