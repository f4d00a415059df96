// Many elements into few.
#include <stdint.h>
#include <string.h>

#define PARTS 256

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

// The sums of the parts, then each part from what is before it; `n` is a multiple of the parts.
void prefix_sum(const uint32_t *x, uint32_t *out, long n) {
    uint32_t before[PARTS + 1] = {0};
    long each = n / PARTS;
    #pragma omp parallel for schedule(static)
    for (int part = 0; part < PARTS; part++) {
        uint32_t sum = 0;
        for (long i = part * each; i < (part + 1) * each; i++) sum += x[i];
        before[part + 1] = sum;
    }
    for (int part = 0; part < PARTS; part++) before[part + 1] += before[part];
    #pragma omp parallel for schedule(static)
    for (int part = 0; part < PARTS; part++) {
        uint32_t sum = before[part];
        for (long i = part * each; i < (part + 1) * each; i++) out[i] = sum += x[i];
    }
}
