"""Grid barriers: every write of the dispatch before is seen by everybody after, and all memory lives across."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import i32, u32

COUNT, GROUP = 80, 16


def specs() -> Iterator[Spec]:
    yield seeded(address("grid", "two_phases"), _two_phases)
    yield seeded(address("grid", "phases_in_a_loop"), _loop)
    yield fixed(address("grid", "nested_loops"), _nested)
    yield fixed(address("grid", "everything_lives_across"), _lives)
    yield fixed(address("grid", "bound_from_a_length"), _length_bound)
    yield fixed(address("grid", "no_rounds"), _no_iterations)
    yield fixed(address("grid", "barriers_alone"), _alone)


def _two_phases(rng: Random) -> tuple[Launch, Expected]:
    """Each invocation reads what one of another workgroup wrote."""
    with program("two_phases", GROUP) as p:
        x, out = p.read("x", u32), p.write("out", u32, COUNT)
        cells = p.scratch("cells", u32, COUNT)
        i = p.let(p.global_id(0))
        cells[i] = x[i] * 3
        p.grid_barrier()
        out[i] = cells[(COUNT - 1) - i] + 1
    values = [rng.randrange(2**32) for _ in range(COUNT)]
    expected = [(v * 3 + 1) % 2**32 for v in reversed(values)]
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly((pack(u32, expected),))


def _loop(rng: Random) -> tuple[Launch, Expected]:
    """An inclusive sum over the whole grid by doubling; the distance follows from the counter."""
    with program("grid_scan", GROUP) as p:
        out = p.read_write("out", u32)
        other = p.scratch("other", u32, COUNT)
        i = p.let(p.global_id(0))
        with p.range(0, 7) as round:
            distance = p.let(p.let(1, u32) << round)
            value = p.var(out[i])
            with p.if_(i >= distance):
                value.set(value + out[i - distance])
            other[i] = value
            p.grid_barrier()
            out[i] = other[i]
            p.grid_barrier()
    values = [rng.randrange(1000) for _ in range(COUNT)]
    sums = [sum(values[: n + 1]) for n in range(COUNT)]
    return Launch(program=p.build(), inputs={"out": pack(u32, values)}), Exactly((pack(u32, sums),))


def _nested() -> tuple[Launch, Expected]:
    """Loops in loops, a signed counter, a step, and the counters used as values."""
    with program("grid_nested", GROUP) as p:
        out, cells = p.write("out", u32, COUNT), p.scratch("cells", u32, COUNT)
        i = p.let(p.global_id(0))
        cells[i] = i
        p.grid_barrier()
        with p.range(-2, 5, 3, dtype=i32) as a, p.range(0, 2) as b:
            taken = p.let(cells[(i + 17) % COUNT])
            p.grid_barrier()
            cells[i] = taken * 3 + a.cast(u32) + b
            p.grid_barrier()
        out[i] = cells[i]
    cells_ = list(range(COUNT))
    for a_ in range(-2, 5, 3):
        for b_ in range(2):
            cells_ = [(cells_[(n + 17) % COUNT] * 3 + a_ + b_) % 2**32 for n in range(COUNT)]
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, cells_),))


def _lives() -> tuple[Launch, Expected]:
    """Locals, mutables, workgroup memory and private memory are what they were before."""
    with program("grid_lives", GROUP) as p:
        out = p.write("out", u32, COUNT)
        shared, own, cells = p.workgroup("shared", u32, GROUP), p.private("own", u32, 3), p.scratch("cells", u32, COUNT)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        constant, changed = p.let(i * 5), p.var(i + 1)
        shared[local] = i * 7
        own[1] = i * 11
        cells[i] = i
        p.grid_barrier()
        changed.set(changed + cells[(i + 33) % COUNT])
        own[2] = own[1] + 1
        p.grid_barrier()
        out[i] = constant + changed + shared[local ^ 1] + own[2] + own[0]
    values = [n * 5 + (n + 1) + (n + 33) % COUNT + (n ^ 1) * 7 + n * 11 + 1 for n in range(COUNT)]
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, values),))


def _length_bound() -> tuple[Launch, Expected]:
    """The number of rounds is the length of an input and the number of workgroups."""
    with program("grid_length", GROUP) as p:
        iterations, out, cells = p.read("rounds", u32), p.write("out", u32, COUNT), p.scratch("cells", u32, COUNT)
        i = p.let(p.global_id(0))
        with p.range(0, iterations.length + p.num_workgroups(0)) as k:
            cells[i] = cells[i] + k
            p.grid_barrier()
        out[i] = cells[(COUNT - 1) - i]
    total = sum(range(3 + COUNT // GROUP))
    return Launch(program=p.build(), inputs={"rounds": bytes(12)}), Exactly((pack(u32, [total] * COUNT),))


def _no_iterations() -> tuple[Launch, Expected]:
    """A loop around a barrier that does not run at all."""
    with program("grid_no_rounds", GROUP) as p:
        out, empty = p.write("out", u32, COUNT), p.read("empty", u32)
        i = p.let(p.global_id(0))
        out[i] = 3
        with p.range(0, empty.length):
            p.grid_barrier()
            out[i] = 4
        p.grid_barrier()
    return Launch(program=p.build(), inputs={"empty": b""}), Exactly((pack(u32, [3] * COUNT),))


def _alone() -> tuple[Launch, Expected]:
    """Barriers first, last, and one right after the other."""
    with program("grid_alone", GROUP) as p:
        out = p.write("out", u32, COUNT)
        p.grid_barrier()
        p.grid_barrier()
        out[p.global_id(0)] = p.global_id(0)
        p.grid_barrier()
        p.barrier()
        p.grid_barrier()
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, range(COUNT)),))
