"""Memory that is read where it is written: moves in place, copies onto themselves, indices that the store changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from random import Random

import numpy as np

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import by_needs, pack, pack_bits
from vyre_foundation.build import Value, apply, constant, program, select
from vyre_foundation.dtype import FLOATS, DType, bool_, u32
from vyre_foundation.ops.scalar import from_bits

GROUP = 16
TOP = 2**32


def specs() -> Iterator[Spec]:
    yield seeded(address("places", "shifted_in_groups"), _shifted)
    yield seeded(address("places", "shifted_over_the_grid"), _shifted_far)
    for at, types in by_needs(address("places", "onto_itself"), (*FLOATS, bool_)).items():
        yield seeded(at, _itself, types)
    yield seeded(address("places", "own_index"), _own_index)
    for at, types in by_needs(address("places", "special_tables"), FLOATS).items():
        yield seeded(at, _tables, types)
    yield seeded(address("places", "between_stores"), _between)
    yield seeded(address("places", "read_again"), _again)


def _shifted(rng: Random) -> tuple[Launch, Expected]:
    """Everyone reads the neighbour, then all wait, then everyone writes: in storage, and in workgroup memory."""
    count, iterations = 3 * GROUP, 3
    with program("shifted", GROUP) as p:
        x, y = p.read_write("x", u32), p.read_write("y", u32)
        shared = p.workgroup("shared", u32, GROUP)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        first = p.let(i - local)
        shared[local] = y[i]
        p.barrier()
        with p.range(0, iterations):
            taken = p.let(x[first + (local + 1) % GROUP])
            other = p.let(select(local < GROUP - 1, shared[local + 1], 9))
            p.barrier()
            x[i] = taken
            shared[local] = other + 1
            p.barrier()
        y[i] = shared[local]
    xs, ys = ([rng.randrange(TOP) for _ in range(count)] for _ in "xy")
    moved = [xs[n - n % GROUP + (n % GROUP + iterations) % GROUP] for n in range(count)]
    grown = list(ys)
    for _ in range(iterations):
        grown = [((grown[n + 1] if n % GROUP < GROUP - 1 else 9) + 1) % TOP for n in range(count)]
    inputs = {"x": pack(u32, xs), "y": pack(u32, ys)}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, moved), pack(u32, grown)))


def _shifted_far(rng: Random) -> tuple[Launch, Expected]:
    """The same over the whole grid; the last one takes what is out of bounds."""
    count = 4 * GROUP
    with program("shifted_far", GROUP) as p:
        x, out = p.read_write("x", u32), p.write("out", u32, count)
        i = p.let(p.global_id(0))
        with p.range(0, 2):
            taken, far = p.let(x[i + 1]), p.let(x[i + GROUP])
            p.grid_barrier()
            x[i] = taken + far
            p.grid_barrier()
        out[i] = x[(count - 1) - i]
    values = [rng.randrange(TOP) for _ in range(count)]
    after = list(values)
    for _ in range(2):
        more = [*after, *[0] * GROUP]
        after = [(more[n + 1] + more[n + GROUP]) % TOP for n in range(count)]
    outputs = (pack(u32, after), pack(u32, reversed(after)))
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly(outputs)


def _itself(types: list[DType], rng: Random) -> tuple[Launch, Expected]:
    """``x[i] = x[i]`` is not nothing: a NaN loses its payload and sign, a true byte becomes 1."""
    inputs: dict[str, bytes] = {}
    outputs = []
    count = 60
    with program("onto_itself", GROUP) as p:
        i = p.let(p.global_id(0))
        for dtype in types:
            x = p.read_write(f"x_{dtype}", dtype)
            x[i] = x[i]
            patterns = [rng.getrandbits(8 * dtype.size) for _ in range(count)]
            if dtype.is_float:
                patterns = [bits | dtype.nan_bits if n % 3 else bits for n, bits in enumerate(patterns)]
            inputs[x.decl.name] = pack_bits(dtype, patterns)
            if dtype is bool_:
                outputs.append(bytes(bits != 0 for bits in patterns))
            else:
                outputs.append(pack(dtype, [from_bits(dtype, bits) for bits in patterns]))
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(outputs))


def _own_index(rng: Random) -> tuple[Launch, Expected]:
    """Where a store goes is read from the memory that it changes, once; so is an atomic's place."""
    count, width = 40, 4
    with program("own_index", GROUP) as p:
        x, sums = p.read_write("x", u32), p.read_write("sums", u32)
        own = p.private("own", u32, 4)
        i = p.let(p.global_id(0))
        first, seen = p.let(i * width), p.var(0, u32)
        with p.range(0, width) as k:
            own[k] = x[first + k]
        with p.range(0, 5) as k:
            x[first + x[first] % width] = x[first + x[first] % width] * 3 + x[first] + k
            own[own[1] % 7] = i + k
            seen.set(seen * 3 + own[own[1] % 7])
            sums.atomic_add(first + sums[first] % width, sums[first] | 1)
        with p.range(0, width) as k:
            x[first + k] = x[first + k] ^ (own[k] * 5 + seen)
    values = [[rng.randrange(TOP) for _ in range(width)] for _ in range(count)]
    totals = [[rng.randrange(TOP) for _ in range(width)] for _ in range(count)]
    inputs = {"x": pack(u32, chain(*values)), "sums": pack(u32, chain(*totals))}
    for n, (row, mine) in enumerate(zip(values, totals, strict=True)):
        stored, seen_ = list(row), 0
        for k_ in range(5):
            at = row[0] % width
            row[at] = (row[at] * 3 + row[0] + k_) % TOP
            if stored[1] % 7 < width:
                stored[stored[1] % 7] = n + k_
            seen_ = (seen_ * 3 + (stored[stored[1] % 7] if stored[1] % 7 < width else 0)) % TOP
            mine[mine[0] % width] = (mine[mine[0] % width] + (mine[0] | 1)) % TOP
        row[:] = [v ^ (mine_ * 5 + seen_) % TOP for v, mine_ in zip(row, stored, strict=True)]
    outputs = (pack(u32, chain(*values)), pack(u32, chain(*totals)))
    return Launch(program=p.build(), inputs=inputs), Exactly(outputs)


