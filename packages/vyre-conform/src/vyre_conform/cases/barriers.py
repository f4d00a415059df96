"""Workgroup barriers: what is written before is seen after, in workgroup memory and in storage, in loops too."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import FLOATS, DType, u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import from_bits
from vyre_foundation.testing.values import random_bits


def specs() -> Iterator[Spec]:
    for group in (1, 2, 33, 64, 256):
        yield seeded(address("barriers", "reverse", group=group), _reverse, group)
        yield seeded(address("barriers", "rotate", group=group), _rotate, group)
    yield seeded(address("barriers", "storage"), _storage, Memory.STORAGE)
    yield seeded(address("barriers", "scratch"), _storage, Memory.SCRATCH)
    yield seeded(address("barriers", "doubling"), _doubling)
    yield fixed(address("barriers", "uniform_branch"), _uniform_branch)
    yield fixed(address("barriers", "uniform_break"), _uniform_break)
    yield fixed(address("barriers", "uniform_return"), _uniform_return)
    yield fixed(address("barriers", "locals_live_across"), _locals)
    yield seeded(address("barriers", "in_2d_groups"), _transpose)
    yield fixed(address("barriers", "alone"), _alone)
    for dtype in FLOATS:
        yield seeded(address("barriers", "signs_live_across", dtype=dtype), _signs, dtype)


def _reverse(group: int, rng: Random) -> tuple[Launch, Expected]:
    """Each group reverses its part of the input."""
    with program(f"reverse_{group}", group) as p:
        x, out = p.read("x", u32), p.write("out", u32, group * 3)
        shared = p.workgroup("shared", u32, group)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        shared[local] = x[i]
        p.barrier()
        out[i] = shared[(group - 1) - local]
    values = [rng.randrange(2**32) for _ in range(group * 3)]
    parts = [values[n : n + group][::-1] for n in range(0, len(values), group)]
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)})
    return launch, Exactly((pack(u32, [v for part in parts for v in part]),))


def _rotate(group: int, rng: Random) -> tuple[Launch, Expected]:
    """Rounds in which every invocation takes its neighbour's value: two barriers in a loop."""
    with program(f"rotate_{group}", group) as p:
        x, out = p.read("x", u32), p.write("out", u32, group * 2)
        shared = p.workgroup("shared", u32, group)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        mine = p.var(x[i])
        with p.range(0, 5) as round:
            shared[local] = mine
            p.barrier()
            mine.set(shared[(local + 1) % group] * 3 + round)
            p.barrier()
        out[i] = mine
    values = [rng.randrange(2**32) for _ in range(group * 2)]
    result: list[int] = []
    for start in (0, group):
        part = values[start : start + group]
        for step in range(5):
            part = [(part[(n + 1) % group] * 3 + step) % 2**32 for n in range(group)]
        result += part
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly((pack(u32, result),), ("x",))


def _storage(memory: Memory, rng: Random) -> tuple[Launch, Expected]:
    """A barrier orders storage within the workgroup, too."""
    with program("storage", 32) as p:
        x, out = p.read("x", u32), p.write("out", u32, 96)
        cells = p.scratch("cells", u32, 96) if memory is Memory.SCRATCH else p.read_write("cells", u32)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        cells[i] = x[i] ^ 0xFFFF
        p.barrier()
        out[i] = cells[i - local + (local * 5 + 3) % 32]
    values = [rng.randrange(2**32) for _ in range(96)]
    cells_ = [v ^ 0xFFFF for v in values]
    read = [cells_[n - n % 32 + (n % 32 * 5 + 3) % 32] for n in range(96)]
    inputs = {"x": pack(u32, values)}
    if memory is Memory.SCRATCH:
        return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, read),))
    inputs["cells"] = bytes(4 * 96)
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, read), pack(u32, cells_)))


def _doubling(rng: Random) -> tuple[Launch, Expected]:
    """An inclusive sum over 128 invocations by pointer doubling: the distance is a mutable of the loop."""
    with program("doubling", 128) as p:
        x, out = p.read("x", u32), p.write("out", u32, 256)
        shared = p.workgroup("shared", u32, 128)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        shared[local] = x[i]
        p.barrier()
        distance = p.var(1, u32)
        with p.range(0, 7):
            other = p.var(0, u32)
            with p.if_(local >= distance):
                other.set(shared[local - distance])
            p.barrier()
            shared[local] = shared[local] + other
            distance.set(distance * 2)
            p.barrier()
        out[i] = shared[local]
    values = [rng.randrange(1000) for _ in range(256)]
    sums = [sum(values[n - n % 128 : n + 1]) for n in range(256)]
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly((pack(u32, sums),), ("x",))


def _uniform_branch() -> tuple[Launch, Expected]:
    """A barrier under a condition that is the same for the whole group, different between groups."""
    with program("uniform_branch", 16) as p:
        out, shared = p.write("out", u32, 64), p.workgroup("shared", u32, 16)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        shared[local] = i
        with p.if_(p.workgroup_id(0) % 2 == 0):
            p.barrier()
            out[i] = shared[15 - local] + 100
        with p.else_():
            out[i] = shared[local]
    values = [n - n % 16 + 15 - n % 16 + 100 if n // 16 % 2 == 0 else n for n in range(64)]
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, values),))


