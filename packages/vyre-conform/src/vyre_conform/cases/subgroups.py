"""Collectives: every op, every size, every type; floats by the order that the language fixes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import by_needs, pack, pack_bits
from vyre_foundation.build import program
from vyre_foundation.dtype import DTYPES, DType, bool_, f32, u32, u64
from vyre_foundation.ir.stmt import SubgroupOp
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, from_bits
from vyre_foundation.testing.values import random_bits

SIZES = (1, 2, 4, 8, 16, 32, 64)


def specs() -> Iterator[Spec]:
    for size in SIZES:
        for dtype in DTYPES if size == 32 else (bool_, u32, f32):
            kinds = dict.fromkeys(op.result_type(dtype) for op in legal_ops(dtype))
            at = address("subgroups", "all_ops", size=size, dtype=dtype)
            for own, types in by_needs(at, kinds, [dtype]).items():
                yield seeded(own, _all, size, dtype, types)
    yield fixed(address("subgroups", "ids"), _ids)
    yield seeded(address("subgroups", "in_loops"), _in_loops)
    yield seeded(address("subgroups", "in_2d_groups"), _in_2d)


def legal_ops(dtype: DType) -> list[SubgroupOp]:
    """The collectives over values of a type."""
    found = []
    for op in SubgroupOp:
        if op.combine in ("and", "or", "xor"):
            legal = dtype.is_integer
        elif op.combine is not None:
            legal = dtype is not bool_
        else:
            legal = op.takes_lane or dtype is bool_
        if legal:
            found.append(op)
    return found


def model(op: SubgroupOp, dtype: DType, values: Sequence[Scalar], lanes: Sequence[int]) -> list[Scalar]:
    """What each lane of one subgroup gets."""
    size = len(values)
    match op.family:
        case "broadcast" | "shuffle":
            return [values[lane % size] for lane in lanes]
        case "shuffle_xor":
            return [values[n ^ (lane % size)] for n, lane in enumerate(lanes)]
        case "ballot":
            return [sum(1 << n for n, value in enumerate(values) if value)] * size
        case "any":
            return [any(values)] * size
        case "all":
            return [all(values)] * size
    row = OPS[str(op.combine)]

    def fold(x: Scalar, y: Scalar) -> Scalar:
        return row.evaluate(dtype, x, y)

    return _reduced(values, fold) if op.family == "reduce" else _scanned(op, dtype, values, fold)


Fold = Callable[[Scalar, Scalar], Scalar]


def _reduced(values: Sequence[Scalar], fold: Fold) -> list[Scalar]:
    """A tree: the upper half onto the lower, until one is left. All lanes see the same, since the ops commute."""
    level = list(values)
    while len(level) > 1:
        half = len(level) // 2
        level = [fold(level[n], level[n + half]) for n in range(half)]
    return level * len(values)


def _scanned(op: SubgroupOp, dtype: DType, values: Sequence[Scalar], fold: Fold) -> list[Scalar]:
    """Each round folds what lies 1, 2, 4, … lanes below."""
    result, distance = list(values), 1
    while distance < len(result):
        result = [fold(result[n - distance], v) if n >= distance else v for n, v in enumerate(result)]
        distance *= 2
    return result if op.family == "inclusive_scan" else [_identity(op, dtype), *result[:-1]]


def _identity(op: SubgroupOp, dtype: DType) -> Scalar:
    if op.combine == "min":
        return math.inf if dtype.is_float else dtype.highest
    if op.combine == "max":
        return -math.inf if dtype.is_float else dtype.lowest
    if op.combine == "and":
        return -1 if dtype.is_signed else dtype.highest
    return 0.0 if dtype.is_float else 0


def _all(size: int, dtype: DType, kinds: list[DType], rng: Random) -> tuple[Launch, Expected]:
    """Every legal op of a type that has one of these results over two groups of subgroups, one output per op."""
    group = max(size, 32) if size < 64 else 64
    count = group * 2
    ops = [op for op in legal_ops(dtype) if op.result_type(dtype) in kinds]
    with program(f"subgroup_{size}_{dtype}", group, subgroup_size=size) as p:
        x, lanes = p.read("x", dtype), p.read("lanes", u32)
        i = p.let(p.global_id(0))
        for op in ops:
            out = p.write(op.value, op.result_type(dtype), count)
            lane = p.workgroup_id(0) * 3 + 1 if op is SubgroupOp.BROADCAST else lanes[i]
            out[i] = p.subgroup(op, x[i], lane if op.takes_lane else None)
    patterns = [random_bits(rng, dtype) for _ in range(count)]
    values = [from_bits(dtype, bits) for bits in patterns]
    chosen = [rng.choice((rng.randrange(size), rng.randrange(2**32))) for _ in range(count)]
    outputs = []
    for op in ops:
        results: list[Scalar] = []
        for start in range(0, count, size):
            own = slice(start, start + size)
            selected = [start // group * 3 + 1] * size if op is SubgroupOp.BROADCAST else chosen[own]
            results += model(op, dtype, values[own], selected)
        outputs.append(pack(op.result_type(dtype), results))
    inputs = {"x": pack_bits(dtype, patterns), "lanes": pack(u32, chosen)}
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(outputs), ("x",))


def _ids() -> tuple[Launch, Expected]:
    with program("subgroup_ids", (6, 4, 1), subgroup_size=8) as p:
        out = p.write("out", u32, 48)
        i = p.let(p.workgroup_id(0) * 24 + p.local_id(1) * 6 + p.local_id(0))
        out[i] = p.subgroup_lane() * 100 + p.subgroup_size_()
    return Launch(program=p.build(), inputs={}), Exactly((pack(u32, [n % 8 * 100 + 8 for n in range(48)]),))


def _in_loops(rng: Random) -> tuple[Launch, Expected]:
    """Collectives in a loop, each round on what the last one gave."""
    with program("subgroup_in_loops", 32, subgroup_size=16) as p:
        x, out, votes = p.read("x", u32), p.write("out", u32, 96), p.write("votes", u64, 96)
        i = p.let(p.global_id(0))
        mine, seen = p.var(x[i]), p.var(0, u64)
        with p.range(0, 4) as round:
            total = p.subgroup("inclusive_scan_add", mine)
            mine.set(total ^ p.subgroup("shuffle", mine, round * 5))
            seen.set(seen * 3 + p.subgroup("ballot", mine % 2 == 0))
        out[i] = mine
        votes[i] = seen
    values = [rng.randrange(2**32) for _ in range(96)]
    left: list[int] = []
    voted: list[int] = []
    for start in range(0, 96, 16):
        lanes, seen_ = values[start : start + 16], 0
        for round_ in range(4):
            sums = [sum(lanes[: n + 1]) % 2**32 for n in range(16)]
            lanes = [s ^ lanes[round_ * 5 % 16] for s in sums]
            seen_ = (seen_ * 3 + sum(1 << n for n, v in enumerate(lanes) if v % 2 == 0)) % 2**64
        left += lanes
        voted += [seen_] * 16
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)})
    return launch, Exactly((pack(u32, left), pack(u64, voted)), ("x",))


def _in_2d(rng: Random) -> tuple[Launch, Expected]:
    """Subgroups are runs of linear local ids, x fastest, whatever the shape."""
    with program("subgroup_in_2d", (4, 2, 4), subgroup_size=16) as p:
        x, out = p.read("x", u32), p.write("out", u32, 32)
        i = p.let((p.local_id(2) * 2 + p.local_id(1)) * 4 + p.local_id(0))
        out[i] = p.subgroup("reduce_add", x[i]) + p.subgroup("exclusive_scan_max", x[i])
    values = [rng.randrange(1000) for _ in range(32)]
    results = []
    for n in range(32):
        start = n // 16 * 16
        results.append(sum(values[start : start + 16]) + max([0, *values[start:n]]))
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)}, grid=(1, 1, 1))
    return launch, Exactly((pack(u32, results),), ("x",))