def _tables(types: list[DType], rng: Random) -> tuple[Launch, Expected]:
    """Special values in constant memory, at places that are known and at others: infinities, NaNs, zeros with signs."""
    specials = [float("-inf"), float("nan"), float("inf"), -0.0, 0.0, -1.5]
    count, outputs = len(specials), []
    with program("special_tables", GROUP) as p:
        i = p.let(p.global_id(0))
        for dtype in types:
            table = p.constant(f"table_{dtype}", dtype, np.frombuffer(pack(dtype, specials), dtype.numpy))
            seen, known = p.write(f"seen_{dtype}", dtype, count + 2), p.write(f"known_{dtype}", u32, count)
            seen[i] = -table[i]
            with p.if_(i == 0):
                for n in range(count):
                    known[n] = _kind(table[n])
            zeros = [0.0, 0.0]
            outputs += [pack(dtype, [*(-x for x in specials), *(-x for x in zeros)]), pack(u32, [7, 0, 2, 6, 2, 7])]
    return Launch(program=p.build(), inputs={}, grid=(1, 1, 1)), Exactly(tuple(outputs))


def _kind(x: Value) -> Value:
    """1 for less than 0, 2 for a number, 4 for a sign, which a NaN does not have."""
    is_signed = apply("copysign", constant(x.dtype, 1.0), x) < 0
    return (
        select(x < 0, 1, constant(u32, 0))
        + select(x == x, 2, constant(u32, 0))
        + select(is_signed, 4, constant(u32, 0))
    )


def _between(rng: Random) -> tuple[Launch, Expected]:
    """Statements between two stores to one element.

    These are a return, a loop that may have no iteration, and a branch that changes its own condition.
    """
    count = 40
    with program("between_stores", GROUP) as p:
        x, cells = p.read("x", u32), p.read_write("cells", u32)
        twice, iterations, marks = (p.write(name, u32, count) for name in ("twice", "rounds", "marks"))
        i, mark = p.let(p.global_id(0)), p.var(0, u32)
        with p.range(0, x[i] % 3):
            iterations[i] = i + 5
        with p.if_(cells[i] % 2 == 0):
            cells[i] = cells[i] + x[i] % 2
            mark.set(1)
        with p.if_(cells[i] % 2 == 0):
            mark.set(mark + 2)
        with p.else_():
            cells[i] = cells[i] * 3
        with p.if_(x[i] % 7 < 4), p.if_(x[i] % 11 < 5):
            mark.set(mark + 4)
        with p.else_():
            mark.set(mark + 8)
        marks[i] = mark
        twice[i] = x[i] + 1
        with p.if_(x[i] % 5 < 2):
            p.return_()
        twice[i] = x[i] + 2
    xs, olds = ([rng.randrange(TOP - 2) for _ in range(count)] for _ in "xc")
    rows: list[list[int]] = [[], [], [], []]
    for n, (v, old) in enumerate(zip(xs, olds, strict=True)):
        found = 0
        if old % 2 == 0:
            old, found = (old + v % 2) % TOP, 1
        if old % 2 == 0:
            found += 2
        else:
            old = old * 3 % TOP
        found += 8 if v % 7 >= 4 else 4 if v % 11 < 5 else 0
        for row, value in zip(rows, (old, v + 1 if v % 5 < 2 else v + 2, n + 5 if v % 3 else 0, found), strict=True):
            row.append(value)
    inputs = {"x": pack(u32, xs), "cells": pack(u32, olds)}
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(pack(u32, row) for row in rows), ("x",))


def _again(rng: Random) -> tuple[Launch, Expected]:
    """An element is read again behind an atomic, behind a store to it under another index, and behind a barrier."""
    count = 3 * GROUP
    with program("read_again", GROUP) as p:
        x, cells = p.read("x", u32), p.read_write("cells", u32)
        first, second, third = (p.write(name, u32, count) for name in ("first", "second", "third"))
        shared = p.workgroup("shared", u32, GROUP)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        cells[i] = x[i]
        cells.atomic_add(i, 7)
        first[i] = cells[i]
        before = p.let(cells[i])
        cells[i ^ (x[i] & 0)] = before * 3
        second[i] = cells[i] + before
        shared[local] = x[i]
        p.barrier()
        own = p.let(shared[(local + 1) % GROUP])
        p.barrier()
        shared[(local + 1) % GROUP] = own * 5 + local
        p.barrier()
        after = p.let(shared[(local + 1) % GROUP])
        third[i] = own + after * 2 + shared[local]
    values = [rng.randrange(TOP) for _ in range(count)]
    rows: list[list[int]] = [[], [], [], []]
    for n, v in enumerate(values):
        base, mine = n - n % GROUP, n % GROUP
        beside = values[base + (mine + 1) % GROUP]
        left = (mine - 1) % GROUP
        added = (v + 7) % TOP
        result = beside + (beside * 5 + mine) * 2 + v * 5 + left
        for row, value in zip(rows, (added * 3, added, added * 4, result), strict=True):
            row.append(value % TOP)
    inputs = {"x": pack(u32, values), "cells": bytes(4 * count)}
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(pack(u32, row) for row in rows), ("x",))
