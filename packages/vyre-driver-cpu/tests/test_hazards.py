"""Operands for which instructions of LLVM are undefined: a class for each row of the table in `spelling`.

Everything comes from memory, so that LLVM knows nothing of it.
"""

import llvmlite.binding as llvm
import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.registry.aot import emit_aot_target
from vyre_driver_cpu.compiler import assembly, target_machine
from vyre_driver_cpu.cpu import host, named
from vyre_driver_cpu.spelling import spellings
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DType, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from vyre_foundation.functions import fma
from vyre_foundation.text import parse

INTEGERS = (u8, u16, u32, u64, i8, i16, i32, i64)


def edges(t: DType) -> np.ndarray:
    """The ends of a type, small numbers, the widths of all types and their neighbours."""
    near = [w + d for w in (0, 8, 16, 32, 64, 128) for d in (-1, 0, 1)]
    values = [t.lowest, t.lowest + 1, t.highest - 1, t.highest, *near]
    return np.array(sorted({v for v in values if t.lowest <= v <= t.highest}), t.numpy)


def pairs(t: DType) -> tuple[np.ndarray, np.ndarray]:
    values = edges(t)
    return np.repeat(values, len(values)), np.tile(values, len(values))


def binary(op: str, t: DType):
    with program(op, workgroup_size=64) as p:
        x, y = p.read("x", t), p.read("y", t)
        i = p.global_id(0)
        result = apply(op, x[i], y[i])
        p.write("out", result.dtype, like=x)[i] = result
    return p.build()


class TestShifts:
    @pytest.mark.parametrize("t", INTEGERS, ids=str)
    @pytest.mark.parametrize("op", ["shl", "shr", "rotl", "rotr"])
    def test_counts_of_the_width_and_more(self, op: str, t: DType, agree) -> None:
        agree(binary(op, t), pairs(t))


class TestRotations:
    @pytest.mark.parametrize("t", INTEGERS, ids=str)
    @pytest.mark.parametrize(
        "rotated",
        [
            "rotl({t}(1), count)",
            "rotr({t}(1), count)",
            "({t}(1) << (count & {last})) | ({t}(1) >> (({t}(0) - count) & {last}))",
            "({t}(1) >> (count & {last})) | ({t}(1) << (({t}(0) - count) & {last}))",
        ],
    )
    def test_by_counts_that_the_code_generator_finds_to_be_zero(self, rotated: str, t: DType, agree) -> None:
        """A vector reads an array of one element: all other lanes are 0, which only the code generator sees."""
        rotation = parse(f"""\
program p workgroup(7, 1, 1) {{
  read x: u32[] @0;
  read flags: bool[1] @1;
  write out: {t}[len(x)] @2;
  write nothing: u32[0] @3;
  var counted = 0;
  for k in num_workgroups.x % 4..4 {{ counted = 1; }}
  var count = select(flags[local_id.x], {t}(1), {t}(0));
  for m in {t}(0)..{t}(2) {{ count = {t}(0); }}
  nothing[0] = counted;
  out[global_id.x] = {rotated.format(t=t, last=t.bits - 1)};
}}
""")
        agree(rotation, [np.zeros(1, np.uint32), np.zeros(1, bool)])

    def test_llvm_takes_the_sum_of_both_shifts_for_undefined(self) -> None:
        """When this fails, LLVM is right, and counts need not be unknown any more."""
        text = """\
define <8 x i32> @rotated(ptr %p) {
  %first = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr %p, <8 x i1> <i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false, i1 false>, <8 x i8> zeroinitializer)
  %flags = icmp ne <8 x i8> %first, zeroinitializer
  %counts = zext <8 x i1> %flags to <8 x i32>
  %zeros = shufflevector <8 x i32> zeroinitializer, <8 x i32> %counts, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 15>
  %result = call <8 x i32> @llvm.fshr.v8i32(<8 x i32> splat (i32 1), <8 x i32> splat (i32 1), <8 x i32> %zeros)
  ret <8 x i32> %result
}
"""  # noqa: E501
        code = str(target_machine(named("x86-64-v3"), 3).emit_assembly(llvm.parse_assembly(text)))
        assert "vpcmpeqd\t%ymm0, %ymm0, %ymm0" in code  # all bits set, in place of 1


