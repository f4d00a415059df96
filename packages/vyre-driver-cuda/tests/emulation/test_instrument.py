"""The instrument itself: that the words mean what CUDA says, and that what no kernel may do is found."""

import math
import struct

import numpy as np
import pytest
from cuda_emulation.compiler import BuildFailed, build, waits
from cuda_emulation.launch import KernelFault, Memory, Module

HEAD = 'extern "C" __global__ void '


def module(text: str, *kernels: str) -> Module:
    return Module(build(text, kernels))


def run(body: str, threads: int = 64, blocks: int = 1, *, size: int = 64, **how: bool) -> list[int]:
    """The words that a kernel leaves in `out`, which has `size` of them and `n` as its length."""
    head = "#include <cooperative_groups.h>\n" if "this_grid" in body else ""
    text = f"{head}{HEAD}k(unsigned *out, unsigned n) {{\n{body}\n}}\n"
    out = Memory(4 * size)
    module(text, "k").run("k", (blocks, 1, 1), (threads, 1, 1), (out, size), **how)
    return out.bytes.view(np.uint32).tolist()


# ── threads ──


def test_threads_and_blocks_have_their_coordinates() -> None:
    text = f"""{HEAD}k(unsigned *out) {{
        unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        out[block * 24u + thread] = block * 100u + thread;
    }}"""
    out = Memory(4 * 24 * 8)
    module(text, "k").run("k", (2, 2, 2), (4, 3, 2), (out,))
    assert out.bytes.view(np.uint32).tolist() == [b * 100 + t for b in range(8) for t in range(24)]


def test_a_barrier_orders_the_threads_of_a_block() -> None:
    body = """
    __shared__ unsigned room[64];
    room[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = room[63u - threadIdx.x];"""
    expected = list(range(63, -1, -1))
    assert run(body) == expected
    assert run(body, backwards=True) == expected


def test_without_the_barrier_the_order_shows() -> None:
    body = """
    __shared__ unsigned room[64];
    room[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = room[63u - threadIdx.x];"""
    assert run(body) != run(body, backwards=True)


def test_values_live_across_barriers_in_loops() -> None:
    body = """
    __shared__ unsigned room[64];
    unsigned sum = 0u;
    for (unsigned i = 0u; i < 5u; i += 1u) {
        room[threadIdx.x] = threadIdx.x + i;
        __syncthreads();
        sum += room[(threadIdx.x + 1u) % 64u];
        __syncthreads();
    }
    out[threadIdx.x] = sum;"""
    assert run(body) == [5 * ((t + 1) % 64) + 10 for t in range(64)]


MEETING = """
    __shared__ unsigned room[4];
    room[threadIdx.x] = 10u * blockIdx.x + threadIdx.x;
    __syncthreads();
    for (unsigned i = 1u; i < 4u; i += 1u) {
        out[4u * blockIdx.x + threadIdx.x] = room[3u - threadIdx.x] + i;
        cooperative_groups::this_grid().sync();
        room[threadIdx.x] = out[4u * ((blockIdx.x + i) % gridDim.x) + threadIdx.x];
        cooperative_groups::this_grid().sync();
    }
    out[4u * blockIdx.x + threadIdx.x] = room[threadIdx.x];"""


@pytest.mark.parametrize("backwards", [False, True])
def test_a_barrier_of_the_grid_orders_its_blocks(backwards: bool) -> None:
    """Each block has shared memory of its own, which lives across the barrier."""
    rooms = [[10 * block + thread for thread in range(4)] for block in range(3)]
    for i in range(1, 4):
        out = [[room[3 - thread] + i for thread in range(4)] for room in rooms]
        rooms = [out[(block + i) % 3] for block in range(3)]
    assert run(MEETING, 4, 3, size=12, together=True, backwards=backwards) == [x for room in rooms for x in room]


