// Bodies that attract each other.
#define GROUP 256

#ifdef __has_builtin
#if __has_builtin(__builtin_sqrtf)
#define ROOT __builtin_sqrtf
#endif
#endif
#ifndef ROOT
#define ROOT sqrt
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void n_body(__global const float *places, __global float *out, uint bodies) {
    __local float xs[GROUP], ys[GROUP], zs[GROUP];
    size_t i = get_global_id(0);
    uint local_id = get_local_id(0);
    float x = places[i], y = places[i + bodies], z = places[i + 2 * bodies], to_x = 0, to_y = 0, to_z = 0;
    for (uint first = 0; first < bodies; first += GROUP) {
        xs[local_id] = places[first + local_id];
        ys[local_id] = places[first + local_id + bodies];
        zs[local_id] = places[first + local_id + 2 * bodies];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint n = 0; n < GROUP; n++) {
            float dx = xs[n] - x, dy = ys[n] - y, dz = zs[n] - z;
            float square = dx * dx + dy * dy + dz * dz + 1e-3f;
            float strength = 1.0f / (square * ROOT(square));
            to_x += dx * strength;
            to_y += dy * strength;
            to_z += dz * strength;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = to_x;
    out[i + bodies] = to_y;
    out[i + 2 * bodies] = to_z;
}

__kernel void neighbour_forces(__global const uint *neighbours, __global const float *places, __global float *out,
                               __constant float *reach, uint listed, uint count) {
    size_t i = get_global_id(0);
    float x = places[4 * i], y = places[4 * i + 1], z = places[4 * i + 2], to_x = 0, to_y = 0, to_z = 0;
    for (uint n = 0; n < listed; n++) {
        size_t other = neighbours[(size_t)n * count + i];
        float dx = x - places[4 * other], dy = y - places[4 * other + 1], dz = z - places[4 * other + 2];
        float square = dx * dx + dy * dy + dz * dz + 1e-3f;
        if (square < *reach) {
            float inverse = 1.0f / square, sixth = inverse * inverse * inverse;
            float strength = inverse * sixth * (sixth - 0.5f);
            to_x += dx * strength;
            to_y += dy * strength;
            to_z += dz * strength;
        }
    }
    out[4 * i] = to_x;
    out[4 * i + 1] = to_y;
    out[4 * i + 2] = to_z;
    out[4 * i + 3] = 0;
}