def _uniform_break() -> tuple[Launch, Expected]:
    """Groups leave a loop with barriers after different numbers of rounds."""
    with program("uniform_break", 8) as p:
        out, shared = p.write("out", u32, 40), p.workgroup("shared", u32, 8)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        shared[local] = local
        p.barrier()
        with p.range(0, 10) as round:
            with p.if_(round == p.workgroup_id(0)):
                p.break_()
            mine = p.let(shared[(local + 1) % 8])
            p.barrier()
            shared[local] = mine + 10
            p.barrier()
        out[i] = shared[local]
    values = [(n % 8 + n // 8) % 8 + 10 * (n // 8) for n in range(40)]
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, values),))


def _uniform_return() -> tuple[Launch, Expected]:
    """Whole groups leave before a barrier."""
    with program("uniform_return", 8) as p:
        out, shared = p.write("out", u32, 32), p.workgroup("shared", u32, 8)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        with p.if_(p.workgroup_id(0) == 2):
            out[i] = 7
            p.return_()
        shared[local] = i
        p.barrier()
        out[i] = shared[7 - local]
    values = [7 if n // 8 == 2 else n - n % 8 + 7 - n % 8 for n in range(32)]
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, values),))


def _locals() -> tuple[Launch, Expected]:
    """Locals, private memory and loop counters are one's own on both sides of a barrier."""
    with program("locals", 16) as p:
        out, shared = p.write("out", u32, 32), p.workgroup("shared", u32, 16)
        own = p.private("own", u32, 4)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        total = p.var(i)
        with p.range(0, 4) as k:
            own[k] = i * (k + 1)
            shared[local] = total
            p.barrier()
            total.set(total + own[k] + k + shared[local ^ 1])
            p.barrier()
        out[i] = total + own[2]
    totals = list(range(32))
    for step in range(4):
        totals = [(totals[n] + n * (step + 1) + step + totals[n ^ 1]) % 2**32 for n in range(32)]
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, [t + n * 3 for n, t in enumerate(totals)]),))


def _signs(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """What only changes a sign before a barrier is still changed after it, also where it came from private memory."""
    group, names = 33, ("negated", "kept", "truncated")
    with program(f"signs_{dtype}", group) as p:
        x = p.read("x", dtype)
        negated, stored, truncated = (p.write(name, dtype, like=x) for name in names)
        own = p.private("own", dtype, 4)
        i = p.let(p.global_id(0))
        own[0] = x[i]
        own[3] = x[0]
        minus = p.let(-x[i])
        private = p.let(-own[p.local_id(0)])
        whole = p.let(apply("trunc", minus))
        p.barrier()
        negated[i] = minus
        stored[i] = private
        truncated[i] = whole
    values = [from_bits(dtype, random_bits(rng, dtype)) for _ in range(group * 3)]
    held = [values[n] if n % group == 0 else values[0] if n % group == 3 else 0.0 for n in range(len(values))]
    negative = [-v for v in values]
    whole_ = [OPS["trunc"].evaluate(dtype, v) for v in negative]
    launch = Launch(program=p.build(), inputs={"x": pack(dtype, values)})
    return launch, Exactly(tuple(pack(dtype, row) for row in (negative, [-v for v in held], whole_)))


def _transpose(rng: Random) -> tuple[Launch, Expected]:
    """Tiles of 8 × 4 are transposed through workgroup memory."""
    with program("transpose", (8, 4, 1)) as p:
        x, out = p.read("x", u32), p.write("out", u32, 16 * 8)
        tile = p.workgroup("tile", u32, 32)
        lx, ly = p.let(p.local_id(0)), p.let(p.local_id(1))
        tile[ly * 8 + lx] = x[p.global_id(1) * 16 + p.global_id(0)]
        p.barrier()
        flat = p.let(ly * 8 + lx)
        row = p.let(p.workgroup_id(0) * 8 + flat // 4)
        out[row * 8 + p.workgroup_id(1) * 4 + flat % 4] = tile[flat % 4 * 8 + flat // 4]
    values = [rng.randrange(2**32) for _ in range(16 * 8)]
    turned = [values[column * 16 + row] for row in range(16) for column in range(8)]
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}, grid=(2, 2, 1)), Exactly((pack(u32, turned),))


def _alone() -> tuple[Launch, Expected]:
    """A workgroup of one invocation, which finds zeros like any other, and passes its barriers at once."""
    with program("alone", 1) as p:
        out = p.write("out", u32, 5)
        cells, untouched = p.workgroup("cells", u32, 3), p.workgroup("untouched", u32, 2)
        i = p.let(p.global_id(0))
        found = p.let(cells[i % 3] + untouched[i % 2])
        with p.range(0, i) as round:
            cells[round % 3] = cells[(round + 1) % 3] + i
            p.barrier()
        out[i] = found * 1000 + cells[0] * 100 + cells[1] * 10 + cells[2]
    results = []
    for item in range(5):
        stored = [0, 0, 0]
        for round_ in range(item):
            stored[round_ % 3] = stored[(round_ + 1) % 3] + item
        results.append(stored[0] * 100 + stored[1] * 10 + stored[2])
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, results),))