@pytest.mark.parametrize(
    ("condition", "together", "report"),
    [
        ("true", False, "line 4: a barrier of the grid in a launch that is not cooperative"),
        ("blockIdx.x != 1u", True, "blocks wait at a barrier of the grid, and 1 of 3 have ended"),
        ("threadIdx.x != 1u", True, "3 at the barrier of the grid in line 4"),
    ],
)
def test_blocks_that_do_not_meet_are_found(condition: str, together: bool, report: str) -> None:
    with pytest.raises(KernelFault, match=report):
        run(f"    if ({condition})\n        cooperative_groups::this_grid().sync();", 4, 3, together=together)


def test_memory_of_a_block_begins_as_rubbish() -> None:
    body = "__shared__ unsigned room[4]; out[blockIdx.x] = room[0]; room[0] = 7u;"
    assert run(body, 1, 3, size=3) == [0xA5A5A5A5] * 3


# ── warps ──


@pytest.mark.parametrize("width", [32, 8, 2])
def test_shuffles_stay_in_their_segment(width: int) -> None:
    lanes = range(32)
    start = [lane // width * width for lane in lanes]
    shuffled = run(f"out[threadIdx.x] = __shfl_sync(~0u, threadIdx.x * 10u, 1, {width});", 32, size=32)
    assert shuffled == [(s + 1) * 10 for s in start]
    crossed = run(f"out[threadIdx.x] = __shfl_xor_sync(~0u, threadIdx.x, {width // 2}, {width});", 32, size=32)
    assert crossed == [lane ^ (width // 2) for lane in lanes]
    above = run(f"out[threadIdx.x] = __shfl_up_sync(~0u, threadIdx.x, 1, {width});", 32, size=32)
    assert above == [lane - 1 if lane % width else lane for lane in lanes]
    below = run(f"out[threadIdx.x] = __shfl_down_sync(~0u, threadIdx.x, 1, {width});", 32, size=32)
    assert below == [lane + 1 if (lane + 1) % width else lane for lane in lanes]


def test_votes_and_folds_are_those_of_the_mask() -> None:
    odd = sum(1 << lane for lane in range(1, 32, 2))
    assert set(run("out[threadIdx.x] = __ballot_sync(~0u, threadIdx.x & 1u);", 32, size=32)) == {odd}
    half = "(threadIdx.x < 16u ? 0xffffu : 0xffff0000u)"
    assert run(f"out[threadIdx.x] = __reduce_add_sync({half}, threadIdx.x);", 32, size=32) == [120] * 16 + [376] * 16
    any_ = run(f"out[threadIdx.x] = __any_sync({half}, threadIdx.x == 3u);", 32, size=32)
    assert any_ == [1] * 16 + [0] * 16
    signed = "out[threadIdx.x] = (unsigned)__reduce_min_sync(~0u, 5 - (int)threadIdx.x);"
    assert set(run(signed, 32, size=32)) == {2**32 - 26}


def test_a_block_of_few_threads_is_a_warp_of_as_many() -> None:
    assert run("out[threadIdx.x] = __ballot_sync(~0u, 1);", 4, size=4) == [15] * 4
    assert run("out[threadIdx.x] = __reduce_add_sync(~0u, threadIdx.x + 1u);", 4, size=4) == [10] * 4


def test_eight_bytes_go_over_as_one() -> None:
    body = "double x = __shfl_xor_sync(~0u, (double)threadIdx.x + 0.5, 1); out[threadIdx.x] = (unsigned)(x * 2.0);"
    assert run(body, 32, size=32) == [2 * (lane ^ 1) + 1 for lane in range(32)]


# ── words ──


def bits(x: float) -> int:
    return struct.unpack("<I", struct.pack("<f", x))[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__popc(0xF0F1u)", 9),
        ("(unsigned)__clz(1)", 31),
        ("(unsigned)__clz(0)", 32),
        ("(unsigned)__clzll(0ll)", 64),
        ("__brev(1u)", 1 << 31),
        ("(unsigned)(__brevll(2ull) >> 32)", 1 << 30),
        ("__umulhi(0xFFFFFFFFu, 0xFFFFFFFFu)", 0xFFFFFFFE),
        ("(unsigned)__mulhi(-1, 1)", 0xFFFFFFFF),
        ("(unsigned)(__umul64hi(~0ull, ~0ull) >> 32)", 0xFFFFFFFF),
        ("__funnelshift_l(0x80000001u, 0x80000001u, 33u)", 3),
        ("__funnelshift_r(0x80000001u, 0x80000001u, 1u)", 0xC0000000),
        ("__float_as_uint(1.5f)", 0x3FC00000),
        ("__float_as_uint(__fmaf_rn(1.0f + 0x1p-12f, 1.0f + 0x1p-12f, -1.0f))", bits(2**-11 + 2**-24)),
        ("__float_as_uint((1.0f + 0x1p-12f) * (1.0f + 0x1p-12f) - 1.0f)", bits(2**-11)),
        ("__float_as_uint(__fsqrt_rn(2.0f))", bits(math.sqrt(2.0))),
        ("__float_as_uint(rintf(2.5f))", bits(2.0)),
        ("__float_as_uint(0x1p-149f * 0.75f)", 1),
    ],
)
def test_a_word_means_what_the_documentation_says(text: str, expected: int) -> None:
    assert run(f"out[0] = {text};", 1, size=1) == [expected]


@pytest.mark.parametrize(
    "x", [0.0, 1.0, 65504.0, 65519.99, 65520.0, 1 + 2**-11, 1 + 3 * 2**-11, 2**-25, 3 * 2**-26, -0.0]
)
def test_halves_are_rounded_to_nearest_even(x: float) -> None:
    single = struct.unpack("<f", struct.pack("<f", x))[0]
    text = (
        f"#include <cuda_fp16.h>\n{HEAD}k(unsigned *out, float x) {{ out[0] = __half_as_ushort(__float2half_rn(x)); }}"
    )
    out = Memory(4)
    module(text, "k").run("k", (1, 1, 1), (1, 1, 1), (out, bits(single)))
    with np.errstate(over="ignore"):
        assert out.bytes.view(np.uint32)[0] == np.float32(single).astype(np.float16).view(np.uint16)


@pytest.mark.parametrize(
    "word", [0, 0x80000000, 0x3F808000, 0x3F818000, 0x7F7FFFFF, 0x7F800000, 1, 0x00008001, 0x7FC12345]
)
def test_brain_floats_are_rounded_to_nearest_even(word: int) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    text = f"""#include <cuda_bf16.h>
    {HEAD}k(unsigned *out, float x) {{ out[0] = __bfloat16_as_ushort(__float2bfloat16_rn(x)); }}"""
    out = Memory(4)
    module(text, "k").run("k", (1, 1, 1), (1, 1, 1), (out, word))
    expected = np.array([word], np.uint32).view(np.float32).astype(ml_dtypes.bfloat16)
    got = out.bytes.view(np.uint32).astype(np.uint16).view(ml_dtypes.bfloat16)[:1]
    assert got.tobytes() == expected.tobytes() or (np.isnan(got[0]) and np.isnan(expected[0]))


@pytest.mark.parametrize(
    ("word", "type", "start", "value", "after"),
    [
        ("atomicAdd", "unsigned", 0xFFFFFFFF, 2, 1),
        ("atomicAdd", "int", 0x7FFFFFFF, 1, 0x80000000),
        ("atomicMin", "int", 5, 0xFFFFFFFF, 0xFFFFFFFF),
        ("atomicMax", "unsigned", 5, 0xFFFFFFFF, 0xFFFFFFFF),
        ("atomicXor", "unsigned", 5, 3, 6),
        ("atomicExch", "int", 5, 3, 3),
    ],
)
def test_atomics_give_the_old_value(word: str, type: str, start: int, value: int, after: int) -> None:
    body = f"{type} *cell = ({type} *)out; *cell = ({type}){start}u; out[1] = (unsigned){word}(cell, ({type}){value}u);"
    assert run(body, 1, size=2) == [after, start]


def test_a_type_that_an_atomic_does_not_take_is_refused() -> None:
    with pytest.raises(BuildFailed, match=r"<stdin>:2:.*invalid conversion"):
        build(f"{HEAD}k(long long *out) {{\n    atomicAdd(out, 1ll);\n}}\n", ("k",))


# ── what no kernel may do ──


def test_a_word_that_is_not_there_is_refused_with_its_line() -> None:
    with pytest.raises(BuildFailed, match="nonsense") as caught:
        build(f"{HEAD}k(unsigned *out) {{\n    out[0] = nonsense;\n}}\n", ("k",))
    assert caught.value.lines == (2,)


@pytest.mark.parametrize(
    ("body", "report"),
    [
        ("if (threadIdx.x < 3u) __syncthreads();", r"3 at the barrier in line 2 .* 61 have ended"),
        ("if (threadIdx.x < 3u) return;\n__syncthreads();", r"3 have ended.* 61 at the barrier in line 3"),
        ("if (threadIdx.x < 3u) __syncthreads();\nelse __syncthreads();", r"line 2 .* line 3"),
        ("if (threadIdx.x < 3u) out[0] = __ballot_sync(~0u, 1);", r"3 at the exchange in line 2"),
        ("out[0] = __ballot_sync(1u, 1);", r"62 at the exchange in line 2 \(thread 1, mask 00000001\)"),
        ("int x = 2147483647; x += (int)threadIdx.x; out[threadIdx.x] = (unsigned)x;", "line 2: the overflow of a sum"),
        ("out[0] = 1u << (threadIdx.x + 31u);", "line 2: a shift by as much"),
        ("out[0] = 7u / threadIdx.x;", "line 2: a quotient by zero"),
        ("out[0] = (unsigned)(-2.0f - (float)threadIdx.x);", "line 2: the conversion of a float that does not fit"),
        ("unsigned room[4] = {}; room[threadIdx.x & 3u] = 1u; out[0] = room[threadIdx.x & 7u];", "line 2: an index"),
        ("out[n] = 1u;", "behind the end of argument 0"),
    ],
)
def test_what_no_kernel_may_do_is_found(body: str, report: str) -> None:
    with pytest.raises(KernelFault, match=report):
        run(body, 64 if "7u / " not in body else 1)


def test_a_kernel_that_was_taken_for_one_without_barriers_is_found() -> None:
    text = f"{HEAD}k(unsigned *out) {{ cuda_barrier(1); }}"
    with pytest.raises(KernelFault, match="taken for one without"):
        module(text, "k").run("k", (1, 1, 1), (2, 1, 1), (Memory(4),))


def test_the_next_launch_is_sound_after_a_fault() -> None:
    text = f"{HEAD}k(unsigned *out, unsigned n) {{ if (threadIdx.x < n) __syncthreads(); out[threadIdx.x] = n; }}"
    kernels, out = module(text, "k"), Memory(4 * 64)
    with pytest.raises(KernelFault, match="wait for others"):
        kernels.run("k", (1, 1, 1), (64, 1, 1), (out, 3))
    kernels.run("k", (1, 1, 1), (64, 1, 1), (out, 64))
    assert set(out.bytes.view(np.uint32).tolist()) == {64}


# ── texts ──


def test_only_kernels_that_wait_are_given_stacks() -> None:
    text = f"{HEAD}a(int *x) {{ x[0] = 1; }}\n{HEAD}b(int *x) {{ __syncthreads(); }}\n{HEAD}c(int *x) {{ x[0] = 2; }}\n"
    assert waits(text, ("a", "b", "c")) == {"b"}
    assert waits(f"__device__ void all() {{ __syncwarp(); }}\n{text}", ("a", "b", "c")) == {"a", "b", "c"}


def test_code_goes_from_one_process_to_the_next() -> None:
    text = f"{HEAD}k(unsigned *out, unsigned n) {{ out[threadIdx.x] = threadIdx.x + n; }}"
    out = Memory(4 * 8)
    Module(module(text, "k").code).run("k", (1, 1, 1), (8, 1, 1), (out, 5))
    assert out.bytes.view(np.uint32).tolist() == list(range(5, 13))
