// poor

kernel void narrow(const u8 *a, const u16 *h, const u8 *flags, u8 *q, u16 *s, u8 *f, u32 a_length, u32 h_length, u32 flags_length, u32 q_length, u32 s_length, u32 f_length) {
    const u32 global_id_x = global_id(0);
    const i32 t0 = ((i32)(((u32)(global_id_x < a_length ? a[global_id_x] : 0)) << 24u)) >> 24;
    if (((u32)(global_id_x < flags_length ? flags[global_id_x] : 0)) != 0u) {
        if (global_id_x < q_length) {
            const u32 t1 = global_id_x + 1u;
            const i32 t2 = ((i32)(((u32)(t1 < a_length ? a[t1] : 0)) << 24u)) >> 24;
            q[global_id_x] = (u8)(((u32)(((i32)(((u32)(t0 / ((t2 == 0) ? 1 : t2))) << 24u)) >> 24)) & 255u);
        }
    }
    if (global_id_x < s_length) {
        const u32 t3 = (u32)(global_id_x < h_length ? h[global_id_x] : 0);
        const u32 t4 = (t3 & 32767u) << 13u;
        const float t5 = as_f32((as_u32(((t4 < 0xf800000u) ? (as_f32(t4) * 0x1p+112f) : as_f32((t4 | 0x7f800000u)))) | ((t3 & 32768u) << 16u)));
        const u32 t6 = as_u32((t5 + t5));
        const float t7 = as_f32((t6 & 0x7fffffffu));
        const u32 t8 = as_u32(t7) & 0x7f800000u;
        const float t9 = as_f32((((0x38800000u < t8) ? t8 : 0x38800000u) + 0x6800000u));
        const float t10 = as_f32((as_u32(((t7 < 65520.0f) ? ((t7 + t9) - t9) : (t7 + as_f32(0x7f800000u)))) | (t6 & 0x80000000u)));
        const u32 t11 = as_u32(t10) & 0x7fffffffu;
        const u32 t12 = (t11 - 0x38000000u) >> 13u;
        const u16 t13 = (u16)((t10 != t10) ? 32256u : (((t11 < 0x38800000u) ? (as_u32((as_f32(t11) + 0.5f)) & 1023u) : ((t12 < 31744u) ? t12 : 31744u)) | ((as_u32(t10) >> 16u) & 32768u)));
        s[global_id_x] = t13;
    }
    if (global_id_x < f_length) {
        f[global_id_x] = (u8)(t0 > 3);
    }
}

// rich

kernel void narrow(const i8 *a, const half *h, const u8 *flags, i8 *q, half *s, u8 *f, u32 a_length, u32 h_length, u32 flags_length, u32 q_length, u32 s_length, u32 f_length) {
    const u32 global_id_x = global_id(0);
    const i8 t0 = global_id_x < a_length ? a[global_id_x] : 0;
    if (ne_u32(((u32)(global_id_x < flags_length ? flags[global_id_x] : 0)), 0u)) {
        if (lt_u32(global_id_x, q_length)) {
            const u32 t1 = add_u32(global_id_x, 1u);
            q[global_id_x] = div_i8(t0, (t1 < a_length ? a[t1] : 0));
        }
    }
    if (lt_u32(global_id_x, s_length)) {
        const half t2 = global_id_x < h_length ? h[global_id_x] : as_half(0);
        s[global_id_x] = ne_f16(add_f16(t2, t2), add_f16(t2, t2)) ? as_half(32256) : add_f16(t2, t2);
    }
    if (lt_u32(global_id_x, f_length)) {
        f[global_id_x] = (u8)gt_i8(t0, 3);
    }
}
