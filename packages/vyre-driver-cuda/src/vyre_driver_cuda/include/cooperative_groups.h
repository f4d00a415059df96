// The part of NVIDIA's header of this name that emitted texts use: NVRTC comes without headers.
//
// A barrier of all blocks of a launch that runs them all at the same time. Every block adds to one word so that all
// together add its highest bit, and waits until that bit has changed. So the word is as good for the next barrier as it
// was for this one, and launches that follow each other can share it.
#pragma once

namespace cooperative_groups {

static __device__ unsigned int vyre_arrived;

struct grid_group {
    __device__ __forceinline__ void sync() const {
        __syncthreads();
        if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0u) {
            const unsigned int others = gridDim.x * gridDim.y * gridDim.z - 1u;
            const unsigned int step = (blockIdx.x | blockIdx.y | blockIdx.z) == 0u ? 0x80000000u - others : 1u;
            unsigned int before, now;
            asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;"
                         : "=r"(before) : "l"(&vyre_arrived), "r"(step) : "memory");
            do {
                asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(&vyre_arrived) : "memory");
            } while (((before ^ now) & 0x80000000u) == 0u);
        }
        __syncthreads();
    }
};

static __device__ __forceinline__ grid_group this_grid() { return grid_group(); }

}  // namespace cooperative_groups
