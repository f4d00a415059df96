// The words for brain floats: the upper halves of floats, rounded to nearest even, for the same reason as halves.
#pragma once

struct __nv_bfloat16_raw {
    unsigned short x;
};

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
};

static inline __nv_bfloat16 cuda_bfloat(unsigned bits) {
    return __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(bits)});
}
static inline float __bfloat162float(__nv_bfloat16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) {
    const unsigned bits = __float_as_uint(x);
    if (x != x)
        return cuda_bfloat(0x7FFFu);
    return cuda_bfloat((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
static inline __nv_bfloat16 __hneg(__nv_bfloat16 x) { return cuda_bfloat(x.bits ^ 0x8000u); }
static inline __nv_bfloat16 __habs(__nv_bfloat16 x) { return cuda_bfloat(x.bits & 0x7FFFu); }
static inline __nv_bfloat16 __hadd_rn(__nv_bfloat16 x, __nv_bfloat16 y) {
    return __float2bfloat16_rn(__bfloat162float(x) + __bfloat162float(y));
}
static inline __nv_bfloat16 __hsub_rn(__nv_bfloat16 x, __nv_bfloat16 y) {
    return __float2bfloat16_rn(__bfloat162float(x) - __bfloat162float(y));
}
static inline __nv_bfloat16 __hmul_rn(__nv_bfloat16 x, __nv_bfloat16 y) {
    return __float2bfloat16_rn(__bfloat162float(x) * __bfloat162float(y));
}
