"""Reduction, scan and histogram, in the way that a device does them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program, select
from vyre_foundation.dtype import f32, u8, u32
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar

GROUP = 64


def specs() -> Iterator[Spec]:
    for count in (1, 63, 64, 65, 1000):
        yield seeded(address("programs", "tree_reduction", n=count), _reduction, count)
    for count in (5, 64, 1000):
        yield seeded(address("programs", "scan", n=count), _scan, count)
    yield seeded(address("programs", "histogram"), _histogram)
    yield seeded(address("programs", "stream_compaction"), _compaction)


def _reduction(count: int, rng: Random) -> tuple[Launch, Expected]:
    """Partial sums of f32 by a tree in workgroup memory: the order of the additions is the program's."""
    groups = -(-count // GROUP)
    with program("tree_reduction", GROUP) as p:
        x, out = p.read("x", f32), p.write("out", f32, groups)
        shared = p.workgroup("shared", f32, GROUP)
        local = p.let(p.local_id(0))
        shared[local] = x[p.global_id(0)]
        p.barrier()
        for distance in (32, 16, 8, 4, 2, 1):
            with p.if_(local < distance):
                shared[local] = shared[local] + shared[local + distance]
            p.barrier()
        with p.if_(local == 0):
            out[p.workgroup_id(0)] = shared[0]
    values = [rng.uniform(-1e6, 1e6) for _ in range(count)]
    data = pack(f32, [_rounded(v) for v in values])
    rounded = [_rounded(v) for v in values] + [0.0] * (groups * GROUP - count)
    sums = [_tree(rounded[start : start + GROUP]) for start in range(0, len(rounded), GROUP)]
    return Launch(program=p.build(), inputs={"x": data}, grid=(groups, 1, 1)), Exactly((pack(f32, sums),))


def _rounded(value: float) -> Scalar:
    return OPS["add"].evaluate(f32, value, 0.0)


def _tree(level: list[Scalar]) -> Scalar:
    while len(level) > 1:
        half = len(level) // 2
        level = [OPS["add"].evaluate(f32, level[n], level[n + half]) for n in range(half)]
    return level[0]


def _scan(count: int, rng: Random) -> tuple[Launch, Expected]:
    """Inclusive sums over the grid: in each group, then over the groups' totals, then together."""
    groups = -(-count // GROUP)
    with program("scan", GROUP) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        totals, shared = p.scratch("totals", u32, groups), p.workgroup("shared", u32, GROUP)
        i, local, group = p.let(p.global_id(0)), p.let(p.local_id(0)), p.workgroup_id(0)
        shared[local] = x[i]
        p.barrier()
        with p.range(0, 6) as round:
            distance = p.let(p.let(1, u32) << round)
            other = p.let(select(local >= distance, shared[local - distance], 0))
            p.barrier()
            shared[local] = shared[local] + other
            p.barrier()
        with p.if_(local == GROUP - 1):
            totals[group] = shared[local]
        p.grid_barrier()
        before = p.var(0, u32)
        with p.range(0, group) as g:
            before.set(before + totals[g])
        out[i] = shared[local] + before
    values = [rng.randrange(2**20) for _ in range(count)]
    sums = [s % 2**32 for s in accumulate(values)]
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly((pack(u32, sums),), ("x",))


def _histogram(rng: Random) -> tuple[Launch, Expected]:
    """256 bins: counted in workgroup memory, then added to those of the grid."""
    count = 3001
    with program("histogram", GROUP) as p:
        data, bins = p.read("data", u8), p.read_write("bins", u32, 256)
        shared = p.workgroup("shared", u32, 256)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        with p.if_(i < data.length):
            shared.atomic_add(data[i], 1)
        p.barrier()
        with p.range(0, 4) as k:
            bins.atomic_add(local + k * GROUP, shared[local + k * GROUP])
    values = [min(255, int(rng.expovariate(0.02))) for _ in range(count)]
    counted = Counter(values)
    launch = Launch(
        program=p.build(), inputs={"data": bytes(values), "bins": bytes(1024)}, grid=(-(-count // GROUP), 1, 1)
    )
    return launch, Exactly((pack(u32, [counted[n] for n in range(256)]),))


def _compaction(rng: Random) -> tuple[Launch, Expected]:
    """Those that pass a filter, in any order, packed by a counter."""
    count = 500
    with program("stream_compaction", GROUP) as p:
        x, out, taken = p.read("x", u32), p.write("out", u32, count), p.read_write("taken", u32, 1)
        i = p.let(p.global_id(0))
        with p.if_((i < x.length) & (x[i] % 3 == 1)):
            out[taken.atomic_add(0, 1)] = x[i]
    values = [rng.randrange(1, 2**32) for _ in range(count)]
    passed = [v for v in values if v % 3 == 1]
    outputs = (pack(u32, passed + [0] * (count - len(passed))), pack(u32, [len(passed)]))
    return Launch(program=p.build(), inputs={"x": pack(u32, values), "taken": bytes(4)}), Exactly(outputs, (), ("out",))
