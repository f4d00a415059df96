// full

kernel void add(const u32 *a, const u32 *b, u32 *out, u32 b_length, u32 out_length) {
    const u32 global_id_x = global_id(0);
    if (global_id_x < out_length) {
        out[global_id_x] = a[global_id_x] + (global_id_x < b_length ? b[global_id_x] : 0u);
    }
}

// loops

kernel void add(const u32 *a, const u32 *b, u32 *out, uniform u32 *runs, u32 b_length, u32 out_length) {
    const u32 workgroup_id_x = workgroup_id(0);
    const u32 t0 = runs[0u];
    const u32 first_group = workgroup_id_x * t0;
    const u32 first_x = first_group * 64u;
    const u32 t1 = runs[1u] - first_group;
    const u32 end_x = ((t0 < t1) ? t0 : t1) * 64u;
    const u32 t2 = (out_length < first_x) ? 0u : (out_length - first_x);
    const u32 t3 = (end_x < t2) ? end_x : t2;
    if ((((u64)first_x) + ((((u64)t3) < 1ull) ? 0ull : (((u64)t3) - 1ull))) < ((u64)b_length)) {
        for (u32 local_x_1 = 0u; local_x_1 < t3; local_x_1 += 1u) {
            const u64 t4 = ((u64)first_x) + ((u64)local_x_1);
            out[t4] = a[t4] + b[t4];
        }
    } else {
        for (u32 local_x = 0u; local_x < t3; local_x += 1u) {
            const u64 t5 = ((u64)first_x) + ((u64)local_x);
            out[t5] = a[t5] + (t5 < b_length ? b[t5] : 0u);
        }
    }
}
