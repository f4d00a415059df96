// The part of NVIDIA's header of this name that emitted texts use: NVRTC comes without headers. Every function is the
// instruction that it is documented as, with its rounding written out, so that nothing is contracted.
#pragma once

struct __half_raw {
    unsigned short x;
};

struct __half {
    unsigned short bits;
    __half() = default;
    __device__ constexpr __half(__half_raw raw) : bits(raw.x) {}
};

static __device__ __forceinline__ unsigned short __half_as_ushort(__half x) { return x.bits; }

static __device__ __forceinline__ float __half2float(__half x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}

static __device__ __forceinline__ __half __float2half_rn(float x) {
    __half y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}

#define VYRE_OF_TWO_HALVES(name, instruction) \
    static __device__ __forceinline__ __half name(__half x, __half y) { \
        __half z; \
        asm(instruction " %0, %1, %2;" : "=h"(z.bits) : "h"(x.bits), "h"(y.bits)); \
        return z; \
    }
VYRE_OF_TWO_HALVES(__hadd_rn, "add.rn.f16")
VYRE_OF_TWO_HALVES(__hsub_rn, "sub.rn.f16")
VYRE_OF_TWO_HALVES(__hmul_rn, "mul.rn.f16")
#undef VYRE_OF_TWO_HALVES

static __device__ __forceinline__ __half __hneg(__half x) {
    return __half(__half_raw{static_cast<unsigned short>(x.bits ^ 0x8000u)});
}
static __device__ __forceinline__ __half __habs(__half x) {
    return __half(__half_raw{static_cast<unsigned short>(x.bits & 0x7FFFu)});
}
