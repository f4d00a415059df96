// What a kernel on the CPU and the runtime that runs it say to each other.
#pragma once

struct uint3 {
    unsigned x, y, z;
};

extern "C" {
extern uint3 threadIdx, blockIdx, blockDim, gridDim;

// One word of each lane in `mask` of the calling thread's warp, exchanged when all of them have come to `line`. Lanes
// that the block has no threads for do not count.
const unsigned long long *cuda_exchange(unsigned mask, unsigned long long word, int line);
// Returns in all threads of the block when all have come to `line`.
void cuda_barrier(int line);
// The same for all blocks of a launch that runs them together.
void cuda_grid_barrier(int line);
unsigned cuda_lane(void);
// The lanes of the calling thread's warp that the block has threads for.
unsigned cuda_existing(void);

// A kernel with its arguments behind pointers, as the driver takes them.
typedef void (*cuda_body)(void **arguments);

struct cuda_launch {
    cuda_body body;
    void **arguments;
    uint3 grid, block;
    char *shared;                 // the memory of blocks, filled with rubbish for each block
    unsigned long long shared_size;
    int has_barriers;             // threads are fibres, else turns of a loop
    int backwards;                // the last block and the last thread first
    int is_cooperative;           // all blocks take turns, so that they can wait for each other
};

// 0, or 1 with the reason in `report`: then the kernel was left in the middle.
int cuda_run(const cuda_launch *launch, char *report, unsigned long long report_size);
}
