// full

kernel void steps_0(const float *a, float *v0_kept, u32 a_length) {
    const u32 global_id_x = global_id(0);
    const u32 local_id_x = local_id(0);
    const u32 workgroup_id_x = workgroup_id(0);
    const u32 workgroup_id_y = workgroup_id(1);
    const u32 workgroup_id_z = workgroup_id(2);
    const u32 num_workgroups_x = num_workgroups(0);
    const u32 num_workgroups_y = num_workgroups(1);
    const u32 slot = (((((workgroup_id_z * num_workgroups_y) + workgroup_id_y) * num_workgroups_x) + workgroup_id_x) * 4u) + local_id_x;
    float v0 = global_id_x < a_length ? a[global_id_x] : 0.0f;
    v0_kept[slot] = v0;
}

kernel void steps_1(const float *a, uniform u64 *counters, float *v0_kept, u32 a_length) {
    const u32 global_id_x = global_id(0);
    const u32 local_id_x = local_id(0);
    const u32 workgroup_id_x = workgroup_id(0);
    const u32 workgroup_id_y = workgroup_id(1);
    const u32 workgroup_id_z = workgroup_id(2);
    const u32 num_workgroups_x = num_workgroups(0);
    const u32 num_workgroups_y = num_workgroups(1);
    const u32 i0 = (u32)counters[0u];
    const u32 slot = (((((workgroup_id_z * num_workgroups_y) + workgroup_id_y) * num_workgroups_x) + workgroup_id_x) * 4u) + local_id_x;
    float v0 = v0_kept[slot];
    const u32 t0 = global_id_x + 1u;
    v0 = v0 + ((t0 < a_length ? a[t0] : 0.0f) * ((float)i0));
    v0_kept[slot] = v0;
}

kernel void steps_2(float *a, const float *v0_kept, u32 a_length) {
    const u32 global_id_x = global_id(0);
    const u32 local_id_x = local_id(0);
    const u32 workgroup_id_x = workgroup_id(0);
    const u32 workgroup_id_y = workgroup_id(1);
    const u32 workgroup_id_z = workgroup_id(2);
    const u32 num_workgroups_x = num_workgroups(0);
    const u32 num_workgroups_y = num_workgroups(1);
    const u32 slot = (((((workgroup_id_z * num_workgroups_y) + workgroup_id_y) * num_workgroups_x) + workgroup_id_x) * 4u) + local_id_x;
    float v0 = v0_kept[slot];
    if (global_id_x < a_length) {
        a[global_id_x] = (v0 != v0) ? as_f32(0x7fc00000u) : v0;
    }
}

// rich

kernel void steps(float *a, u32 a_length) {
    const u32 global_id_x = global_id(0);
    float v0 = global_id_x < a_length ? a[global_id_x] : 0.0f;
    for (u32 i0 = 0u; i0 < 3u; i0 += 1u) {
        grid_barrier();
        const u32 t0 = add_u32(global_id_x, 1u);
        v0 = add_f32(v0, mul_f32((t0 < a_length ? a[t0] : 0.0f), ((float)i0)));
        grid_barrier();
        if (lt_u32(global_id_x, a_length)) {
            a[global_id_x] = ne_f32(v0, v0) ? as_f32(0x7fc00000u) : v0;
        }
    }
}