class TestDivision:
    @pytest.mark.parametrize("t", INTEGERS, ids=str)
    @pytest.mark.parametrize("op", ["div", "rem"])
    def test_by_zero_and_of_the_least_value_by_minus_one(self, op: str, t: DType, agree) -> None:
        agree(binary(op, t), pairs(t))


class TestOverflow:
    @pytest.mark.parametrize("t", INTEGERS, ids=str)
    @pytest.mark.parametrize("op", ["add", "sub", "mul", "add_sat", "sub_sat", "mul_sat", "mul_high", "abs_diff"])
    def test_of_arithmetic(self, op: str, t: DType, agree) -> None:
        agree(binary(op, t), pairs(t))

    @pytest.mark.parametrize("t", INTEGERS, ids=str)
    @pytest.mark.parametrize("op", ["neg", "abs", "clz", "ctz", "popcount", "reverse_bits"])
    def test_of_the_least_value_and_zero(self, op: str, t: DType, agree) -> None:
        with program(op, workgroup_size=64) as p:
            x = p.read("x", t)
            p.write("out", t, like=x)[p.global_id(0)] = apply(op, x[p.global_id(0)])
        agree(p.build(), [edges(t)])

    @pytest.mark.parametrize("t", INTEGERS, ids=str)
    def test_of_counters_at_the_end_of_their_type(self, t: DType, agree) -> None:
        with program("last", workgroup_size=4) as p:
            start = p.read("start", t)
            count = p.write("count", u32, like=start)
            i, iterations = p.global_id(0), p.var(0, u32)
            with p.range(start[i], t.highest, 7):
                iterations.set(iterations + 1)
            count[i] = iterations
        agree(p.build(), [np.array([t.highest - n for n in range(20)], t.numpy)])


class TestConversions:
    @pytest.mark.parametrize("to", INTEGERS, ids=str)
    @pytest.mark.parametrize("source", [f16, f32, f64], ids=str)
    def test_of_floats_that_do_not_fit(self, source: DType, to: DType, agree) -> None:
        with program("convert", workgroup_size=64) as p:
            x = p.read("x", source)
            p.write("out", to, like=x)[p.global_id(0)] = x[p.global_id(0)].cast(to)
        powers = [s * 2.0**n * f for n in (0, 7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1) for f in (1, 1.5, 0.999)]
        with np.errstate(over="ignore"):
            values = np.array([np.nan, np.inf, -np.inf, -0.0, 0.5, -0.5, *powers], source.numpy)
        agree(p.build(), [values])

    def test_without_instructions_for_halves_there_are_none(self) -> None:
        rows = spellings(has_half=False)
        assert f16 not in rows.arithmetic
        assert not [key for table in (rows.ops, rows.casts, rows.bitcasts) for key in table if f16 in key]


class TestBounds:
    @pytest.mark.parametrize("t", [u32, i32, u64, i64, u8], ids=str)
    def test_indices_outside_of_the_object(self, t: DType, agree) -> None:
        with program("outside", workgroup_size=64) as p:
            at, x = p.read("at", t), p.read("x", u32)
            table = p.read_write("table", u32)
            out = p.write("out", u32, like=at)
            i = p.global_id(0)
            out[i] = x[at[i]] + x[at[i] + 3]
            table[at[i] * 5] = 7
        config = DispatchConfig(grid_override=(1, 1, 1))
        agree(p.build(), [edges(t), np.arange(9, dtype=np.uint32), np.zeros(11, np.uint32)], config)


