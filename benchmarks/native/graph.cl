// One level of a search in breadth, from below.
__kernel void bfs_step(__global const uint *starts, __global const uint *neighbours, __constant uint *level,
                       __global const uint *distances, __global uint *out) {
    size_t vertex = get_global_id(0);
    uint distance = distances[vertex], now = *level;
    if (distance == 0xFFFFFFFFu) {
        uint last = starts[vertex + 1];
        for (uint n = starts[vertex]; n < last; n++)
            if (distances[neighbours[n]] == now) {
                distance = now + 1;
                break;
            }
    }
    out[vertex] = distance;
}

// One level from above: all write the same, as such kernels do.
__kernel void bfs_level(__global const uint *starts, __global const uint *neighbours, __constant uint *level,
                        __global const uint *distances, __global uint *out) {
    size_t vertex = get_global_id(0);
    if (distances[vertex] == *level) {
        uint last = starts[vertex + 1];
        for (uint n = starts[vertex]; n < last; n++) {
            uint neighbour = neighbours[n];
            if (distances[neighbour] == 0xFFFFFFFFu) out[neighbour] = 1;
        }
    }
}
