// The words of CUDA C++ that emitted kernels use, with a meaning on the CPU. A test instrument: a word that is not here
// does not compile, and the types that an intrinsic takes are those of the CUDA documentation and no others.
#pragma once

#include "runtime.h"

#define __global__
#define __device__ static inline
#define __constant__ static
#define __shared__ static __attribute__((section("cuda_shared")))
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))

constexpr int warpSize = 32;
typedef unsigned long long ull;

// ── bits ──

template <class To, class From> static inline To cuda_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "another size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}

static inline unsigned __float_as_uint(float x) { return cuda_bits<unsigned>(x); }
static inline int __float_as_int(float x) { return cuda_bits<int>(x); }
static inline float __uint_as_float(unsigned x) { return cuda_bits<float>(x); }
static inline float __int_as_float(int x) { return cuda_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return cuda_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return cuda_bits<double>(x); }

// ── integers ──

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(ull x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<ull>(x)) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<ull>(x) * y >> 32; }
static inline int __mulhi(int x, int y) { return static_cast<long long>(x) * y >> 32; }
static inline ull __umul64hi(ull x, ull y) { return static_cast<unsigned __int128>(x) * y >> 64; }
static inline long long __mul64hi(long long x, long long y) { return static_cast<__int128>(x) * y >> 64; }
static inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; ++i)
        y |= (x >> i & 1u) << (31 - i);
    return y;
}
static inline ull __brevll(ull x) {
    return static_cast<ull>(__brev(static_cast<unsigned>(x))) << 32 | __brev(static_cast<unsigned>(x >> 32));
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return ((static_cast<ull>(high) << 32 | low) << (shift & 31)) >> 32;
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (static_cast<ull>(high) << 32 | low) >> (shift & 31);
}

#define CUDA_OF_TWO(name, type, expression) \
    static inline type name(type a, type b) { return expression; }
#define CUDA_LEAST_AND_MOST(type) \
    CUDA_OF_TWO(min, type, a < b ? a : b) \
    CUDA_OF_TWO(max, type, a > b ? a : b)
CUDA_LEAST_AND_MOST(int)
CUDA_LEAST_AND_MOST(unsigned)
CUDA_LEAST_AND_MOST(long long)
CUDA_LEAST_AND_MOST(ull)

// ── floats ──

