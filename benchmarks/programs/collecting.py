"""Many elements into few: sums, counts, and sums of everything before."""

from __future__ import annotations

from functools import reduce
from operator import add

from programs.sizes import BINS, GROUP, RUN, TABLES
from vyre_foundation import Array, Program, ProgramBuilder, Value, program, u32


def reduction(groups: int) -> Program:
    """One sum for each workgroup, by a tree in its memory. The grid is `groups`."""
    with program("reduction", GROUP) as p:
        x, out = p.read("x", u32), p.write("out", u32, groups)
        shared = p.workgroup("shared", u32, GROUP)
        local = p.local_id(0)
        shared[local] = x[p.global_id(0)]
        p.barrier()
        distance = GROUP // 2
        while distance:
            with p.if_(local < distance):
                shared[local] = shared[local] + shared[local + distance]
            p.barrier()
            distance //= 2
        with p.if_(local == 0):
            out[p.workgroup_id(0)] = shared[0]
    return p.build()


def histogram() -> Program:
    """Every invocation adds to the result itself. The grid covers `x`."""
    with program("histogram", GROUP) as p:
        x, out = p.read("x", u32), p.write("out", u32, BINS)
        out.atomic_add(x[p.global_id(0)] & (BINS - 1), 1)
    return p.build()


def ranks() -> Program:
    """The histogram, with the result of every atomic used."""
    with program("ranks", GROUP) as p:
        x, count = p.read("x", u32), p.scratch("count", u32, BINS)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = count.atomic_add(x[p.global_id(0)] & (BINS - 1), 1)
    return p.build()


def shared_histogram(each: int) -> Program:
    """Counted in the memory of the workgroup, `each` elements for an invocation, then added to the result.

    An invocation takes a few elements in a row, and counts each of them in a table of its own, so that equal neighbours
    do not wait for each other.
    """
    with program("shared_histogram", GROUP) as p:
        x, out = p.read("x", u32), p.write("out", u32, BINS)
        here = p.workgroup("here", u32, TABLES * BINS)
        first = p.let(p.workgroup_id(0) * (GROUP * each) + p.local_id(0) * TABLES)
        with p.range(0, each // TABLES) as n:
            for table in range(TABLES):
                here.atomic_add(table * BINS + (x[first + n * (GROUP * TABLES) + table] & (BINS - 1)), 1)
        p.barrier()
        counts = (here[p.local_id(0) + table * BINS] for table in range(TABLES))
        out.atomic_add(p.local_id(0), reduce(add, counts))
    return p.build()


def prefix_sum(groups: int) -> Program:
    """The sum of every element and all before it, a run of `RUN` for each invocation. The grid is `groups`.

    Workgroups add up their own; one of them adds up the sums of all; then everyone knows what came before. That one has
    memory of its own for it, because what is used on both sides of a grid barrier has to be kept for all.
    """
    with program("prefix_sum", GROUP) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        sums = p.scratch("sums", u32, groups)
        shared, again = p.workgroup("shared", u32, GROUP), p.workgroup("again", u32, GROUP)
        local, group = p.local_id(0), p.workgroup_id(0)

        first = p.let(p.global_id(0) * RUN)
        own = p.var(0, u32)
        with p.range(0, RUN) as n:
            own.set(own + x[first + n])
        before = p.let(_sum_before(p, shared, own.get()))
        with p.if_(local == GROUP - 1):
            sums[group] = before + own
        p.grid_barrier()

        with p.if_(group == 0):
            each = -(-groups // GROUP)
            total = p.var(0, u32)
            with p.range(0, each) as n:
                total.set(total + sums[local * each + n])
            running = p.var(_sum_before(p, again, total.get()))
            with p.range(0, each) as n:
                running.set(running + sums[local * each + n])
                sums[local * each + n] = running
        p.grid_barrier()

        running = p.var(before + sums[group - 1])
        with p.range(0, RUN) as n:
            running.set(running + x[first + n])
            out[first + n] = running
    return p.build()


def _sum_before(p: ProgramBuilder, shared: Array, value: Value) -> Value:
    """The sum of the values of all invocations of the workgroup before this one. Loads out of bounds give 0."""
    local = p.local_id(0)
    shared[local] = value
    p.barrier()
    distance = 1
    while distance < GROUP:
        further = shared[local - distance]
        p.barrier()
        shared[local] = shared[local] + further
        p.barrier()
        distance *= 2
    return shared[local - 1]
