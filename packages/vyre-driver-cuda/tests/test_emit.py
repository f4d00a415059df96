"""Texts of whole programs, looked at line by line."""

from collections.abc import Callable

import numpy as np

from vyre_driver_cuda.emit import CudaSource
from vyre_foundation.build import program
from vyre_foundation.dtype import bf16, bool_, f16, f32, u8, u32
from vyre_foundation.ir.program import Program

Source = Callable[..., CudaSource]


def test_a_small_kernel(source: Source) -> None:
    with program("saxpy", 256) as p:
        x, y = p.read("x", f32), p.read_write("y", f32)
        i = p.global_id()
        y[i] = x[i] * 2.0 + y[i]
    unit = source(p.build())
    head, *body = unit.text.split("\n\n", 1)[1].splitlines()[1:]
    assert unit.language == "CUDA C++"
    assert unit.kernels == ("saxpy",)
    assert head == (
        'extern "C" __global__ void __launch_bounds__(256 * 1 * 1) '
        "saxpy(const float *__restrict__ x, float *y, const u32 x_length, const u32 y_length) {"
    )
    assert "    const u32 global_id_x = (blockIdx.x * 256u + threadIdx.x);" in body
    assert any("(x[global_id_x]" in line or "x[global_id_x]" in line for line in body)


def ids(*shape: int) -> Program:
    with program("ids", shape) as p:
        out = p.write("out", u32, 64)
        local = p.local_id(0) + p.local_id(1) + p.local_id(2)
        out[p.global_id(0) + p.global_id(1) + p.global_id(2)] = local + p.workgroup_id(1) + p.num_workgroups(2)
    return p.build()


def test_coordinates_know_the_shape_of_the_block(source: Source) -> None:
    text = source(ids(8, 1, 4)).text
    assert "__launch_bounds__(8 * 1 * 4)" in text
    assert "global_id_x = (blockIdx.x * 8u + threadIdx.x);" in text
    assert "global_id_y = blockIdx.y;" in text
    assert "global_id_z = (blockIdx.z * 4u + threadIdx.z);" in text
    assert "threadIdx.y" not in text
    assert "num_workgroups_z = gridDim.z;" in text


def test_headers_come_with_the_types_that_need_them(source: Source) -> None:
    texts = {}
    for t in (f16, bf16, f32):
        with program("twice", 64) as p:
            a, out = p.read("a", t), p.write("out", t, 64)
            out[p.global_id()] = a[p.global_id()] + a[p.global_id()]
        texts[t] = source(p.build()).text
    assert texts[f16].startswith("#include <cuda_fp16.h>\ntypedef")
    assert texts[bf16].startswith("#include <cuda_bf16.h>\ntypedef")
    assert "#include" not in texts[f32]


def test_a_buffer_whose_elements_nobody_reads_needs_its_header_too(source: Source) -> None:
    with program("counted", 64) as p:
        a, out = p.read("a", f16), p.write("out", u32, 64)
        out[p.global_id()] = a.length
    text = source(p.build()).text
    assert "__half *__restrict__ a" in text
    assert text.startswith("#include <cuda_fp16.h>\n")


def table(count: int) -> Program:
    with program("look_up", 64) as p:
        values = p.constant("values", u32, np.arange(count, dtype=np.uint32))
        out = p.write("out", u32, 64)
        out[p.global_id()] = values[p.global_id()]
    return p.build()


def test_tables_stay_in_constant_memory_while_they_fit(source: Source) -> None:
    assert "__constant__ u32 values[16384] = {" in source(table(16384)).text
    assert "__device__ const u32 values[16385] = {" in source(table(16385)).text


def test_private_arrays_begin_with_zeros_of_every_type(source: Source) -> None:
    with program("private", 64) as p:
        out = p.write("out", f16, 64)
        kept, seen = p.private("kept", f16, 4), p.private("seen", bool_, 4)
        out[p.global_id()] = kept[p.global_id()] + seen[p.global_id()].cast(f16)
    text = source(p.build()).text
    assert "__half kept[4] = {};" in text
    assert "u8 seen[4] = {};" in text


def test_names_that_c_plus_plus_has(source: Source) -> None:
    with program("template", 64) as p:
        a, out = p.read("class", u32), p.write("threadIdx", u32, 64)
        out[p.global_id()] = p.let(a[p.global_id()] + 1, name="operator")
    unit = source(p.build())
    assert unit.kernels == ("template_",)
    assert "*__restrict__ class_," in unit.text
    assert "*threadIdx_," in unit.text


def test_each_line_knows_its_statement(source: Source) -> None:
    with program("main_kernel", 64) as p:
        a, out = p.read("a", u8), p.write("out", u8, 64)
        with p.if_(p.global_id() < a.length):
            out[p.global_id()] = a[p.global_id()]
    unit = source(p.build())
    line = next(n for n, text in enumerate(unit.text.splitlines(), 1) if "] = " in text)
    assert unit.place(line).startswith("main_kernel body[0].then[0]")
    assert unit.place(0) == unit.place(10**6) == ""


def test_equal_programs_have_equal_texts(source: Source) -> None:
    assert source(ids(4, 4, 4)) == source(ids(4, 4, 4))
