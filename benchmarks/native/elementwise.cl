// One result for each element.
__kernel void copy(__global const uint *x, __global uint *out) {
    size_t i = get_global_id(0);
    out[i] = x[i];
}

__kernel void xor(__global const uint *x, __global uint *out) {
    size_t i = get_global_id(0);
    out[i] = x[i] ^ 5u;
}

__kernel void saxpy(__global const float *x, __global const float *y, __global float *out) {
    size_t i = get_global_id(0);
    out[i] = 2.5f * x[i] + y[i];
}

__kernel void polynomial(__global const float *x, __global float *out) {
    size_t i = get_global_id(0);
    float here = x[i], value = 1.0f / 33;
    #pragma unroll
    for (int k = 31; k >= 0; k--) value = value * here + (k % 2 ? -1.0f : 1.0f) / (1 + k);
    out[i] = value;
}

__kernel void escape_time(__global const float *x, __global const float *y, __global uint *out) {
    size_t i = get_global_id(0);
    float a = x[i], b = y[i], real = a, imaginary = b;
    uint rounds = 0;
    for (; rounds < 100; rounds++) {
        float aa = a * a, bb = b * b;
        if (aa + bb > 4.0f) break;
        b = a * b * 2.0f + imaginary;
        a = aa - bb + real;
    }
    out[i] = rounds;
}
