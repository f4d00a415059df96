"""Accesses out of bounds: defined, and often not meant. Found by the program itself, IR to IR, on every backend.

Each access first compares its index with the length of the buffer. If it is out of bounds, two atomics count it and
remember the lowest invocation with its index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
from vyre_driver.plan.programs import HasProgram, required_program
from vyre_foundation.build import Value
from vyre_foundation.dtype import i64, u32, u64
from vyre_foundation.functions import max as maximum, min as minimum
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Length, Local, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, AtomicOp, Body, If, Let, Stmt

_FIELDS = 2
"""Results of a place: how many accesses were out of bounds, and the complement of the first."""


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """Accesses of one place in the program that were out of bounds.

    `count` is how many there were, `invocation` the linear id of the lowest invocation that made one, and `index` its
    lowest index there; of an index of 64 bits, the nearest that has 32. Loads have given 0, stores were dropped,
    atomics have done nothing and given 0.
    """

    buffer: str
    length: int
    touch: Touch
    path: Path
    count: int
    invocation: int
    index: int

    def __str__(self) -> str:
        others = f", one of {self.count} here" if self.count > 1 else ""
        return f"invocation {self.invocation} {self.touch.value} {self.buffer}[{self.index}] of {self.length}{others}"


def out_of_bounds(
    backend: VyreBackend,
    program: Program | HasProgram,
    arrays: Mapping[str, object],
    config: DispatchConfig = DEFAULT_CONFIG,
) -> list[OutOfBounds]:
    """Run `program` on `backend` with a check of every access.

    Args:
        backend: Any that has 64-bit atomics.
        program: A valid program, or a kernel. Its traps do not count. An access to a buffer of several axes is one
            only if the index of each axis is within its own.
        arrays: The inputs by buffer name; numbers for uniforms of one element.
        config: The options of the dispatch.

    Returns:
        A report for each place with an access out of bounds, in program order.

    Raises:
        VyreError: The dispatch failed.
    """
    program = required_program(program)
    if program.shapes is not None:
        shaped = shaped_launch(program, given_shapes(program.shapes, arrays), config, arrays)
        zeros = {name: np.zeros(shape, dtype) for name, shape, dtype in shaped.zeros}
        arrays, config = {**arrays, **shaped.constants, **zeros}, shaped.config
    plan, launch = instrumented_launch(program, arrays, config)
    checking, results, sites = checking_bounds(plan.program)
    counts = backend.dispatch_arrays(checking, arrays, launch)[results].tolist()
    found = []
    for number, site in enumerate(sites):
        count, first = counts[_FIELDS * number : _FIELDS * (number + 1)]
        if count:
            who, biased = divmod(2**64 - 1 - first, 2**32)
            index = biased - 2**31 if site.index.dtype.is_signed else biased
            length = plan.lengths.get(site.buffer.name, site.buffer.count)
            assert isinstance(length, int)
            found.append(OutOfBounds(site.buffer.name, length, site.touch, site.path, count, who, index))
    return found


def checking_bounds(program: Program) -> tuple[Program, str, tuple[AccessSite, ...]]:
    """`program` without traps, which counts its accesses out of bounds; the name of the added output; the places."""
    fresh = Fresh.of(program)
    sites: list[AccessSite] = []
    places = sum(len(accesses(stmt, ())) for stmt in program.statements)
    results = Buffer(
        fresh("bounds"), u64, Access.WRITE, Memory.STORAGE, max(1, _FIELDS * places), next_binding(program)
    )

    def around(stmt: Stmt, path: Path) -> tuple[Body, Body]:
        checks: list[Stmt] = []
        for site in accesses(stmt, path):
            index = Local(fresh.numbered("bounds_index"), site.index.dtype)
            checks += _check(program, site, index, results, len(sites))
            sites.append(site)
        return tuple(checks), ()

    body = without_traps(surrounded(program.body, around))
    return declare(program, body, results), results.name, tuple(sites)


def _check(program: Program, site: AccessSite, index: Local, results: Buffer, number: int) -> Body:
    is_out = Value(index).cast(u64) >= Value(Length(site.buffer)).cast(u64)
    least, most = (-(2**31), 2**31 - 1) if site.index.dtype.is_signed else (0, 2**32 - 1)
    if site.index.dtype.size == u64.size:
        shown = minimum(maximum(Value(index), least), most).cast(i64)
    else:
        shown = Value(index).cast(i64)
    first = (Value(invocation(program, u64)) << 32) | (shown - least).cast(u64)
    place = _FIELDS * number
    return (
        Let(index.name, site.index),
        If(
            is_out.expr,
            (
                Atomic(AtomicOp.ADD, results, literal(u32, place), literal(u64, 1)),
                Atomic(AtomicOp.MAX, results, literal(u32, place + 1), (~first).expr),
            ),
        ),
    )
