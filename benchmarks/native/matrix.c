// Matrices.
#include <stdint.h>

#define SPAN 32

// In squares that fit into the nearest cache.
void transpose(const float *a, float *out, long side) {
    #pragma omp parallel for collapse(2) schedule(static)
    for (long top = 0; top < side; top += SPAN)
        for (long left = 0; left < side; left += SPAN)
            for (long x = left; x < left + SPAN; x++)
                for (long y = top; y < top + SPAN; y++) out[x * side + y] = a[y * side + x];
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

#define ROWS 8
#define COLUMNS 32

// Eight rows of thirty-two columns in registers, sums fused; `n` is a multiple of all of them.
void blocked_matmul(const float *a, const float *b, float *c, long n) {
    #pragma omp parallel for collapse(2) schedule(static)
    for (long row = 0; row < n; row += ROWS)
        for (long left = 0; left < n; left += COLUMNS) {
            float sums[ROWS][COLUMNS] = {{0}};
            for (long k = 0; k < n; k++)
                for (int y = 0; y < ROWS; y++) {
                    float factor = a[(row + y) * n + k];
                    #pragma omp simd
                    for (int x = 0; x < COLUMNS; x++)
                        sums[y][x] = __builtin_fmaf(factor, b[k * n + left + x], sums[y][x]);
                }
            for (int y = 0; y < ROWS; y++)
                for (int x = 0; x < COLUMNS; x++) c[(row + y) * n + left + x] = sums[y][x];
        }
}

void sparse_product(const uint32_t *starts, const uint32_t *columns, const float *values, const float *vector,
                    float *out, long rows) {
    #pragma omp parallel for schedule(static)
    for (long row = 0; row < rows; row++) {
        float total = 0;
        for (uint32_t n = starts[row]; n < starts[row + 1]; n++) total += values[n] * vector[columns[n]];
        out[row] = total;
    }
}
