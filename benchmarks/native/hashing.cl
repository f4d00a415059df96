// Integer hashes. Rotations are shifts: the built-in function is a call on some devices, and never faster.
#define LEFT(x, n) ((x) << (n) | (x) >> (32 - (n)))
#define RIGHT(x, n) ((x) >> (n) | (x) << (32 - (n)))

#ifdef ROUNDS
__kernel void hash_chain(__global const uint *x, __global uint *out) {
    size_t i = get_global_id(0);
    uint h = x[i];
    #pragma unroll
    for (uint n = 0; n < ROUNDS; n++) {
        h ^= 0x9E3779B9u + n;
        h = LEFT(h, 13) * 5u + 0xE6546B64u;
    }
    out[i] = h;
}
#endif

__constant uint START[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

__constant uint FIXED[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

void sha_rounds(uint *state, uint *w) {
    uint a = state[0], b = state[1], c = state[2], d = state[3];
    uint e = state[4], f = state[5], g = state[6], h = state[7];
    #pragma unroll
    for (int n = 0; n < 64; n++) {
        if (n >= 16) {
            uint near = w[(n - 2) & 15], far = w[(n - 15) & 15];
            w[n & 15] += (RIGHT(far, 7) ^ RIGHT(far, 18) ^ far >> 3) + w[(n - 7) & 15]
                       + (RIGHT(near, 17) ^ RIGHT(near, 19) ^ near >> 10);
        }
        uint one = h + (RIGHT(e, 6) ^ RIGHT(e, 11) ^ RIGHT(e, 25)) + (g ^ (e & (f ^ g))) + FIXED[n] + w[n & 15];
        uint two = (RIGHT(a, 2) ^ RIGHT(a, 13) ^ RIGHT(a, 22)) + ((a & b) | (c & (a | b)));
        h = g; g = f; f = e; e = d + one; d = c; c = b; b = a; a = one + two;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

__kernel void sha256(__global const uint *message, __global uint *digest) {
    size_t i = get_global_id(0);
    uint state[8], w[16];
    #pragma unroll
    for (int k = 0; k < 8; k++) state[k] = START[k];
    #pragma unroll
    for (int k = 0; k < 16; k++) w[k] = message[i * 16 + k];
    sha_rounds(state, w);
    #pragma unroll
    for (int k = 0; k < 16; k++) w[k] = k == 0 ? 0x80000000u : k == 15 ? 512u : 0u;
    sha_rounds(state, w);
    #pragma unroll
    for (int k = 0; k < 8; k++) digest[i * 8 + k] = state[k];
}

#define MIX(a, b, c, d, x, y) \
    a += b + x; d = RIGHT(d ^ a, 16); c += d; b = RIGHT(b ^ c, 12); \
    a += b + y; d = RIGHT(d ^ a, 8); c += d; b = RIGHT(b ^ c, 7);

#define ROUND(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15) \
    MIX(v0, v4, v8, v12, m0, m1) MIX(v1, v5, v9, v13, m2, m3) \
    MIX(v2, v6, v10, v14, m4, m5) MIX(v3, v7, v11, v15, m6, m7) \
    MIX(v0, v5, v10, v15, m8, m9) MIX(v1, v6, v11, v12, m10, m11) \
    MIX(v2, v7, v8, v13, m12, m13) MIX(v3, v4, v9, v14, m14, m15)

__kernel void blake3(__global const uint *message, __global uint *digest) {
    size_t i = get_global_id(0);
    uint c0 = START[0], c1 = START[1], c2 = START[2], c3 = START[3];
    uint c4 = START[4], c5 = START[5], c6 = START[6], c7 = START[7];
    for (uint block = 0; block < 16; block++) {
        __global const uint *w = message + i * 256 + block * 16;
        uint v0 = c0, v1 = c1, v2 = c2, v3 = c3, v4 = c4, v5 = c5, v6 = c6, v7 = c7;
        uint v8 = START[0], v9 = START[1], v10 = START[2], v11 = START[3];
        uint v12 = 0, v13 = 0, v14 = 64, v15 = block == 0 ? 1 : block == 15 ? 10 : 0;
        uint m0 = w[0], m1 = w[1], m2 = w[2], m3 = w[3], m4 = w[4], m5 = w[5], m6 = w[6], m7 = w[7];
        uint m8 = w[8], m9 = w[9], m10 = w[10], m11 = w[11], m12 = w[12], m13 = w[13], m14 = w[14], m15 = w[15];
        ROUND(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15)
        ROUND(m2, m6, m3, m10, m7, m0, m4, m13, m1, m11, m12, m5, m9, m14, m15, m8)
        ROUND(m3, m4, m10, m12, m13, m2, m7, m14, m6, m5, m9, m0, m11, m15, m8, m1)
        ROUND(m10, m7, m12, m9, m14, m3, m13, m15, m4, m0, m11, m2, m5, m8, m1, m6)
        ROUND(m12, m13, m9, m11, m15, m10, m14, m8, m7, m2, m5, m3, m0, m1, m6, m4)
        ROUND(m9, m14, m11, m5, m8, m12, m15, m1, m13, m3, m0, m10, m2, m6, m4, m7)
        ROUND(m11, m15, m5, m0, m1, m9, m8, m6, m14, m10, m2, m12, m3, m4, m7, m13)
        c0 = v0 ^ v8; c1 = v1 ^ v9; c2 = v2 ^ v10; c3 = v3 ^ v11;
        c4 = v4 ^ v12; c5 = v5 ^ v13; c6 = v6 ^ v14; c7 = v7 ^ v15;
    }
    digest += i * 8;
    digest[0] = c0; digest[1] = c1; digest[2] = c2; digest[3] = c3;
    digest[4] = c4; digest[5] = c5; digest[6] = c6; digest[7] = c7;
}
