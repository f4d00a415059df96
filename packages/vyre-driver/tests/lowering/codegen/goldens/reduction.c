// full

kernel void total(const u32 *a, u32 *o, u32 a_length) {
    shared u32 s[8];
    const u32 global_id_x = global_id(0);
    const u32 local_id_x = local_id(0);
    s[local_id_x] = global_id_x < a_length ? a[global_id_x] : 0u;
    barrier();
    if (local_id_x < 4u) {
        const u32 t0 = s[local_id_x];
        s[local_id_x] = t0 + s[(local_id_x + 4u)];
    }
    barrier();
    if (local_id_x < 2u) {
        const u32 t1 = s[local_id_x];
        s[local_id_x] = t1 + s[(local_id_x + 2u)];
    }
    barrier();
    if (local_id_x < 1u) {
        const u32 t2 = s[local_id_x];
        s[local_id_x] = t2 + s[(local_id_x + 1u)];
    }
    barrier();
    if (local_id_x == 0u) {
        atomic_add(&o[0u], s[0u]);
    }
}

// loops

kernel void total(const u32 *a, u32 *o, u32 a_length) {
    u32 s[8];
    const u32 workgroup_id_x = workgroup_id(0);
    const u32 first_x = workgroup_id_x * 8u;
    if ((((u64)first_x) + 7ull) < ((u64)a_length)) {
        for (u32 local_x_5 = 0u; local_x_5 < 8u; local_x_5 += 1u) {
            s[local_x_5] = a[(((u64)first_x) + ((u64)local_x_5))];
        }
    } else {
        for (u32 local_x = 0u; local_x < 8u; local_x += 1u) {
            const u64 t0 = ((u64)first_x) + ((u64)local_x);
            s[local_x] = t0 < a_length ? a[t0] : 0u;
        }
    }
    for (u32 local_x_1 = 0u; local_x_1 < 4u; local_x_1 += 1u) {
        s[local_x_1] = s[local_x_1] + s[(((u64)local_x_1) + 4ull)];
    }
    for (u32 local_x_2 = 0u; local_x_2 < 2u; local_x_2 += 1u) {
        s[local_x_2] = s[local_x_2] + s[(((u64)local_x_2) + 2ull)];
    }
    for (u32 local_x_3 = 0u; local_x_3 < 1u; local_x_3 += 1u) {
        s[local_x_3] = s[local_x_3] + s[(((u64)local_x_3) + 1ull)];
    }
    for (u32 local_x_4 = 0u; local_x_4 < 1u; local_x_4 += 1u) {
        atomic_add(&o[0u], s[0u]);
    }
}
