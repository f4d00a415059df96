"""Atomics: four types, eight ops, storage and workgroup memory. Where the schedule decides, results are sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import DType, i32, i64, u32, u64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ops.scalar import from_bits, wrap
from vyre_foundation.testing.values import random_bits

TYPES = (u32, i32, u64, i64)
COUNT = 150

# fmt: off
COMMUTATIVE: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "and": lambda x, y: x & y,
    "or":  lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "min": min,
    "max": max,
}
# fmt: on


def specs() -> Iterator[Spec]:
    for dtype in TYPES:
        for memory in (Memory.STORAGE, Memory.WORKGROUP):
            for op in COMMUTATIVE:
                yield seeded(address("atomics", op, dtype=dtype, memory=memory.value), _contended, op, dtype, memory)
            yield fixed(address("atomics", "tickets", dtype=dtype, memory=memory.value), _tickets, dtype, memory)
        for memory in (Memory.STORAGE, Memory.WORKGROUP, Memory.SCRATCH, Memory.PERSISTENT):
            yield seeded(address("atomics", "old_values", dtype=dtype, memory=memory.value), _old_values, dtype, memory)
        yield fixed(address("atomics", "exchange_chain", dtype=dtype), _exchange_chain, dtype)
        yield fixed(address("atomics", "compare_exchange_once", dtype=dtype), _once, dtype)
        yield fixed(address("atomics", "out_of_bounds", dtype=dtype), _out_of_bounds, dtype)
    yield fixed(address("atomics", "scratch"), _scratch)


def _contended(op: str, dtype: DType, memory: Memory, rng: Random) -> tuple[Launch, Expected]:
    """Everybody hits the elements of a small table; the fold does not depend on the order."""
    slots = 5
    with program(f"atomic_{op}_{dtype}_{memory.value}", 32) as p:
        x, at = p.read("x", dtype), p.read("at", u32)
        table = p.read_write("table", dtype, slots)
        i = p.let(p.global_id(0))
        if memory is Memory.STORAGE:
            with p.if_(i < x.length):
                getattr(table, f"atomic_{op}")(at[i], x[i])
        else:
            shared = p.workgroup("shared", dtype, slots)
            local = p.let(p.local_id(0))
            with p.if_(local < slots):
                shared[local] = x[local]  # every group begins alike: folds of idempotent ops stay what they are
            p.barrier()
            with p.if_(i < x.length):
                getattr(shared, f"atomic_{op}")(at[i], x[i])
            p.barrier()
            with p.if_(local < slots):
                getattr(table, f"atomic_{op}")(local, shared[local])
    values = [int(from_bits(dtype, random_bits(rng, dtype))) for _ in range(COUNT)]
    indices = [rng.randrange(slots) for _ in range(COUNT)]
    start = [int(from_bits(dtype, random_bits(rng, dtype))) for _ in range(slots)]
    fold = COMMUTATIVE[op]
    results = []
    for slot in range(slots):
        chosen = [v for v, i in zip(values, indices, strict=True) if i == slot]
        if memory is Memory.WORKGROUP:
            chosen += [values[slot]] * -(-COUNT // 32)
        results.append(reduce(lambda a, b: wrap(dtype, fold(a, b)), chosen, start[slot]))
    inputs = {"x": pack(dtype, values), "at": pack(u32, indices), "table": pack(dtype, start)}
    grid = (-(-COUNT // 32), 1, 1)
    return Launch(program=p.build(), inputs=inputs, grid=grid), Exactly((pack(dtype, results),))


def _old_values(dtype: DType, memory: Memory, rng: Random) -> tuple[Launch, Expected]:
    """All eight ops, each on an element of one's own: the old values and what is left are certain."""
    ops = (*COMMUTATIVE, "exchange", "compare_exchange")
    with program(f"old_values_{dtype}_{memory.value}", 16) as p:
        start, x, guess = p.read("start", dtype), p.read("x", dtype), p.read("guess", dtype)
        old, left = p.write("old", dtype, like=start), p.write("left", dtype, like=start)
        match memory:
            case Memory.WORKGROUP:
                cells = p.workgroup("cells", dtype, 16)
            case Memory.SCRATCH:
                cells = p.scratch("cells", dtype, like=start)
            case Memory.PERSISTENT:
                cells = p.persistent("cells", dtype, like=start)
            case _:
                cells = p.read_write("cells", dtype, like=start)
        i = p.let(p.global_id(0))
        own = p.local_id(0) if memory is Memory.WORKGROUP else i
        cells[own] = start[i]
        for n, op in enumerate(ops):
            with p.if_(i % len(ops) == n):
                if op == "compare_exchange":
                    old[i] = cells.atomic_compare_exchange(own, guess[i], x[i])
                else:
                    old[i] = getattr(cells, f"atomic_{op}")(own, x[i])
        left[i] = cells[own]
    count = 203
    starts, xs = ([int(from_bits(dtype, random_bits(rng, dtype))) for _ in range(count)] for _ in "sx")
    guesses = [rng.choice(pair) for pair in zip(starts, xs, strict=True)]
    results = []
    for n, (found, value, hoped) in enumerate(zip(starts, xs, guesses, strict=True)):
        op = ops[n % len(ops)]
        if op == "compare_exchange":
            results.append(value if found == hoped else found)
        else:
            results.append(value if op == "exchange" else wrap(dtype, COMMUTATIVE[op](found, value)))
    inputs = {"start": pack(dtype, starts), "x": pack(dtype, xs), "guess": pack(dtype, guesses)}
    outputs = [pack(dtype, starts), pack(dtype, results)]
    if memory is Memory.STORAGE:
        inputs["cells"] = bytes(count * dtype.size)
        outputs.append(outputs[1])
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(outputs), ("start", "x", "guess"))


