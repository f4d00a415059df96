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

// Blocks in step, until all points of one have left. `n` is a multiple of them.
void escape_time(const float *xs, const float *ys, uint32_t *out, long n) {
    #pragma omp parallel for schedule(dynamic, 64)
    for (long start = 0; start < n; start += BLOCK) {
        float a[BLOCK], b[BLOCK];
        uint32_t rounds[BLOCK] = {0}, stays[BLOCK], anyone = 1;
        memcpy(a, xs + start, sizeof a);
        memcpy(b, ys + start, sizeof b);
        for (int i = 0; i < BLOCK; i++) stays[i] = 1;
        for (int k = 0; k < 100 && anyone; k++) {
            anyone = 0;
            #pragma omp simd reduction(|:anyone)
            for (int i = 0; i < BLOCK; i++) {
                float aa = a[i] * a[i], bb = b[i] * b[i];
                uint32_t here = stays[i] & (aa + bb <= 4.0f);
                float next = a[i] * b[i] * 2.0f + ys[start + i];
                a[i] = here ? aa - bb + xs[start + i] : a[i];
                b[i] = here ? next : b[i];
                rounds[i] += here;
                stays[i] = here;
                anyone |= here;
            }
        }
        memcpy(out + start, rounds, sizeof rounds);
    }
}
