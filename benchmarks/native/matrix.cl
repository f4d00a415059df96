// Matrices. -DN and -DTILE for the products.
#define SPAN 32
#define STRIPS 8

__kernel __attribute__((reqd_work_group_size(SPAN, STRIPS, 1)))
void transpose(__global const float *a, __global float *out, uint side) {
    __local float tile[SPAN][SPAN + 1];
    uint x = get_local_id(0), y = get_local_id(1);
    size_t left = get_group_id(0) * SPAN, top = get_group_id(1) * SPAN;
    for (uint strip = 0; strip < SPAN; strip += STRIPS)
        tile[y + strip][x] = a[(top + y + strip) * side + left + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint strip = 0; strip < SPAN; strip += STRIPS)
        out[(left + y + strip) * side + top + x] = tile[x][y + strip];
}

#ifdef N
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global const float *a, __global const float *b, __global float *c) {
    __local float tile_a[TILE][TILE], tile_b[TILE][TILE];
    uint column = get_global_id(0), row = get_global_id(1), x = get_local_id(0), y = get_local_id(1);
    float total = 0;
    for (uint t = 0; t < N / TILE; t++) {
        tile_a[y][x] = a[row * N + t * TILE + x];
        tile_b[y][x] = b[(t * TILE + y) * N + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < TILE; k++) total += tile_a[y][k] * tile_b[k][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * N + column] = total;
}

#define ROWS 2
#define COLUMNS 4
#define DEPTH 16
#define WIDE 16
#define HIGH 16

#ifdef __has_builtin
#if __has_builtin(__builtin_fmaf)
#define FUSED __builtin_fmaf
#endif
#endif
#ifndef FUSED
#define FUSED fma
#endif

__kernel __attribute__((reqd_work_group_size(WIDE, HIGH, 1)))
void blocked_matmul(__global const float *a, __global const float *b, __global float *c) {
    __local float tile_a[HIGH * ROWS][DEPTH], tile_b[DEPTH][WIDE * COLUMNS];
    uint x = get_local_id(0), y = get_local_id(1);
    size_t left = get_group_id(0) * (WIDE * COLUMNS), top = get_group_id(1) * (HIGH * ROWS);
    float sums[ROWS][COLUMNS] = {{0}};
    for (uint first = 0; first < N; first += DEPTH) {
        for (uint n = 0; n < ROWS; n++) tile_a[n * HIGH + y][x] = a[(top + n * HIGH + y) * N + first + x];
        for (uint k = y; k < DEPTH; k += HIGH)
            for (uint n = 0; n < COLUMNS; n++) tile_b[k][n * WIDE + x] = b[(first + k) * N + left + n * WIDE + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < DEPTH; k++) {
            float right[COLUMNS];
            #pragma unroll
            for (uint n = 0; n < COLUMNS; n++) right[n] = tile_b[k][n * WIDE + x];
            #pragma unroll
            for (uint row = 0; row < ROWS; row++) {
                float factor = tile_a[y * ROWS + row][k];
                #pragma unroll
                for (uint n = 0; n < COLUMNS; n++) sums[row][n] = FUSED(factor, right[n], sums[row][n]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint row = 0; row < ROWS; row++)
        for (uint n = 0; n < COLUMNS; n++) c[(top + y * ROWS + row) * N + left + n * WIDE + x] = sums[row][n];
}
#endif

__kernel void sparse_product(__global const uint *starts, __global const uint *columns, __global const float *values,
                             __global const float *vector, __global float *out) {
    size_t row = get_global_id(0);
    uint last = starts[row + 1];
    float total = 0;
    for (uint n = starts[row]; n < last; n++) total += values[n] * vector[columns[n]];
    out[row] = total;
}
