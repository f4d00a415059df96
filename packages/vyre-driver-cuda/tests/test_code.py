"""What the compiler makes of emitted texts, instruction by instruction: a claim of a native form is one in the code."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import Compiled, compile_text
from vyre_driver_cuda.spelling import NATIVES, OPTIONS
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DType, bool_, f32, f64, i32, i64, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp

Compile = Callable[..., Compiled]


def of_two(t: DType, op: str) -> Program:
    with program("of_two", 64) as p:
        a, b, out = p.read("a", t), p.read("b", t), p.write("out", t, 64)
        i = p.global_id()
        out[i] = apply(op, a[i], b[i])
    return p.build()


def products_and_sums(t: DType) -> Program:
    with program("products_and_sums", 64) as p:
        a, out = p.read("a", t), p.write("out", t, 64)
        i = p.global_id()
        out[i] = a[i] * a[i + 1] + a[i + 2] * a[i + 3] - a[i + 4]
    return p.build()


@pytest.mark.parametrize(("t", "name"), [(f32, "f32"), (f64, "f64")], ids=str)
def test_nothing_is_contracted(t: DType, name: str, compiled: Compile) -> None:
    ptx = compiled(products_and_sums(t)).ptx
    assert f"mul.rn.{name}" in ptx
    assert f"add.rn.{name}" in ptx
    assert "fma." not in ptx


def test_a_fused_product_is_one_where_it_is_asked_for(compiled: Compile) -> None:
    with program("fused", 64) as p:
        a, out = p.read("a", f32), p.write("out", f32, 64)
        out[p.global_id()] = apply("fma", a[0], a[1], a[2])
    assert compiled(p.build()).ptx.count("fma.rn.f32") == 1


@pytest.mark.parametrize(
    ("op", "t", "instruction"),
    [
        ("div", f32, "div.rn.f32"),
        ("div", f64, "div.rn.f64"),
        ("mul_high", u64, "mul.hi.u64"),
        ("mul_high", i32, "mul.hi.s32"),
        ("rotl", u32, "shf.l.wrap.b32"),
        ("rotr", u32, "shf.r.wrap.b32"),
        ("min", i64, "min.s64"),
    ],
)
def test_native_forms(op: str, t: DType, instruction: str, compiled: Compile) -> None:
    assert instruction in compiled(of_two(t, op)).ptx


@pytest.mark.parametrize(
    ("op", "instruction"),
    [
        ("popcount", "popc.b32"),
        ("clz", "clz.b32"),
        ("ctz", "clz.b32"),
        ("reverse_bits", "brev.b32"),
    ],
)
def test_bits_are_counted_by_instructions(op: str, instruction: str, compiled: Compile) -> None:
    with program("count", 64) as p:
        a, out = p.read("a", u32), p.write("out", u32, 64)
        out[p.global_id()] = apply(op, a[p.global_id()])
    assert instruction in compiled(p.build()).ptx


def collective(op: SubgroupOp, t: DType, size: int) -> Program:
    with program("collective", 64, subgroup_size=size) as p:
        a, out = p.read("a", u32), p.write("out", op.result_type(t), 64)
        value = a[p.global_id()] != 0 if t is bool_ else a[p.global_id()].cast(t)
        out[p.global_id()] = p.subgroup(op, value, a[p.global_id() + 1] if op.takes_lane else None)
    return p.build()


@pytest.mark.parametrize(
    ("op", "t", "instruction"),
    [
        (SubgroupOp.SHUFFLE, u32, "shfl.sync.idx"),
        (SubgroupOp.SHUFFLE_XOR, f32, "shfl.sync.bfly"),
        (SubgroupOp.BALLOT, bool_, "vote.sync.ballot"),
        (SubgroupOp.ANY, bool_, "vote.sync.any"),
        (SubgroupOp.ALL, bool_, "vote.sync.all"),
        (SubgroupOp.REDUCE_ADD, i32, "redux.sync.add"),
        (SubgroupOp.REDUCE_ADD, f32, "shfl.sync.idx"),
        (SubgroupOp.INCLUSIVE_SCAN_MAX, u64, "shfl.sync.idx"),
    ],
)
@pytest.mark.parametrize("size", [32, 8])
def test_collectives_are_instructions(op: SubgroupOp, t: DType, size: int, instruction: str, compiled: Compile) -> None:
    ptx = compiled(collective(op, t, size)).ptx
    assert instruction in ptx
    assert ".shared" not in ptx
    assert "bar.sync" not in ptx


def test_subgroups_that_are_larger_than_a_warp_go_through_workgroup_memory(compiled: Compile) -> None:
    ptx = compiled(collective(SubgroupOp.REDUCE_ADD, u32, 64)).ptx
    assert "shfl." not in ptx
    assert "redux." not in ptx
    assert ".shared" in ptx
    assert "bar.sync" in ptx


@pytest.mark.parametrize("t", [u32, i32, u64, i64], ids=str)
def test_atomics_of_device_memory(t: DType, compiled: Compile) -> None:
    with program("atomics", 64) as p:
        a = p.read_write("a", t, 64)
        for index, op in enumerate(AtomicOp):
            operands = (7, 9) if op is AtomicOp.COMPARE_EXCHANGE else (7,)
            getattr(a, f"atomic_{op.value.removeprefix('atomic_')}")(index, *operands)
    ptx = compiled(p.build()).ptx
    assert len(re.findall(r"\b(?:atom|red)\.global", ptx)) == len(AtomicOp)


def test_memory_that_nobody_writes_is_read_through_its_own_cache(compiled: Compile) -> None:
    with program("read_only", 64) as p:
        a, b = p.read("a", u32), p.read_write("b", u32)
        b[p.global_id()] = a[p.global_id()] + b[p.global_id()]
    ptx = compiled(p.build()).ptx
    assert ptx.count("ld.global.nc.u32") == 1
    assert ptx.count("ld.global.u32") == 1


def test_workgroup_memory_and_its_barrier(compiled: Compile) -> None:
    with program("turned", 64) as p:
        a, out = p.read("a", u32), p.write("out", u32, 64)
        shared = p.workgroup("shared", u32, 64)
        shared[p.local_id()] = a[p.global_id()]
        p.barrier()
        out[p.global_id()] = shared[63 - p.local_id()]
    ptx = compiled(p.build()).ptx
    assert "bar.sync" in ptx
    assert "ld.shared.u32" in ptx
    assert ".maxntid 64, 1, 1" in ptx


def test_a_barrier_of_the_grid_is_one_between_its_blocks(compiled: Compile) -> None:
    """One thread of each block says that it came, and looks until all did; what stands around it stays there."""
    with program("meeting", 64) as p:
        a = p.read_write("a", u32)
        out = p.write("out", u32, like=a)
        a[p.global_id()] = 7
        p.grid_barrier()
        out[p.global_id()] = a[a.length - 1 - p.global_id()]
    ptx = compiled(p.build(), cooperative=True).ptx
    words = r"st\.global\.u32|bar\.sync|atom\.add\.acq_rel\.gpu\.u32|ld\.acquire\.gpu\.u32|ld\.global\.u32"
    assert re.findall(words, ptx) == [
        *("st.global.u32", "bar.sync", "atom.add.acq_rel.gpu.u32", "ld.acquire.gpu.u32", "bar.sync"),
        *("ld.global.u32", "st.global.u32"),
    ]


def test_a_trap_is_a_64_bit_atomic_minimum(compiled: Compile) -> None:
    with program("trapped", 64) as p:
        a, out = p.read("a", u32), p.write("out", u32, 64)
        with p.if_(a[p.global_id()] > 9):
            p.trap(a[p.global_id()], "too large")
        out[p.global_id()] = a[p.global_id()]
    assert re.search(r"(atom|red)\.global\.min\.u64", compiled(p.build()).ptx)


@pytest.mark.usefixtures("compiled")
def test_elementary_functions_of_the_gpu_are_ones_that_the_compiler_knows() -> None:
    """No program has them without a budget; see `vyre natives`."""
    uses = "".join(f"    x[{n}] = {template.format(f'x[{n}]')};\n" for n, template in enumerate(NATIVES.values()))
    code = compile_text(f'extern "C" __global__ void k(float *x) {{\n{uses}}}\n', Architecture(9, 0), OPTIONS)
    assert code.ptx.count("st.global.f32") == len(NATIVES) == 19


@pytest.mark.parametrize(("count", "space"), [(16384, "const"), (16385, "global")])
def test_tables_of_constants_fit_where_they_are(count: int, space: str, compiled: Compile) -> None:
    with program("look_up", 64) as p:
        values = p.constant("values", u32, np.arange(count, dtype=np.uint32))
        out = p.write("out", u32, 64)
        out[p.global_id()] = values[p.global_id()]
    ptx = compiled(p.build()).ptx
    assert f".{space} .align 4 .b8 values[{4 * count}]" in ptx
    assert re.search(rf"ld\.{space}(\.nc)?\.[bu]32", ptx)
