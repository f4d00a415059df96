// The kernels of the suites as plain loops: what a C compiler with threads makes of the same work.
#include <stdint.h>
#include <string.h>

#define BLOCK 64

void xor_words(const uint32_t *x, uint32_t *out, long n) {
    #pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++) out[i] = x[i] ^ 5u;
}

void saxpy(const float *x, const float *y, float *out, long n) {
    #pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++) out[i] = 2.5f * x[i] + y[i];
}

// Blocks that fit into registers; `n` is a multiple of them.
void hash_chain(const uint32_t *x, uint32_t *out, long n, uint32_t rounds) {
    #pragma omp parallel for schedule(static)
    for (long start = 0; start < n; start += BLOCK) {
        uint32_t h[BLOCK];
        for (int i = 0; i < BLOCK; i++) h[i] = x[start + i];
        for (uint32_t k = 0; k < rounds; k++)
            for (int i = 0; i < BLOCK; i++) {
                uint32_t v = h[i] ^ (0x9E3779B9u + k);
                h[i] = (v << 13 | v >> 19) * 5u + 0xE6546B64u;
            }
        for (int i = 0; i < BLOCK; i++) out[start + i] = h[i];
    }
}

void reduction(const uint32_t *x, uint32_t *out, long groups) {
    #pragma omp parallel for schedule(static)
    for (long g = 0; g < groups; g++) {
        uint32_t sum = 0;
        for (int i = 0; i < 256; i++) sum += x[g * 256 + i];
        out[g] = sum;
    }
}

// Four tables a thread, so that equal neighbours do not wait for each other; `n` is a multiple of four.
void histogram(const uint32_t *x, uint32_t *count, long n) {
    memset(count, 0, 256 * sizeof *count);
    #pragma omp parallel
    {
        uint32_t here[4][256] = {{0}};
        #pragma omp for schedule(static)
        for (long i = 0; i < n; i += 4)
            for (int k = 0; k < 4; k++) here[k][x[i + k] & 255u]++;
        #pragma omp critical
        for (int b = 0; b < 256; b++) count[b] += here[0][b] + here[1][b] + here[2][b] + here[3][b];
    }
}

void matmul(const float *a, const float *b, float *c, long n) {
    #pragma omp parallel for schedule(static)
    for (long row = 0; row < n; row++) {
        float *out = c + row * n;
        for (long x = 0; x < n; x++) out[x] = 0;
        for (long k = 0; k < n; k++)
            for (long x = 0; x < n; x++) out[x] += a[row * n + k] * b[k * n + x];
    }
}

void byte_scan(const uint8_t *text, uint8_t *out, long n) {
    long places = n - 7;
    memset(out + places, 0, 7);
    #pragma omp parallel for simd schedule(static)
    for (long i = 0; i < places; i++)
        out[i] = (text[i] == 'a') & (text[i + 1] == 'b') & (text[i + 2] == 'a') & (text[i + 3] == 'c')
               & (text[i + 4] == 'a') & (text[i + 5] == 'b') & (text[i + 6] == 'a') & (text[i + 7] == 'd');
}
