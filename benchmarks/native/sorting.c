// The same network, in place; what is near is ordered while it is in a cache.
#include <stdint.h>

#define NEAR 4096

static inline void order(uint32_t *a, uint32_t *b, int is_up) {
    uint32_t least = *a < *b ? *a : *b, most = *a < *b ? *b : *a;
    *a = is_up ? least : most;
    *b = is_up ? most : least;
}

// All pairs `distance` apart, of which the runs of `run` elements alternate between up and down.
static void step(uint32_t *data, long first, long last, long run, long distance) {
    for (long start = first; start < last; start += 2 * distance) {
        int is_up = (start & run) == 0;
        for (long i = start; i < start + distance; i++) order(data + i, data + i + distance, is_up);
    }
}

void bitonic_sort(uint32_t *data, long n) {
    long near = n < NEAR ? n : NEAR;
    #pragma omp parallel for schedule(static)
    for (long first = 0; first < n; first += near)
        for (long run = 2; run <= near; run *= 2)
            for (long distance = run / 2; distance > 0; distance /= 2) step(data, first, first + near, run, distance);
    for (long run = 2 * near; run <= n; run *= 2) {
        for (long distance = run / 2; distance >= near; distance /= 2) {
            #pragma omp parallel for schedule(static)
            for (long pair = 0; pair < n / 2; pair += near / 2) {
                long start = pair / distance * 2 * distance + pair % distance;
                int is_up = (start & run) == 0;
                for (long i = start; i < start + near / 2; i++) order(data + i, data + i + distance, is_up);
            }
        }
        #pragma omp parallel for schedule(static)
        for (long first = 0; first < n; first += near)
            for (long distance = near / 2; distance > 0; distance /= 2) step(data, first, first + near, run, distance);
    }
}
