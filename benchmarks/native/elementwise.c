// One result for each element, as plain loops.
#include <stdint.h>
#include <string.h>

#define PARTS 64
#define BLOCK 64

void copy(const uint32_t *x, uint32_t *out, long n) {
    #pragma omp parallel for schedule(static)
    for (long part = 0; part < PARTS; part++) {
        long first = part * n / PARTS, last = (part + 1) * n / PARTS;
        memcpy(out + first, x + first, (last - first) * sizeof *x);
    }
}

void xor(const uint32_t *x, uint32_t *out, long n) {
    #pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++) out[i] = x[i] ^ 5u;
}

void saxpy(const float *x, const float *y, float *out, long n) {
    #pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++) out[i] = 2.5f * x[i] + y[i];
}

// Blocks that fit into registers; `n` is a multiple of them.
void polynomial(const float *x, float *out, long n) {
    #pragma omp parallel for schedule(static)
    for (long start = 0; start < n; start += BLOCK) {
        float value[BLOCK];
        for (int i = 0; i < BLOCK; i++) value[i] = 1.0f / 33;
        for (int k = 31; k >= 0; k--) {
            float coefficient = (float)((k % 2 ? -1.0 : 1.0) / (1 + k));
            for (int i = 0; i < BLOCK; i++) value[i] = value[i] * x[start + i] + coefficient;
        }
        for (int i = 0; i < BLOCK; i++) out[start + i] = value[i];
    }
}
