// The algorithms of the standard library, and those of its parallel mode. Compiled for this machine.
#include <algorithm>
#include <cstdint>
#if __has_include(<tbb/tbb.h>)
#include <execution>
#define POLICY 1
#endif
#include <functional>
#include <numeric>
#include <parallel/algorithm>
#include <parallel/numeric>
#include <vector>

using word = std::uint32_t;

extern "C" {

void sum(const float *x, float *out, long n) { *out = std::reduce(x, x + n, 0.0f); }
void sum_parallel(const float *x, float *out, long n) { *out = __gnu_parallel::accumulate(x, x + n, 0.0f); }

void scan(const word *x, word *out, long n) { std::inclusive_scan(x, x + n, out); }
void scan_parallel(const word *x, word *out, long n) { __gnu_parallel::partial_sum(x, x + n, out); }

void sort(const word *x, word *out, long n) {
    std::copy(x, x + n, out);
    std::sort(out, out + n);
}
#ifdef POLICY  // needs -ltbb
void sum_policy(const float *x, float *out, long n) { *out = std::reduce(std::execution::par_unseq, x, x + n, 0.0f); }
void scan_policy(const word *x, word *out, long n) { std::inclusive_scan(std::execution::par_unseq, x, x + n, out); }
void sort_policy(const word *x, word *out, long n) {
    std::copy(x, x + n, out);
    std::sort(std::execution::par_unseq, out, out + n);
}
#endif

void sort_parallel(const word *x, word *out, long n) {
    std::copy(x, x + n, out);
    __gnu_parallel::sort(out, out + n);
}

void compact(const word *x, word *out, long n) {
    std::copy_if(x, x + n, out, [](word v) { return v & 1; });
}

void unique(const word *x, word *out, long n) {
    std::vector<word> sorted(x, x + n);
    __gnu_parallel::sort(sorted.begin(), sorted.end());
    std::unique_copy(sorted.begin(), sorted.end(), out);
}

void bincount(const word *x, std::int64_t *out, long n) {
    std::fill(out, out + 256, 0);
    for (long i = 0; i < n; i++) out[x[i] & 255]++;
}

void histogram(const float *x, std::int64_t *out, long n) {
    std::fill(out, out + 256, 0);
    for (long i = 0; i < n; i++)
        if (x[i] >= 0 && x[i] <= 1) out[std::min(255, int(x[i] * 256))]++;
}

void top_k(const float *x, float *out, long n) {
    std::partial_sort_copy(x, x + n, out, out + 100, std::greater<float>());
}

void searchsorted(const word *x, const word *wanted, std::int64_t *out, long n) {
#pragma omp parallel for
    for (long i = 0; i < n; i++) out[i] = std::lower_bound(x, x + n, wanted[i]) - x;
}

void spmv(const float *values, const word *columns, const word *starts, const float *x, float *out, long rows) {
#pragma omp parallel for
    for (long row = 0; row < rows; row++) {
        float total = 0;
        for (word k = starts[row]; k < starts[row + 1]; k++) total += values[k] * x[columns[k]];
        out[row] = total;
    }
}
}
