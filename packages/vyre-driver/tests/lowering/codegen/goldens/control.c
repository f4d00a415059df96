// full
static const i32 table[4] = {(-1), 0, 2147483647, (-2147483647 - 1)};

kernel void lookup(const u8 *text, i32 *out, u64 *traps, u32 text_length) {
    const u32 global_id_x = global_id(0);
    const u32 global_id_y = global_id(1);
    const u32 global_id_z = global_id(2);
    const u32 num_workgroups_x = num_workgroups(0);
    const u32 num_workgroups_y = num_workgroups(1);
    const u32 i0 = (global_id_y * 100u) + global_id_x;
    if (i0 >= text_length) {
        return;
    }
    i32 state0 = 0;
    for (u32 k0 = 0u; k0 < 8u; k0 += 3u) {
        if (((u32)text[i0]) == k0) {
            continue;
        }
        state0 = table[((((u32)state0) + k0) & 3u)];
        if (state0 < 0) {
            const u64 t0 = (((((((u64)global_id_z) * (((u64)num_workgroups_y) * 2ull)) + ((u64)global_id_y)) * (((u64)num_workgroups_x) * 4ull)) + ((u64)global_id_x)) << 32ull) + ((u64)k0);
            atomic_min(&traps[0u], t0);
            break;
        }
    }
    out[i0] = state0;
}
