// The words for halves, through float: one rounding of a sum, product, quotient or root of floats that are halves is
// the half's own, because a float has more than twice its digits.
#pragma once

struct __half_raw {
    unsigned short x;
};

struct __half {
    unsigned short bits;
    __half() = default;
    constexpr __half(__half_raw raw) : bits(raw.x) {}
};

static inline float __half2float(__half x) { return static_cast<float>(cuda_bits<_Float16>(x.bits)); }
static inline __half __float2half_rn(float x) {
    return __half(__half_raw{cuda_bits<unsigned short>(static_cast<_Float16>(x))});
}
static inline unsigned short __half_as_ushort(__half x) { return x.bits; }
static inline __half __hneg(__half x) { return __half(__half_raw{static_cast<unsigned short>(x.bits ^ 0x8000u)}); }
static inline __half __habs(__half x) { return __half(__half_raw{static_cast<unsigned short>(x.bits & 0x7FFFu)}); }
static inline __half __hadd_rn(__half x, __half y) { return __float2half_rn(__half2float(x) + __half2float(y)); }
static inline __half __hsub_rn(__half x, __half y) { return __float2half_rn(__half2float(x) - __half2float(y)); }
static inline __half __hmul_rn(__half x, __half y) { return __float2half_rn(__half2float(x) * __half2float(y)); }
