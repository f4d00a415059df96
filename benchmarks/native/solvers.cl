// Steps of solvers of linear equations.
#define TILE 16

__kernel void jacobi_step(__global const uint *starts, __global const uint *columns, __global const float *values,
                          __global const float *x, __global const float *right, __global const float *inverse,
                          __global float *out) {
    size_t row = get_global_id(0);
    uint last = starts[row + 1];
    float rest = right[row];
    for (uint n = starts[row]; n < last; n++) rest -= values[n] * x[columns[n]];
    out[row] = rest * inverse[row];
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void elimination(__global const float *factors, __global const float *a, __global float *out, uint n, uint pivot) {
    uint row = get_global_id(0), column = get_global_id(1);
    float own = a[row * n + column];
    out[row * n + column] = row > pivot ? own - factors[row] * a[pivot * n + column] : own;
}

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void trailing_update(__global const float *left, __global const float *top, __global const float *a,
                     __global float *out, uint n) {
    __local float tile_left[TILE][TILE], tile_top[TILE][TILE];
    uint x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    tile_left[y][x] = left[row * TILE + x];
    tile_top[y][x] = top[y * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    float total = 0;
    for (uint k = 0; k < TILE; k++) total += tile_left[y][k] * tile_top[k][x];
    out[row * n + column] = a[row * n + column] - total;
}
