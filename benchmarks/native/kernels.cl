// The kernels of the suites as OpenCL C is written by hand, rounded as the language wants it.
// -DROUNDS, -DTILE, -DEACH, -DN
#pragma OPENCL FP_CONTRACT OFF

__kernel void xor_words(__global const uint *x, __global uint *out) {
    size_t i = get_global_id(0);
    out[i] = x[i] ^ 5u;
}

__kernel void saxpy(__global const float *x, __global const float *y, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = 2.5f * x[i] + y[i];
}

__kernel void hash_chain(__global const uint *x, __global uint *out) {
    size_t i = get_global_id(0);
    uint h = x[i];
    for (uint n = 0; n < ROUNDS; n++) {
        h ^= 0x9E3779B9u + n;
        h = rotate(h, 13u) * 5u + 0xE6546B64u;
    }
    out[i] = h;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduction(__global const uint *x, __global uint *out) {
    __local uint shared[256];
    uint local_id = get_local_id(0);
    shared[local_id] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint distance = 128; distance > 0; distance >>= 1) {
        if (local_id < distance) shared[local_id] += shared[local_id + distance];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (local_id == 0) out[get_group_id(0)] = shared[0];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void histogram(__global const uint *x, __global uint *count) {
    __local uint here[256];
    uint local_id = get_local_id(0);
    here[local_id] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    size_t first = get_group_id(0) * (256 * EACH) + local_id;
    for (uint n = 0; n < EACH; n++) atomic_inc(&here[x[first + n * 256] & 255u]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&count[local_id], here[local_id]);
}

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

__kernel void byte_scan(__global const uchar *text, __global uchar *out, uint places) {
    size_t i = get_global_id(0);
    out[i] = i < places && text[i] == 'a' && text[i + 1] == 'b' && text[i + 2] == 'a' && text[i + 3] == 'c'
          && text[i + 4] == 'a' && text[i + 5] == 'b' && text[i + 6] == 'a' && text[i + 7] == 'd';
}
