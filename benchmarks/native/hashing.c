// Integer hashes, sixteen messages at once where a message is long.
#include <stdint.h>

#define BLOCK 64
#define LANES 16

typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

// Blocks that fit into registers; `n` is a multiple of them.
void hash_chain(const uint32_t *x, uint32_t *out, long n, long rounds) {
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

#define RIGHT(x, n) ((x) >> (n) | (x) << (32 - (n)))

static const uint32_t START[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static const uint32_t FIXED[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void sha_rounds(lanes state[8], lanes w[16]) {
    lanes a = state[0], b = state[1], c = state[2], d = state[3];
    lanes e = state[4], f = state[5], g = state[6], h = state[7];
    for (int n = 0; n < 64; n++) {
        if (n >= 16) {
            lanes near = w[(n - 2) & 15], far = w[(n - 15) & 15];
            w[n & 15] += (RIGHT(far, 7) ^ RIGHT(far, 18) ^ far >> 3) + w[(n - 7) & 15]
                       + (RIGHT(near, 17) ^ RIGHT(near, 19) ^ near >> 10);
        }
        lanes one = h + (RIGHT(e, 6) ^ RIGHT(e, 11) ^ RIGHT(e, 25)) + (g ^ (e & (f ^ g))) + FIXED[n] + w[n & 15];
        lanes two = (RIGHT(a, 2) ^ RIGHT(a, 13) ^ RIGHT(a, 22)) + ((a & b) | (c & (a | b)));
        h = g; g = f; f = e; e = d + one; d = c; c = b; b = a; a = one + two;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

// `n` is a multiple of the lanes.
void sha256(const uint32_t *message, uint32_t *digest, long n) {
    #pragma omp parallel for schedule(static)
    for (long first = 0; first < n; first += LANES) {
        lanes state[8], w[16];
        for (int k = 0; k < 8; k++) state[k] = START[k] - (lanes){0};
        for (int k = 0; k < 16; k++)
            for (int lane = 0; lane < LANES; lane++) w[k][lane] = message[(first + lane) * 16 + k];
        sha_rounds(state, w);
        for (int k = 0; k < 16; k++) w[k] = (k == 0 ? 0x80000000u : k == 15 ? 512u : 0u) - (lanes){0};
        sha_rounds(state, w);
        for (int k = 0; k < 8; k++)
            for (int lane = 0; lane < LANES; lane++) digest[(first + lane) * 8 + k] = state[k][lane];
    }
}

#define MIX(a, b, c, d, x, y) \
    a += b + x; d = RIGHT(d ^ a, 16); c += d; b = RIGHT(b ^ c, 12); \
    a += b + y; d = RIGHT(d ^ a, 8); c += d; b = RIGHT(b ^ c, 7);

static const int ORDER[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1}, {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4}, {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

void blake3(const uint32_t *message, uint32_t *digest, long n) {
    #pragma omp parallel for schedule(static)
    for (long first = 0; first < n; first += LANES) {
        lanes chain[8];
        for (int k = 0; k < 8; k++) chain[k] = START[k] - (lanes){0};
        for (int block = 0; block < 16; block++) {
            lanes v[16], w[16];
            for (int k = 0; k < 16; k++)
                for (int lane = 0; lane < LANES; lane++) w[k][lane] = message[(first + lane) * 256 + block * 16 + k];
            for (int k = 0; k < 8; k++) v[k] = chain[k];
            for (int k = 0; k < 4; k++) v[8 + k] = START[k] - (lanes){0};
            v[12] = v[13] = (lanes){0};
            v[14] = 64u - (lanes){0};
            v[15] = (block == 0 ? 1u : block == 15 ? 10u : 0u) - (lanes){0};
            #pragma GCC unroll 7
            for (int round = 0; round < 7; round++) {
                const int *from = ORDER[round];
                MIX(v[0], v[4], v[8], v[12], w[from[0]], w[from[1]])
                MIX(v[1], v[5], v[9], v[13], w[from[2]], w[from[3]])
                MIX(v[2], v[6], v[10], v[14], w[from[4]], w[from[5]])
                MIX(v[3], v[7], v[11], v[15], w[from[6]], w[from[7]])
                MIX(v[0], v[5], v[10], v[15], w[from[8]], w[from[9]])
                MIX(v[1], v[6], v[11], v[12], w[from[10]], w[from[11]])
                MIX(v[2], v[7], v[8], v[13], w[from[12]], w[from[13]])
                MIX(v[3], v[4], v[9], v[14], w[from[14]], w[from[15]])
            }
            for (int k = 0; k < 8; k++) chain[k] = v[k] ^ v[k + 8];
        }
        for (int k = 0; k < 8; k++)
            for (int lane = 0; lane < LANES; lane++) digest[(first + lane) * 8 + k] = chain[k][lane];
    }
}
