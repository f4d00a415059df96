// A sorting network, one pair for each work item.
#define GROUP 256
#define LOCAL 9

void order(__local uint *shared, uint pair, uint step, bool is_up) {
    uint first = (pair >> step) << (step + 1) | (pair & ((1u << step) - 1)), second = first + (1u << step);
    uint a = shared[first], b = shared[second], least = a < b ? a : b, most = a < b ? b : a;
    shared[first] = is_up ? least : most;
    shared[second] = is_up ? most : least;
}

bool ascends(uint stage) {
    return ((get_global_id(0) >> (stage - 1)) & 1) == 0;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitonic_runs(__global uint *data) {
    __local uint shared[2 * GROUP];
    uint local_id = get_local_id(0);
    data += get_group_id(0) * (2 * GROUP);
    shared[local_id] = data[local_id];
    shared[local_id + GROUP] = data[local_id + GROUP];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint stage = 1; stage <= LOCAL; stage++)
        for (uint step = stage; step-- > 0;) {
            order(shared, local_id, step, ascends(stage));
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    data[local_id] = shared[local_id];
    data[local_id + GROUP] = shared[local_id + GROUP];
}

__kernel void bitonic_step(__global uint *data, uint stage, uint step) {
    size_t pair = get_global_id(0), distance = (size_t)1 << step;
    size_t first = (pair >> step) << (step + 1) | (pair & (distance - 1));
    bool is_up = ascends(stage);
    uint a = data[first], b = data[first + distance], least = a < b ? a : b, most = a < b ? b : a;
    data[first] = is_up ? least : most;
    data[first + distance] = is_up ? most : least;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void bitonic_merge(__global uint *data, uint stage) {
    __local uint shared[2 * GROUP];
    uint local_id = get_local_id(0);
    data += get_group_id(0) * (2 * GROUP);
    shared[local_id] = data[local_id];
    shared[local_id + GROUP] = data[local_id + GROUP];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = LOCAL; step-- > 0;) {
        order(shared, local_id, step, ascends(stage));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    data[local_id] = shared[local_id];
    data[local_id + GROUP] = shared[local_id + GROUP];
}

__kernel void merge_pass(__global const uint *data, __global uint *out, uint width, uint size) {
    uint first = get_global_id(0) * 2 * width, middle = min(first + width, size), last = min(middle + width, size);
    uint left = first, right = middle;
    for (uint place = first; place < last; place++) {
        if (left < middle && (right >= last || data[left] <= data[right]))
            out[place] = data[left++];
        else
            out[place] = data[right++];
    }
}
