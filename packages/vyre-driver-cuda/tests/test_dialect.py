"""What each architecture is given, and what the words are for the units of each shape."""

import pytest

from vyre_driver_cuda import spelling
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.dialect import dialect_of, target_for
from vyre_foundation.dtype import DTYPES, DType, bf16, bool_, f16, f32, f64, i32, i64, u16, u32, u64
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp
from vyre_foundation.ops import OPS

AMPERE, TURING = Architecture(8, 0), Architecture(7, 5)


def test_registers() -> None:
    assert target_for(AMPERE).arithmetic == {bool_, u16, u32, i32, u64, i64, f16, bf16, f32, f64}
    assert target_for(TURING).arithmetic == target_for(AMPERE).arithmetic - {bf16}
    assert target_for(AMPERE).memory == set(DTYPES) - {bool_}


def test_every_row_is_in_the_table_of_ops() -> None:
    for op, t in dialect_of(AMPERE).ops:
        assert t in OPS[op].results, f"{op} on {t}"


def test_nothing_that_the_language_defines_otherwise_is_claimed() -> None:
    ops = target_for(AMPERE).ops
    assert not {(op, t) for op in ("div", "rem", "shl", "shr") for t in spelling.INTEGERS} & ops
    assert not {(op, t) for op in ("min", "max", "sign", "copysign") for t in (f16, bf16, f32, f64)} & ops
    assert not {(op, t) for op in ("add", "sub", "mul", "neg", "abs") for t in (i32, i64)} & ops


def test_atomics_of_both_widths() -> None:
    assert target_for(TURING).atomics == {(op, t) for op in AtomicOp for t in (u32, i32, u64, i64)}


@pytest.mark.parametrize(
    ("op", "t", "text"),
    [
        (AtomicOp.ADD, u64, "atomicAdd(&{0}, {1})"),
        (AtomicOp.ADD, i64, "((i64)atomicAdd((u64 *)&{0}, (u64){1}))"),
        (AtomicOp.MIN, i64, "atomicMin(&{0}, {1})"),
        (AtomicOp.COMPARE_EXCHANGE, u32, "atomicCAS(&{0}, {2}, {1})"),
        (AtomicOp.COMPARE_EXCHANGE, i64, "((i64)atomicCAS((u64 *)&{0}, (u64){2}, (u64){1}))"),
    ],
)
def test_atomics_are_functions_of_types_that_have_them(op: AtomicOp, t: DType, text: str) -> None:
    assert dialect_of(AMPERE).atomics[op, t] == text


def test_reductions_come_with_the_architecture() -> None:
    assert (SubgroupOp.REDUCE_ADD, i32) in target_for(AMPERE).subgroup_ops
    assert (SubgroupOp.REDUCE_ADD, i32) not in target_for(TURING).subgroup_ops
    assert (SubgroupOp.REDUCE_ADD, f32) not in target_for(AMPERE).subgroup_ops


def test_a_whole_warp_needs_no_arithmetic() -> None:
    words = spelling.subgroups(32, (64, 1, 1), reduces=True)
    assert words[SubgroupOp.SHUFFLE, f32] == "__shfl_sync(0xffffffffu, {0}, {1})"
    assert words[SubgroupOp.BALLOT, bool_] == "((u64)__ballot_sync(0xffffffffu, {0}))"
    assert words[SubgroupOp.REDUCE_MAX, i32] == "__reduce_max_sync(0xffffffffu, {0})"


def test_a_segment_of_a_warp_knows_its_place() -> None:
    words = spelling.subgroups(8, (4, 4, 2), reduces=True)
    first = "((threadIdx.x + 4u * threadIdx.y + 16u * threadIdx.z) & 24u)"
    assert words[SubgroupOp.SHUFFLE_XOR, u64] == "__shfl_xor_sync(0xffffffffu, {0}, {1}, 8)"
    assert words[SubgroupOp.BALLOT, bool_] == f"((u64)(__ballot_sync(0xffffffffu, {{0}}) >> {first} & 0xffu))"
    assert words[SubgroupOp.ALL, bool_] == f"(__all_sync((0xffu << {first}), {{0}}) != 0)"
    assert words[SubgroupOp.REDUCE_XOR, i32] == f"((i32)__reduce_xor_sync((0xffu << {first}), (u32){{0}}))"
    assert spelling.subgroups(8, (64, 1, 1), reduces=False)[SubgroupOp.ANY, bool_] == (
        "(__any_sync((0xffu << (threadIdx.x & 24u)), {0}) != 0)"
    )
