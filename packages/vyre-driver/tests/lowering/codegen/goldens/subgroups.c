// full

kernel void scan(const u32 *a, u32 *out, u32 a_length, u32 out_length) {
    shared u32 lanes_u32[16];
    const u32 global_id_x = global_id(0);
    const u32 local_id_x = local_id(0);
    const u32 local_index = local_id_x;
    const u32 lane = local_index & 3u;
    const u32 first_lane = local_index - lane;
    const u32 sub0_1 = global_id_x < a_length ? a[global_id_x] : 0u;
    lanes_u32[local_index] = sub0_1;
    barrier();
    const u32 fetched = lanes_u32[(first_lane + ((lane >= 1u) ? (lane - 1u) : lane))];
    const u32 scanned = (lane >= 1u) ? (fetched + sub0_1) : sub0_1;
    lanes_u32[(local_index + 8u)] = scanned;
    barrier();
    const u32 fetched_1 = lanes_u32[((first_lane + ((lane >= 2u) ? (lane - 2u) : lane)) + 8u)];
    const u32 scanned_1 = (lane >= 2u) ? (fetched_1 + scanned) : scanned;
    const u32 sub0 = scanned_1;
    if (global_id_x < out_length) {
        out[global_id_x] = sub0;
    }
}

// shuffling

kernel void scan(const u32 *a, u32 *out, u32 a_length, u32 out_length) {
    const u32 global_id_x = global_id(0);
    const u32 local_id_x = local_id(0);
    const u32 local_index = local_id_x;
    const u32 lane = local_index & 3u;
    const u32 first_lane = local_index - lane;
    const u32 sub0_1 = global_id_x < a_length ? a[global_id_x] : 0u;
    const u32 shuffled = shuffle_u32(sub0_1, ((lane >= 1u) ? (lane - 1u) : lane));
    const u32 scanned = (lane >= 1u) ? (shuffled + sub0_1) : sub0_1;
    const u32 shuffled_1 = shuffle_u32(scanned, ((lane >= 2u) ? (lane - 2u) : lane));
    const u32 scanned_1 = (lane >= 2u) ? (shuffled_1 + scanned) : scanned;
    const u32 sub0 = scanned_1;
    if (global_id_x < out_length) {
        out[global_id_x] = sub0;
    }
}

// rich

kernel void scan(const u32 *a, u32 *out, u32 a_length, u32 out_length) {
    const u32 global_id_x = global_id(0);
    const u32 sub0 = inclusive_scan_add_u32((global_id_x < a_length ? a[global_id_x] : 0u));
    if (lt_u32(global_id_x, out_length)) {
        out[global_id_x] = sub0;
    }
}
