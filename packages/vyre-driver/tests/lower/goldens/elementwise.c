// full

kernel void add(const u32 *a, const u32 *b, u32 *out, u32 b_length, u32 out_length) {
    const u32 global_id_x = global_id(0);
    if (global_id_x < out_length) {
        out[global_id_x] = a[global_id_x] + (global_id_x < b_length ? b[global_id_x] : 0u);
    }
}

// loops

kernel void add(const u32 *a, const u32 *b, u32 *out, u32 b_length, u32 out_length) {
    const u32 workgroup_id_x = workgroup_id(0);
    const u32 first_x = workgroup_id_x * 64u;
    const u64 t0 = ((u64)first_x) + 63ull;
    if ((t0 < ((u64)out_length)) & (t0 < ((u64)b_length))) {
        for (u32 local_x_1 = 0u; local_x_1 < 64u; local_x_1 += 1u) {
            const u64 t1 = ((u64)first_x) + ((u64)local_x_1);
            out[t1] = a[t1] + b[t1];
        }
    } else {
        const u32 t2 = (out_length < first_x) ? 0u : (out_length - first_x);
        const u32 t3 = (64u < t2) ? 64u : t2;
        for (u32 local_x = 0u; local_x < t3; local_x += 1u) {
            const u64 t4 = ((u64)first_x) + ((u64)local_x);
            out[t4] = a[t4] + (t4 < b_length ? b[t4] : 0u);
        }
    }
}