#define CUDA_FLOATS(type, suffix, letter) \
    CUDA_OF_TWO(__##letter##add_rn, type, a + b) \
    CUDA_OF_TWO(__##letter##sub_rn, type, a - b) \
    CUDA_OF_TWO(__##letter##mul_rn, type, a * b) \
    CUDA_OF_TWO(__##letter##div_rn, type, a / b) \
    static inline type __##letter##sqrt_rn(type x) { return __builtin_sqrt##suffix(x); } \
    static inline type sqrt##suffix(type x) { return __builtin_sqrt##suffix(x); } \
    static inline type fabs##suffix(type x) { return __builtin_fabs##suffix(x); } \
    static inline type floor##suffix(type x) { return __builtin_floor##suffix(x); } \
    static inline type ceil##suffix(type x) { return __builtin_ceil##suffix(x); } \
    static inline type trunc##suffix(type x) { return __builtin_trunc##suffix(x); } \
    static inline type rint##suffix(type x) { return __builtin_rint##suffix(x); } \
    static inline type fma##suffix(type x, type y, type z) { return __builtin_fma##suffix(x, y, z); } \
    CUDA_OF_TWO(copysign##suffix, type, __builtin_copysign##suffix(a, b))
#define CUDA_OF_FLOAT(name, type) static inline type name(float x) { return static_cast<type>(x); }
CUDA_FLOATS(float, f, f)
CUDA_FLOATS(double, , d)
static inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }

// ── atomics: threads run in turns, so a read and a write behind it are one ──

template <class T, class F> static inline T cuda_update(T *place, F next) {
    const T old = *place;
    *place = next(old);
    return old;
}
#define CUDA_ATOMIC(name, type, expression) \
    static inline type name(type *place, type value) { \
        return cuda_update(place, [value](type old) -> type { return expression; }); \
    }
#define CUDA_ATOMICS_OF_ALL(type) \
    CUDA_ATOMIC(atomicExch, type, value) \
    static inline type atomicCAS(type *place, type expected, type value) { \
        return cuda_update(place, [=](type old) -> type { return old == expected ? value : old; }); \
    }
#define CUDA_ATOMICS_OF_BITS(type) \
    CUDA_ATOMIC(atomicAnd, type, old & value) \
    CUDA_ATOMIC(atomicOr, type, old | value) \
    CUDA_ATOMIC(atomicXor, type, old ^ value)
#define CUDA_ATOMICS_OF_ORDER(type) \
    CUDA_ATOMIC(atomicMin, type, old < value ? old : value) \
    CUDA_ATOMIC(atomicMax, type, old > value ? old : value)
CUDA_ATOMICS_OF_ALL(int) CUDA_ATOMICS_OF_ALL(unsigned) CUDA_ATOMICS_OF_ALL(ull)
CUDA_ATOMICS_OF_BITS(int) CUDA_ATOMICS_OF_BITS(unsigned) CUDA_ATOMICS_OF_BITS(ull)
CUDA_ATOMICS_OF_ORDER(int) CUDA_ATOMICS_OF_ORDER(unsigned) CUDA_ATOMICS_OF_ORDER(long long) CUDA_ATOMICS_OF_ORDER(ull)
CUDA_ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
CUDA_ATOMIC(atomicAdd, unsigned, old + value)
CUDA_ATOMIC(atomicAdd, ull, old + value)
CUDA_ATOMIC(atomicSub, unsigned, old - value)

// ── threads that wait for each other ──

#define __syncthreads() cuda_barrier(__LINE__)
#define __syncwarp(...) static_cast<void>(cuda_exchange(cuda_mask(__VA_ARGS__), 0, __LINE__))
#define __ballot_sync(mask, vote) cuda_ballot(mask, vote, __LINE__)
#define __any_sync(mask, vote) (cuda_ballot(mask, vote, __LINE__) != 0)
#define __all_sync(mask, vote) (cuda_ballot(mask, !(vote), __LINE__) == 0)
#define __shfl_sync(mask, value, ...) cuda_shuffle(mask, value, cuda_from(__VA_ARGS__), __LINE__)
#define __shfl_xor_sync(mask, value, ...) cuda_shuffle(mask, value, cuda_from_xor(__VA_ARGS__), __LINE__)
#define __shfl_up_sync(mask, value, ...) cuda_shuffle(mask, value, cuda_from_below(__VA_ARGS__), __LINE__)
#define __shfl_down_sync(mask, value, ...) cuda_shuffle(mask, value, cuda_from_above(__VA_ARGS__), __LINE__)
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline unsigned __activemask() { return 0xFFFFFFFFu; }

static inline unsigned cuda_mask(unsigned mask = 0xFFFFFFFFu) { return mask; }

static inline unsigned cuda_ballot(unsigned mask, int vote, int line) {
    const ull *words = cuda_exchange(mask, vote != 0, line);
    unsigned votes = 0;
    mask &= cuda_existing();
    for (unsigned lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1u)
            votes |= static_cast<unsigned>(words[lane]) << lane;
    return votes;
}

// Folds of the words of all lanes in the mask, each in their order.
template <class T, class F> static inline T cuda_fold(unsigned mask, T value, F both, int line) {
    const ull *words = cuda_exchange(mask, static_cast<ull>(value), line);
    mask &= cuda_existing();
    T folded = static_cast<T>(words[__builtin_ctz(mask)]);
    for (mask &= mask - 1; mask; mask &= mask - 1)
        folded = both(folded, static_cast<T>(words[__builtin_ctz(mask)]));
    return folded;
}
#define CUDA_FOLD(name, type, expression) \
    static inline type cuda_reduce_##name(unsigned mask, type value, int line) { \
        return cuda_fold(mask, value, [](type a, type b) -> type { return expression; }, line); \
    }
CUDA_FOLD(add, unsigned, a + b) CUDA_FOLD(add, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
CUDA_FOLD(min, unsigned, a < b ? a : b) CUDA_FOLD(min, int, a < b ? a : b)
CUDA_FOLD(max, unsigned, a > b ? a : b) CUDA_FOLD(max, int, a > b ? a : b)
CUDA_FOLD(and, unsigned, a & b) CUDA_FOLD(or, unsigned, a | b) CUDA_FOLD(xor, unsigned, a ^ b)
#define __reduce_add_sync(mask, value) cuda_reduce_add(mask, value, __LINE__)
#define __reduce_min_sync(mask, value) cuda_reduce_min(mask, value, __LINE__)
#define __reduce_max_sync(mask, value) cuda_reduce_max(mask, value, __LINE__)
#define __reduce_and_sync(mask, value) cuda_reduce_and(mask, value, __LINE__)
#define __reduce_or_sync(mask, value) cuda_reduce_or(mask, value, __LINE__)
#define __reduce_xor_sync(mask, value) cuda_reduce_xor(mask, value, __LINE__)

// The lane to read from; outside of its segment of `width` lanes a thread reads its own word.
static inline unsigned cuda_from(int lane, int width = 32) {
    const unsigned start = cuda_lane() & ~(width - 1u);
    return start + (static_cast<unsigned>(lane) & (width - 1u));
}
static inline unsigned cuda_from_xor(int mask, int width = 32) {
    const unsigned own = cuda_lane(), lane = own ^ static_cast<unsigned>(mask);
    return lane < (own & ~(width - 1u)) + width ? lane : own;
}
static inline unsigned cuda_from_below(unsigned delta, int width = 32) {
    const unsigned own = cuda_lane();
    return (own & (width - 1u)) >= delta ? own - delta : own;
}
static inline unsigned cuda_from_above(unsigned delta, int width = 32) {
    const unsigned own = cuda_lane();
    return (own & (width - 1u)) + delta < static_cast<unsigned>(width) ? own + delta : own;
}

template <class T> static inline T cuda_shuffle(unsigned mask, T value, unsigned lane, int line) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 2, "shuffles take 2, 4 or 8 bytes");
    ull word = 0;
    __builtin_memcpy(&word, &value, sizeof value);
    word = cuda_exchange(mask, word, line)[lane];
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
}

// ── the way in ──

extern "C" {
extern char __start_cuda_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_cuda_shared[] __attribute__((weak, visibility("hidden")));
// The memory of a block: its start and its size.
__attribute__((visibility("default"))) char *cuda_shared_start(void) { return __start_cuda_shared; }
__attribute__((visibility("default"))) ull cuda_shared_size(void) { return __stop_cuda_shared - __start_cuda_shared; }
}

template <unsigned... i> struct cuda_positions {};
template <unsigned n, unsigned... i> struct cuda_up_to : cuda_up_to<n - 1, n - 1, i...> {};
template <unsigned... i> struct cuda_up_to<0, i...> { typedef cuda_positions<i...> all; };

template <class... A, unsigned... i>
static inline void cuda_spread(void (*kernel)(A...), void **arguments, cuda_positions<i...>) {
    kernel(*static_cast<A *>(arguments[i])...);
}
template <class... A> static inline void cuda_call(void (*kernel)(A...), void **arguments) {
    cuda_spread(kernel, arguments, typename cuda_up_to<sizeof...(A)>::all());
}
template <class... A> constexpr int cuda_count(void (*)(A...)) { return sizeof...(A); }
#define CUDA_ENTRY(kernel) \
    extern "C" __attribute__((visibility("default"))) int cuda_arguments_##kernel(void) { return cuda_count(kernel); } \
    extern "C" __attribute__((visibility("default"))) void cuda_body_##kernel(void **arguments) { \
        cuda_call(kernel, arguments); \
    }
#define CUDA_KERNELS(names) \
    extern "C" __attribute__((visibility("default"))) const char *cuda_kernels(void) { return names; }