def _tickets(dtype: DType, memory: Memory) -> tuple[Launch, Expected]:
    """Every invocation draws one ticket: no two the same, none left out, in no promised order."""
    group, groups = 32, 5
    with program(f"tickets_{dtype}_{memory.value}", group) as p:
        out = p.write("out", dtype, group * groups)
        i = p.let(p.global_id(0))
        if memory is Memory.STORAGE:
            counter = p.read_write("counter", dtype, 1)
            out[i] = counter.atomic_add(0, 3)
        else:
            counter = p.workgroup("counter", dtype, 1)
            out[i] = counter.atomic_add(0, 3)
    if memory is Memory.STORAGE:
        start = dtype.highest - 200
        drawn = [wrap(dtype, start + 3 * n) for n in range(group * groups)]
        outputs = (pack(dtype, drawn), pack(dtype, [wrap(dtype, start + 3 * group * groups)]))
        return Launch(program=p.build(), inputs={"counter": pack(dtype, [start])}), Exactly(outputs, unordered=("out",))
    drawn = [3 * n for n in range(group)] * groups
    return Launch(program=p.build(), inputs={}), Exactly((pack(dtype, drawn),), unordered=("out",))


def _exchange_chain(dtype: DType) -> tuple[Launch, Expected]:
    """A value goes in for each that comes out: all of them together are what was put in, and the first."""
    count = 96
    with program(f"exchange_chain_{dtype}", 32) as p:
        out = p.write("out", dtype, count + 1)
        cell = p.scratch("cell", dtype, 1)
        i = p.let(p.global_id(0))
        with p.if_(i < count):
            out[i] = cell.atomic_exchange(0, i.cast(dtype) + 1)
        p.grid_barrier()
        with p.if_(i == 0):
            out[count] = cell[0]
    expected = pack(dtype, range(count + 1))
    return Launch(program=p.build(), inputs={}, grid=(4, 1, 1)), Exactly((expected,), unordered=("out",))


def _once(dtype: DType) -> tuple[Launch, Expected]:
    """Exactly one invocation finds what it expects, and a compare-and-exchange never fails without a reason."""
    count = 128
    with program(f"once_{dtype}", 32) as p:
        out, own = p.write("out", u32, count), p.write("own", u32, count)
        cell, cells = p.scratch("cell", dtype, 1), p.scratch("cells", dtype, count)
        i = p.let(p.global_id(0))
        won = p.let(cell.atomic_compare_exchange(0, 0, i.cast(dtype) + 1))
        out[i] = (won == 0).cast(u32)
        wins = p.var(0, u32)
        with p.range(0, 8) as round:
            found = p.let(cells.atomic_compare_exchange(i, round.cast(dtype), round.cast(dtype) + 1))
            wins.set(wins + (found == round.cast(dtype)).cast(u32))
        own[i] = wins
    outputs = (pack(u32, [1] + [0] * (count - 1)), pack(u32, [8] * count))
    return Launch(program=p.build(), inputs={}), Exactly(outputs, unordered=("out",))


def _out_of_bounds(dtype: DType) -> tuple[Launch, Expected]:
    """Out of bounds an atomic does nothing and gives 0."""
    indices = [0, 3, 4, 5, 2**31, 2**32 - 1, 1, 2]
    with program(f"atomic_out_of_bounds_{dtype}", 8) as p:
        at, cells = p.read("at", u32), p.read_write("cells", dtype, 4)
        out, inside = p.write("out", dtype, 8), p.write("inside", dtype, 8)
        shared = p.workgroup("shared", dtype, 4)
        i = p.let(p.global_id(0))
        out[i] = cells.atomic_add(at[i], 5)
        inside[i] = shared.atomic_or(at[i], 6)
        signed = p.let(i.cast(i32) - 100)
        cells.atomic_exchange(signed, 99)
    start = [10, 20, 30, 40]
    old = [start[i] if i < 4 else 0 for i in indices]
    outputs = (pack(dtype, [s + 5 for s in start]), pack(dtype, old), pack(dtype, [0] * 8))
    inputs = {"at": pack(u32, indices), "cells": pack(dtype, start)}
    return Launch(program=p.build(), inputs=inputs, grid=(1, 1, 1)), Exactly(outputs)


def _scratch() -> tuple[Launch, Expected]:
    """Counts per bin in scratch memory, read after a grid barrier."""
    with program("atomic_scratch", 16) as p:
        out, bins = p.write("out", u32, 80), p.scratch("bins", u32, 7)
        i = p.let(p.global_id(0))
        bins.atomic_add(i * i % 7, 1)
        p.grid_barrier()
        out[i] = bins[i % 7]
    counts = [sum(n * n % 7 == b for n in range(80)) for b in range(7)]
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, [counts[n % 7] for n in range(80)]),))
