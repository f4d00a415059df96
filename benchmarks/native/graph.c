// One level of a search in breadth, from below and from above.
#include <stdint.h>
#include <string.h>

#define FAR 0xFFFFFFFFu

void bfs_step(const uint32_t *starts, const uint32_t *neighbours, const uint32_t *level, const uint32_t *distances,
              uint32_t *out, long vertices) {
    uint32_t now = *level;
    #pragma omp parallel for schedule(dynamic, 4096)
    for (long vertex = 0; vertex < vertices; vertex++) {
        uint32_t distance = distances[vertex];
        if (distance == FAR)
            for (uint32_t n = starts[vertex]; n < starts[vertex + 1]; n++)
                if (distances[neighbours[n]] == now) {
                    distance = now + 1;
                    break;
                }
        out[vertex] = distance;
    }
}

// Threads may write the same number to the same place.
void bfs_step_from_above(const uint32_t *starts, const uint32_t *neighbours, const uint32_t *level,
                         const uint32_t *distances, uint32_t *out, long vertices) {
    uint32_t now = *level;
    memcpy(out, distances, vertices * sizeof *out);
    #pragma omp parallel for schedule(dynamic, 4096)
    for (long vertex = 0; vertex < vertices; vertex++)
        if (distances[vertex] == now)
            for (uint32_t n = starts[vertex]; n < starts[vertex + 1]; n++)
                if (out[neighbours[n]] == FAR) out[neighbours[n]] = now + 1;
}