class TestMemory:
    def test_that_nothing_was_written_to_is_zero(self, agree) -> None:
        with program("fresh", workgroup_size=32) as p:
            at = p.read("at", u32)
            out, own_out = p.write("out", u32, like=at), p.write("own_out", u32, like=at)
            shared, own = p.workgroup("shared", u32, 40), p.private("own", u32, 5)
            i = p.global_id(0)
            with p.if_(at[i] % 2 == 1):
                own[at[i] % 5] = 9
            shared[p.local_id(0)] = at[i]
            p.barrier()
            out[i] = shared[at[i] % 40]
            own_out[i] = own[(at[i] + 1) % 5] + own[at[i] % 5]
        agree(p.build(), [np.arange(96, dtype=np.uint32) * 7])

    def test_one_array_for_two_inputs(self, agree) -> None:
        with program("both", workgroup_size=64) as p:
            x, y = p.read("x", u32), p.read("y", u32)
            out = p.write("out", u32, like=x)
            i = p.global_id(0)
            out[i] = x[i] * 3 + y[i ^ 1]
        same = np.arange(4096, dtype=np.uint32)
        agree(p.build(), [same, same])

    @pytest.mark.parametrize("offset", [1, 2, 4, 8, 12])
    def test_arrays_that_are_not_aligned(self, offset: int, agree) -> None:
        with program("shifted", workgroup_size=64) as p:
            x = p.read("x", u64)
            out = p.write("out", u64, like=x)
            out[p.global_id(0)] = x[p.global_id(0)] * 3
        whole = np.zeros(8 * 1000 + 64, np.uint8)
        start = -whole.ctypes.data % 64 + offset
        shifted = whole[start : start + 8000].view(np.uint64)
        shifted[:] = np.arange(1000)
        agree(p.build(), [shifted])


class TestNaNs:
    @pytest.mark.parametrize("t", [f16, f32, f64], ids=str)
    @pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "min", "max"])
    def test_of_arithmetic_are_canonical(self, op: str, t: DType, agree) -> None:
        unsigned = t.unsigned
        signs, payloads = (0, 1 << (t.bits - 1)), (t.nan_bits, t.nan_bits + 1, t.nan_bits | 1 << (t.bits - 1))
        numbers = [int(np.array(v, t.numpy).view(unsigned.numpy)) for v in (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf)]
        bits = np.array(sorted({*numbers, *payloads, *signs}), unsigned.numpy)
        x, y = np.repeat(bits, len(bits)).view(t.numpy), np.tile(bits, len(bits)).view(t.numpy)
        agree(binary(op, t), [x, y])

    @pytest.mark.parametrize("t", [f16, f32, f64], ids=str)
    def test_of_roots_are_canonical(self, t: DType, agree) -> None:
        """LLVM knows that the root of a negative number is a NaN, and would keep the one of the instruction."""
        with program("root", workgroup_size=64) as p:
            x = p.read("x", t)
            p.write("out", t, like=x)[p.global_id(0)] = apply("sqrt", x[p.global_id(0)])
        agree(p.build(), [np.array([-1.0, -0.0, 0.0, 2.0, np.inf, -np.inf, np.nan] * 30, t.numpy)])


@pytest.mark.parametrize("cpu", ["armv8", "apple-m1"])
@pytest.mark.parametrize("negated", [lambda x: -x, lambda x: x * -1.0, lambda x: -0.0 - x], ids=["neg", "mul", "sub"])
def test_a_fused_multiply_add_and_its_negation_are_two_instructions(cpu: str, negated) -> None:
    """`fnmadd` of arm64 gives +0 where the negation of the sum, which is exactly +0, is −0."""
    with program("negated", workgroup_size=1) as p:
        x, y, z = (p.read(name, f32) for name in "xyz")
        i = p.global_id(0)
        p.write("out", f32, like=x)[i] = negated(fma(x[i], y[i], z[i]))
    text = emit_aot_target(f"cpu-asm:{cpu}", p.build()).decode()
    assert "fmadd" in text
    assert "fnmadd" not in text


@pytest.mark.parametrize("cpu", ["armv8", "apple-m1"])
def test_fences_are_put_behind_values_without_names(cpu: str) -> None:
    """The optimizer leaves such values, whose numbers are no beginnings of names."""
    text = """
define float @twice(float %0, float %1) {
  %3 = call float @llvm.fma.f32(float %0, float %1, float %0)
  %4 = fneg float %3
  %5 = call float @llvm.fma.f32(float %4, float %1, float %3)
  ret float %5
}
declare float @llvm.fma.f32(float, float, float)
"""
    code = assembly(text, named(cpu))
    assert "fmadd\ts" in code
    assert "fmsub\ts" in code  # of a factor that is negated, which is exact


def test_this_cpu_is_known() -> None:
    assert host().model not in ("", "generic")
