// Bodies that attract each other: for each of them, all the others in the same order.
#include <math.h>

#define BLOCK 64

void n_body(const float *places, float *out, long bodies) {
    const float *xs = places, *ys = places + bodies, *zs = places + 2 * bodies;
    #pragma omp parallel for schedule(static)
    for (long first = 0; first < bodies; first += BLOCK) {
        float x[BLOCK] = {0}, y[BLOCK] = {0}, z[BLOCK] = {0};
        for (long n = 0; n < bodies; n++)
            #pragma omp simd
            for (int i = 0; i < BLOCK; i++) {
                float dx = xs[n] - xs[first + i], dy = ys[n] - ys[first + i], dz = zs[n] - zs[first + i];
                float square = dx * dx + dy * dy + dz * dz + 1e-3f;
                float strength = 1.0f / (square * sqrtf(square));
                x[i] += dx * strength;
                y[i] += dy * strength;
                z[i] += dz * strength;
            }
        for (int i = 0; i < BLOCK; i++) {
            out[first + i] = x[i];
            out[bodies + first + i] = y[i];
            out[2 * bodies + first + i] = z[i];
        }
    }
}
