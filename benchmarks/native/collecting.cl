// Many elements into few. -DEACH for the histogram, -DRUN for the prefix sum.
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

__kernel void clear(__global uint *out) {
    out[get_global_id(0)] = 0;
}

#ifdef EACH
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
#endif

#ifdef RUN
// The sum of everything in front of this work item's value.
uint sum_before(__local uint *shared, uint value) {
    uint local_id = get_local_id(0);
    shared[local_id] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint distance = 1; distance < 256; distance <<= 1) {
        uint further = local_id >= distance ? shared[local_id - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[local_id] += further;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return local_id ? shared[local_id - 1] : 0;
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void prefix_sum_groups(__global const uint *x, __global uint *sums) {
    __local uint shared[256];
    uint local_id = get_local_id(0);
    size_t first = get_group_id(0) * (256 * RUN) + local_id;
    uint sum = 0;
    for (uint n = 0; n < RUN; n++) sum += x[first + n * 256];
    shared[local_id] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint distance = 128; distance > 0; distance >>= 1) {
        if (local_id < distance) shared[local_id] += shared[local_id + distance];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (local_id == 0) sums[get_group_id(0)] = shared[0];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void prefix_sum_sums(__global uint *sums, uint groups) {
    __local uint shared[256];
    uint each = (groups + 255) / 256, first = get_local_id(0) * each, last = min(first + each, groups);
    uint sum = 0;
    for (uint n = first; n < last; n++) sum += sums[n];
    sum = sum_before(shared, sum);
    for (uint n = first; n < last; n++) sums[n] = sum += sums[n];
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void prefix_sum(__global const uint *x, __global const uint *sums, __global uint *out) {
    __local uint shared[256];
    size_t first = get_global_id(0) * RUN, group = get_group_id(0);
    uint sum = 0;
    for (uint n = 0; n < RUN; n++) sum += x[first + n];
    sum = sum_before(shared, sum) + (group ? sums[group - 1] : 0);
    for (uint n = 0; n < RUN; n++) out[first + n] = sum += x[first + n];
}
#endif
