"""The programs of the evaluators' suite as other projects interpret them. Their interpreters look for names among the
globals of a kernel, so the modules become globals here when they are first needed.
"""

from __future__ import annotations

from typing import Any


def triton_kernels() -> dict[str, Any]:
    global tl
    import triton
    import triton.language as tl

    @triton.jit
    def xor(x, out, SIZE: tl.constexpr):
        place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        tl.store(out + place, tl.load(x + place) ^ 5)

    @triton.jit
    def reduction(x, out, SIZE: tl.constexpr):
        place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        tl.store(out + tl.program_id(0), tl.sum(tl.load(x + place), 0))

    @triton.jit
    def histogram(x, out, SIZE: tl.constexpr):
        place = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
        tl.atomic_add(out + (tl.load(x + place) & 255), tl.full((SIZE,), 1, tl.uint32))

    return {"xor": xor, "workgroup reduction": reduction, "histogram": histogram}


def numba_kernels() -> dict[str, Any]:
    """For the simulator of CUDA, one thread of the host for each invocation of a workgroup."""
    global cuda, uint32
    from numba import cuda, uint32

    @cuda.jit
    def xor(x, out):
        out[cuda.grid(1)] = x[cuda.grid(1)] ^ 5

    @cuda.jit
    def reduction(x, out):
        shared = cuda.shared.array(256, uint32)
        local = cuda.threadIdx.x
        shared[local] = x[cuda.grid(1)]
        cuda.syncthreads()
        distance = 128
        while distance:
            if local < distance:
                shared[local] += shared[local + distance]
            cuda.syncthreads()
            distance //= 2
        if local == 0:
            out[cuda.blockIdx.x] = shared[0]

    @cuda.jit
    def histogram(x, out):
        cuda.atomic.add(out, x[cuda.grid(1)] & 255, 1)

    return {"xor": xor, "workgroup reduction": reduction, "histogram": histogram}
