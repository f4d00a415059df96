// The part of NVIDIA's header of this name that emitted texts use: NVRTC comes without headers. Before compute
// capability 9.0 the one instruction for sums and products is the fused one, which is exact with 1 and -0.
#pragma once

struct __nv_bfloat16_raw {
    unsigned short x;
};

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __device__ constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
};

static __device__ __forceinline__ unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }

static __device__ __forceinline__ float __bfloat162float(__nv_bfloat16 x) {
    return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}

static __device__ __forceinline__ __nv_bfloat16 __float2bfloat16_rn(float x) {
    __nv_bfloat16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}

#define VYRE_FUSED(name, constant, operands) \
    static __device__ __forceinline__ __nv_bfloat16 name(__nv_bfloat16 x, __nv_bfloat16 y) { \
        __nv_bfloat16 z; \
        asm("{ .reg .b16 c; mov.b16 c, " constant "; fma.rn.bf16 %0, " operands "; }" \
            : "=h"(z.bits) \
            : "h"(x.bits), "h"(y.bits)); \
        return z; \
    }
VYRE_FUSED(__hadd_rn, "0x3F80U", "%1, c, %2")
VYRE_FUSED(__hsub_rn, "0xBF80U", "%2, c, %1")
VYRE_FUSED(__hmul_rn, "0x8000U", "%1, %2, c")
#undef VYRE_FUSED

static __device__ __forceinline__ __nv_bfloat16 __hneg(__nv_bfloat16 x) {
    return __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(x.bits ^ 0x8000u)});
}
static __device__ __forceinline__ __nv_bfloat16 __habs(__nv_bfloat16 x) {
    return __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(x.bits & 0x7FFFu)});
}
