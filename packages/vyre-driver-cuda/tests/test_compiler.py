"""The compiler: what it refuses, what it is told, and that equal texts give equal bytes."""

import pytest

from vyre_driver.errors import BackendUnavailable, KernelCompileFailed
from vyre_driver_cuda.api import nvrtc
from vyre_driver_cuda.architecture import Architecture
from vyre_driver_cuda.compiler import BuildFailed, compile_text, compile_unit
from vyre_driver_cuda.emit import CudaSource
from vyre_driver_cuda.spelling import OPTIONS

HOPPER = Architecture(9, 0)
KERNEL = 'extern "C" __global__ void k(float *x) {{\n    x[0] = {0};\n}}\n'
TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")


@pytest.fixture(autouse=True)
def compiler() -> None:
    try:
        nvrtc()
    except BackendUnavailable as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", TARGETS)
def test_code_for_a_gpu_that_is_not_here(name: str) -> None:
    code = compile_text(KERNEL.format("x[1]"), Architecture.parse(name))
    assert code.cubin.startswith(b"\x7fELF")
    assert f".target {name}" in code.ptx
    assert ".entry k(" in code.ptx


def test_equal_texts_give_equal_bytes() -> None:
    first, second = (compile_text(KERNEL.format("x[1] * x[2]"), HOPPER, OPTIONS) for _ in range(2))
    assert first == second


def test_a_refusal_has_the_log_and_the_lines() -> None:
    with pytest.raises(BuildFailed) as caught:
        compile_text(KERNEL.format("missing"), HOPPER)
    assert 'identifier "missing" is undefined' in caught.value.log
    assert caught.value.lines == (2,)


def test_a_refusal_without_a_line() -> None:
    assert BuildFailed("out of registers").lines == ()


def test_a_refusal_names_the_statement_and_keeps_the_text() -> None:
    unit = CudaSource(KERNEL.format("missing"), ("k",), "CUDA C++", places=("", "k body[0]", ""))
    with pytest.raises(KernelCompileFailed) as caught:
        compile_unit(unit, HOPPER)
    assert caught.value.where == "k body[0]"
    assert caught.value.source == unit.text
    assert "is undefined" in caught.value.log


def test_an_architecture_that_the_compiler_does_not_know() -> None:
    with pytest.raises(BuildFailed, match="gpu-architecture"):
        compile_text(KERNEL.format("1"), Architecture(99, 9))


@pytest.mark.parametrize(
    ("expression", "exact", "loose"),
    [
        ("x[1] * x[2] + x[3]", "mul.rn.f32", "fma.rn"),
        ("x[1] / x[2]", "div.rn.f32", "div.approx"),
        ("sqrtf(x[1])", "sqrt.rn.f32", "sqrt.approx"),
        ("x[1] - x[2]", "sub.rn.f32", ".ftz"),
    ],
)
def test_the_options_make_floats_exact(expression: str, exact: str, loose: str) -> None:
    """Beside what the compiler may do when nobody forbids it."""
    ptx = compile_text(KERNEL.format(expression), HOPPER, OPTIONS).ptx
    assert exact in ptx
    assert loose not in ptx
    assert loose in compile_text(KERNEL.format(expression), HOPPER, ("--use_fast_math",)).ptx


@pytest.mark.parametrize(
    ("include", "expression", "instruction"),
    [
        ("cuda_fp16.h", "__half2float(__hadd_rn(__float2half_rn(x[1]), __float2half_rn(x[2])))", "add.rn.f16"),
        ("cuda_fp16.h", "__half2float(__hneg(__float2half_rn(x[1])))", "cvt.rn.f16.f32"),
        (
            "cuda_bf16.h",
            "__bfloat162float(__hmul_rn(__float2bfloat16_rn(x[1]), __float2bfloat16_rn(x[2])))",
            "fma.rn.bf16",
        ),
    ],
)
def test_the_headers_that_the_compiler_comes_without(include: str, expression: str, instruction: str) -> None:
    text = f"#include <{include}>\n{KERNEL.format(expression)}"
    assert instruction in compile_text(text, Architecture(8, 0)).ptx
