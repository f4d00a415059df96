"""Subgroup operations: through workgroup memory, through shuffles of what the target shuffles, or as they are."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_foundation.build import program
from vyre_foundation.dtype import DTYPES, INTEGERS, NUMBERS, DType, bf16, bool_, f16, f32, i8, u32, u64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.stmt import Barrier, Subgroup, SubgroupOp
from vyre_foundation.ir.walk import statements

ALL = list(SubgroupOp)


def accepts(op: SubgroupOp, dtype: DType) -> bool:
    if op in (SubgroupOp.ANY, SubgroupOp.ALL, SubgroupOp.BALLOT):
        return dtype is bool_
    if op.combine in ("and", "or", "xor"):
        return dtype in INTEGERS
    return op.combine is None or dtype in NUMBERS


def collective(ops, dtype, workgroup, size):
    with program("collective", workgroup, subgroup_size=size) as p:
        a = p.read("a", dtype)
        x, y, _ = workgroup
        row, plane = p.num_workgroups(0) * x, p.num_workgroups(1) * y
        i = p.let((p.global_id(2) * plane + p.global_id(1)) * row + p.global_id(0))
        value = p.let(a[i])
        for op in ops:
            lane = {SubgroupOp.BROADCAST: 2, SubgroupOp.SHUFFLE: i * 5 + 1, SubgroupOp.SHUFFLE_XOR: 3}.get(op)
            result = p.subgroup(op, value, lane)
            p.write(op.value, result.dtype, like=a)[i] = result
        p.write("lane", u32, like=a)[i] = p.subgroup_lane() * 100 + p.subgroup_size_()
    return p.build()


EVERY_TYPE = [(dtype, dialect) for dtype in DTYPES for dialect in ("full", "shuffling")]
"""Types differ in how they get through memory and shuffles; where collectives are native, by the register they have."""
SOME_TYPES = [(dtype, "rich") for dtype in (bool_, i8, f16, bf16, u64)] + [
    (dtype, "loops") for dtype in (bool_, u32, f16)
]


@pytest.mark.parametrize(("dtype", "dialect"), [*EVERY_TYPE, *SOME_TYPES], ids=str)
def test_every_collective_on_every_type(dtype, dialect, case, check):
    ops = [op for op in ALL if accepts(op, dtype)]
    random = np.random.default_rng(dtype.tag)
    data = random.bytes(64 * dtype.size) if dtype is not bool_ else bytes(random.integers(0, 2, 64, np.uint8))
    if dtype.is_float:  # numbers of one magnitude, so that the order of sums shows
        data = random.uniform(-100, 100, 64).astype(dtype.numpy).tobytes()
    check(case(collective(ops, dtype, (16, 1, 1), 8), {"a": data}, grid=(4, 1, 1)), dialect)


@pytest.mark.parametrize("dialect", ["full", "shuffling", "rich"])
@pytest.mark.parametrize(
    ("workgroup", "size"),
    [((1, 1, 1), 1), ((6, 1, 1), 2), ((4, 2, 2), 4), ((2, 8, 1), 16), ((64, 1, 1), 64), ((4, 4, 4), 32)],
)
def test_lanes_are_consecutive_local_ids(workgroup, size, dialect, case, check):
    ops = [op for op in ALL if accepts(op, u32)]
    check(case(collective(ops, u32, workgroup, size), {"a": range(1, 129)}, grid=(1, 2, 1)), dialect)


def test_what_the_target_has_is_left_alone(dialects, case):
    launch = case(collective([SubgroupOp.REDUCE_ADD, SubgroupOp.SHUFFLE], u32, (16, 1, 1), 8), {"a": range(16)})
    kernel = launch.lower(dialects["rich"].target()).kernels[0]
    native = [s.op for s in statements(kernel.program.body) if isinstance(s, Subgroup)]
    assert native == [SubgroupOp.REDUCE_ADD, SubgroupOp.SHUFFLE]
    assert kernel.program.subgroup_size == 8
    assert not any(isinstance(s, Barrier) for s in statements(kernel.program.body))


@pytest.mark.parametrize(
    ("dtype", "size", "shuffled"), [(f32, 8, True), (i8, 8, True), (f16, 8, True), (f32, 2, False)], ids=str
)
def test_shuffles_carry_what_fits_them(dtype, size, shuffled, dialects, case):
    """The target shuffles u32 and u64, in subgroups of 4 and more."""
    launch = case(collective([SubgroupOp.INCLUSIVE_SCAN_ADD], dtype, (16, 1, 1), size), {"a": range(16)})
    program = launch.lower(dialects["shuffling"].target()).kernels[0].program
    assert any(isinstance(s, Subgroup) for s in statements(program.body)) == shuffled
    assert any(b.memory is Memory.WORKGROUP for b in program.buffers) == (not shuffled)
    assert program.subgroup_size == (size if shuffled else None)


def test_one_array_serves_all_statements_of_a_type(dialects, case):
    ops = [SubgroupOp.REDUCE_ADD, SubgroupOp.EXCLUSIVE_SCAN_MAX, SubgroupOp.SHUFFLE, SubgroupOp.BROADCAST]
    program = (
        case(collective(ops, u32, (16, 1, 1), 8), {"a": range(16)}).lower(dialects["full"].target()).kernels[0].program
    )
    (array,) = (b for b in program.buffers if b.memory is Memory.WORKGROUP)
    assert (array.dtype, array.count) == (u32, 32)
    # 3 exchanges and a last barrier; 4 exchanges; one exchange and a last barrier, twice.
    assert sum(isinstance(s, Barrier) for s in statements(program.body)) == 4 + 4 + 2 + 2


def test_a_collective_that_nobody_uses_is_gone(dialects, case):
    with program("unused", 8, subgroup_size=8) as p:
        a = p.read("a", u32)
        p.subgroup("reduce_add", a[0])
        p.write("out", u32, 8)[p.local_id(0)] = p.subgroup_lane()
    kernel = case(p.build(), {"a": [1]}, grid=(1, 1, 1)).lower(dialects["full"].target()).kernels[0]
    assert not any(isinstance(s, Barrier) for s in statements(kernel.program.body))


def test_a_float_sum_has_the_order_of_the_butterfly(case, dialects):
    """1e8 and -1e8 four lanes apart meet first; lanes one apart would lose the small ones."""
    values = [1e8, 1.0, 2.0, 3.0, -1e8, 4.0, 5.0, 6.0]
    launch = case(collective([SubgroupOp.REDUCE_ADD], f32, (8, 1, 1), 8), {"a": values})
    for name in ("full", "shuffling", "rich", "loops"):
        outcome = launch.run_lowered(launch.lower(dialects[name].target()))
        assert np.frombuffer(outcome["reduce_add"], np.float32).tolist() == [21.0] * 8


def test_ballots_of_more_than_half_a_word(case, check):
    with program("votes", 64, subgroup_size=64) as p:
        a = p.read("a", u32)
        votes = p.subgroup("ballot", a[p.local_id(0)] % 3 == 0)
        p.write("out", u64, 64)[p.local_id(0)] = votes
    launch = case(p.build(), {"a": range(64)})
    outcome = launch.run_lowered(check(launch, "full"))
    assert int.from_bytes(outcome["out"][:8], "little") == sum(1 << k for k in range(0, 64, 3))
