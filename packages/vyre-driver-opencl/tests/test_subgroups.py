"""Collectives of every type, size and workgroup shape, native or through workgroup memory, against the reference.

Through workgroup memory each step of a collective is a round of all invocations, and long texts compile slowly: there,
one type has every collective, and every type has one of each kind.
"""

import os
from collections.abc import Callable

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig, Extent
from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import DTYPES, FLOATS, INTEGERS, NUMBERS, DType, bool_, u32
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import SubgroupOp
from vyre_foundation.testing.values import special_bits


def accepts(op: SubgroupOp, t: DType) -> bool:
    if op in (SubgroupOp.BALLOT, SubgroupOp.ANY, SubgroupOp.ALL):
        return t is bool_
    if op.combine in ("add", "min", "max"):
        return t in NUMBERS
    return t in INTEGERS if op.combine else True


FEW = [SubgroupOp.REDUCE_ADD, SubgroupOp.EXCLUSIVE_SCAN_MAX, SubgroupOp.SHUFFLE, SubgroupOp.ALL]


def collectives(t: DType, size: int, shape: Extent, wanted: Callable[[SubgroupOp], bool]) -> Program:
    """One output for each result type; element ``i`` of collective ``n`` is at ``n * volume + i``."""
    volume = shape[0] * shape[1] * shape[2]
    ops = [op for op in SubgroupOp if accepts(op, t) and wanted(op)]
    results = sorted({op.result_type(t) for op in ops}, key=lambda result: result.tag)
    with program(f"collectives_{t}_{size}", workgroup_size=shape, subgroup_size=size) as p:
        a, lanes, outs = p.read("a", t), p.read("lanes", u32), {}
        for result in results:
            outs[result] = p.write(f"out_{result}", result, 2 * volume * sum(op.result_type(t) is result for op in ops))
        linear = (p.local_id(2) * shape[1] + p.local_id(1)) * shape[0] + p.local_id(0)
        i = p.workgroup_id(0) * volume + linear
        position = dict.fromkeys(results, 0)
        for op in ops:
            result = op.result_type(t)
            lane = lanes[0] if op is SubgroupOp.BROADCAST else lanes[i] if op.takes_lane else None
            outs[result][i + position[result] * 2 * volume] = p.subgroup(op, a[i], lane)
            position[result] += 1
    return p.build()


def operands(t: DType, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(t.tag * 100 + count)
    special = [0, 1] if t is bool_ else list(special_bits(t))
    bits = rng.choice(np.array(special, np.uint64), count).astype(f"u{t.size}")
    if t in FLOATS:  # infinities of both signs would make every sum NaN
        moderate = rng.normal(size=count).astype(np.float32).astype(t.numpy).view(f"u{t.size}")
        bits = np.where(rng.random(count) < 0.9, moderate, bits)
    return [bits, rng.integers(0, 2**32, count, np.uint32)]


TWO_GROUPS = DispatchConfig(grid_override=(2, 1, 1))


NATIVE = [*((t, 16) for t in DTYPES), *((u32, size) for size in (1, 4, 8, 32, 64))]


@pytest.mark.parametrize(("t", "size"), NATIVE if os.environ.get("VYRE_TEST_BACKEND") == "opencl-intel" else [])
def test_every_native_collective(agree, t: DType, size: int) -> None:
    volume = max(32, 2 * size)
    agree(collectives(t, size, (volume, 1, 1), lambda op: True), operands(t, 2 * volume), TWO_GROUPS)


@pytest.mark.parametrize("family", ["reduce", "inclusive_scan", "exclusive_scan", "other"])
def test_every_collective(agree, family: str) -> None:
    known = ("reduce", "inclusive_scan", "exclusive_scan")
    program = collectives(
        u32, 4, (8, 1, 1), lambda op: op.family == family or (family == "other" and op.family not in known)
    )
    agree(program, operands(u32, 16), TWO_GROUPS)


@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_every_type(agree, t: DType) -> None:
    agree(collectives(t, 2, (8, 1, 1), FEW.__contains__), operands(t, 16), TWO_GROUPS)


@pytest.mark.parametrize(
    ("size", "shape"),
    [(8, (16, 2, 1)), (8, (4, 4, 2)), (32, (2, 2, 16)), (4, (3, 4, 1)), (16, (1, 48, 1)), (2, (5, 2, 1))],
)
def test_subgroups_follow_the_linear_ids(agree, size: int, shape: Extent) -> None:
    volume = shape[0] * shape[1] * shape[2]
    agree(collectives(u32, size, shape, FEW.__contains__), operands(u32, 2 * volume), TWO_GROUPS)


def test_ids_in_shapes_that_subgroups_flatten(backend: VyreBackend) -> None:
    with program("flat", workgroup_size=(3, 4, 2), subgroup_size=8) as p:
        out = p.write("out", u32, 24 * 4 * 4)
        extent = [p.num_workgroups(axis) * (3, 4, 2)[axis] for axis in range(3)]
        linear = (p.global_id(2) * extent[1] + p.global_id(1)) * extent[0] + p.global_id(0)
        local = (p.local_id(2) * 4 + p.local_id(1)) * 3 + p.local_id(0)
        first = p.subgroup("broadcast", local, 0)
        out[linear * 4] = first
        out[linear * 4 + 1] = p.subgroup_lane() + p.subgroup_size_() * 100
        out[linear * 4 + 2] = local
        out[linear * 4 + 3] = p.subgroup("reduce_add", linear)
    (got,) = backend.dispatch(p.build(), [], DispatchConfig(grid_override=(2, 1, 2)))
    table = np.frombuffer(got, np.uint32).reshape(-1, 4)
    for linear, (first, lane, local, _) in enumerate(table.tolist()):
        x, y, z = linear % 6 % 3, linear // 6 % 4, linear // 24 % 2
        assert local == (z * 4 + y) * 3 + x
        assert (first, lane) == (local // 8 * 8, local % 8 + 800)


def test_collectives_in_loops_and_uniform_branches(agree) -> None:
    with program("rounds", workgroup_size=32, subgroup_size=8) as p:
        a, out = p.read("a", u32), p.write("out", u32, 64)
        value = p.var(a[p.global_id(0)], u32)
        with p.range(0, 3) as k:
            value.set(value + p.subgroup("shuffle_xor", value, k + 1))
            with p.if_(p.workgroup_id(0) == 1):
                value.set(p.subgroup("inclusive_scan_max", value ^ k))
        out[p.global_id(0)] = value
    agree(p.build(), operands(u32, 64)[:1])
