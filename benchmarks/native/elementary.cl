// The device's own functions of f32, at its own accuracy.

#define ONE(name) \
    __kernel void of_##name(__global const float *restrict x, __global float *restrict out) { \
        size_t i = get_global_id(0); \
        out[i] = name(x[i]); \
    }

#define TWO(name) \
    __kernel void of_##name(__global const float *restrict x, __global const float *restrict y, \
                            __global float *restrict out) { \
        size_t i = get_global_id(0); \
        out[i] = name(x[i], y[i]); \
    }

ONE(exp) ONE(exp2) ONE(exp10) ONE(expm1)
ONE(log) ONE(log2) ONE(log10) ONE(log1p)
ONE(sin) ONE(cos) ONE(tan) ONE(asin) ONE(acos) ONE(atan)
ONE(sinh) ONE(cosh) ONE(tanh) ONE(rsqrt) ONE(cbrt)
TWO(pow) TWO(hypot) TWO(atan2)
