"""What other languages for kernels call what is here under another name: the remedies of errors about missing names.

The languages are CUDA, OpenCL, Numba, Triton, Taichi, CuPy, WGSL and Metal.
"""

from __future__ import annotations

from collections.abc import Mapping

# fmt: off
ROWS: Mapping[str, str] = {
    "write i = vyre.index() in a kernel":
        "get_global_id grid gridsize prange program_id thread_position_in_grid ndrange for_each parallel_for",
    "write vyre.local_id(0) in a kernel":
        "threadIdx thread_id thread_idx tid get_local_id local_invocation_id thread_position_in_threadgroup",
    "write vyre.workgroup_id(0) in a kernel":
        "blockIdx block_id block_idx get_group_id threadgroup_position_in_grid",
    "write vyre.num_workgroups(0) in a kernel": "gridDim grid_dim get_num_groups num_programs num_blocks",
    "write x.size in a kernel": "get_global_size global_size total_threads",
    "write @vyre.kernel(workgroup_size=64)":
        "blockDim block_dim get_local_size local_size block_size threads_per_block num_threads num_warps wg_size",
    "write @vyre.kernel(subgroup_size=32)": "warpSize warpsize warp_size get_sub_group_size simd_width",
    "write vyre.subgroup_lane() in a kernel": "laneid lane_id get_sub_group_local_id",
    "write vyre.barrier() in a kernel":
        "syncthreads debug_barrier workgroupBarrier threadgroup_barrier work_group_barrier block_sync sync_threads",
    "write vyre.workgroup(vyre.f32, 64) in a kernel":
        "shared shared_memory shared_array SharedArray local_memory threadgroup groupshared",
    "write vyre.private(vyre.f32, 4) in a kernel": "local local_array thread_local",
    "write counts.atomic_add(i, value) in a kernel": "atomicAdd atomic_add atomic_inc atomicInc",
    "write counts.atomic_add(i, 0 - value) in a kernel": "atomicSub atomic_sub atomic_dec atomicDec",
    "write counts.atomic_min(i, value) in a kernel": "atomicMin atomic_min",
    "write counts.atomic_max(i, value) in a kernel": "atomicMax atomic_max",
    "write counts.atomic_and(i, value) in a kernel": "atomicAnd atomic_and",
    "write counts.atomic_or(i, value) in a kernel": "atomicOr atomic_or",
    "write counts.atomic_xor(i, value) in a kernel": "atomicXor atomic_xor",
    "write counts.atomic_exchange(i, value) in a kernel": "atomicExch atomic_exch atomic_xchg",
    "write counts.atomic_compare_exchange(i, expected, value) in a kernel":
        "atomicCAS atomic_cas atomic_cmpxchg compare_and_swap",
    "write vyre.subgroup('reduce_add', x[i]) in a kernel": "warp_reduce warpReduce simd_sum sub_group_reduce_add",
    "write vyre.subgroup('shuffle', x[i], 0) in a kernel": "shfl shfl_sync simd_broadcast sub_group_broadcast",
    "write vyre.subgroup('shuffle_xor', x[i], 1) in a kernel": "shfl_xor shfl_xor_sync simd_shuffle_xor",
    "write vyre.subgroup('ballot', x[i] > 0.0) in a kernel": "ballot ballot_sync simd_ballot",
    "write x[i] = 1.0 in a kernel": "store",
    "write vyre.popcount(n[i]) in a kernel": "popc popcll",
    "write vyre.reverse_bits(n[i]) in a kernel": "brev brevll reverseBits",
    "write vyre.clz(n[i]) in a kernel": "clzll count_leading_zeros countLeadingZeros countl_zero leading_zeros",
    "write vyre.ctz(n[i]) in a kernel": "count_trailing_zeros countTrailingZeros",
    "write vyre.mul_high(n[i], k[i]) in a kernel": "mulhi mul_hi umulhi",
    "write vyre.fma(x[i], y[i], 1.0) in a kernel": "fmaf fma_rn",
    "write vyre.ceil_div(n[i], k[i]) in a kernel": "cdiv",
    "write for j in tuple(range(4)): in a kernel": "static_range unroll",
    "write assert x[i] > 0.0, 'text' in a kernel": "assert_ device_assert kernel_assert",
    "return an array with the values: kernels do not print": "printf device_print print print_",
    "write vyre.kernel(function)": "njit cuda_jit elementwise guvectorize ElementwiseKernel RawKernel",
    "write vyre.func(function)": "device_function",
    "write vyre.reduce(x, 'sum')": "ReductionKernel reduce_sum block_reduce",
    "write vyre.scan(x, 'sum')": "inclusive_scan InclusiveScan associative_scan prefix_sum",
    "write vyre.scan(x, 'sum', exclusive=True)": "exclusive_scan ExclusiveScan",
    "write vyre.sort(x)": "radix_sort parallel_sort",
    "write vyre.array(x)": "to_device from_numpy device_put ScalarField field",
    "write a.numpy()": "to_numpy copy_to_host device_get",
    "write vyre.vec(vyre.f32, 3)": "Vector vec2 vec3 vec4 float2 float3 float4 make_float2 make_float3 make_float4",
    "write 1 << (size - 1).bit_length()": "next_power_of_2",
    "record the calls in a graph, vyre.graph(name): there are no streams": "Stream stream CUDAGraph",
    "leave it out: reading a result waits for it": "synchronize sync deviceSynchronize block_until_ready",
}
"""What to do here, and the names elsewhere of what does it."""
# fmt: on
KERNELS: Mapping[str, str] = {name: remedy for remedy, names in ROWS.items() for name in names.split()}
"""What to do instead of each of these names."""
