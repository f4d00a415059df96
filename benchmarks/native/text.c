// Text.
#include <stdint.h>
#include <string.h>

#define LINE 64

void byte_scan(const uint8_t *text, uint8_t *out, long n) {
    long places = n - 7;
    memset(out + places, 0, 7);
    #pragma omp parallel for simd schedule(static)
    for (long i = 0; i < places; i++)
        out[i] = (text[i] == 'a') & (text[i + 1] == 'b') & (text[i + 2] == 'a') & (text[i + 3] == 'c')
               & (text[i + 4] == 'a') & (text[i + 5] == 'b') & (text[i + 6] == 'a') & (text[i + 7] == 'd');
}

#define LOW 0x63616261u
#define HIGH 0x64616261u

static inline uint32_t found(uint32_t first, uint32_t second, uint32_t third) {
    uint32_t bits = (first == LOW) & (second == HIGH);
    #pragma GCC unroll 3
    for (int n = 8; n < 32; n += 8)
        bits |= (uint32_t)(((first >> n | second << (32 - n)) == LOW) & ((second >> n | third << (32 - n)) == HIGH)) << n;
    return bits;
}

// Four places in a word.
void word_scan(const uint32_t *text, uint32_t *out, long words) {
    #pragma omp parallel for simd schedule(static)
    for (long i = 0; i < words - 2; i++) out[i] = found(text[i], text[i + 1], text[i + 2]);
    out[words - 2] = found(text[words - 2], text[words - 1], 0);
    out[words - 1] = found(text[words - 1], 0, 0);
}

// The table is of bytes, one row of 256 for each state; four lines at once, so that one does not wait for the other.
void automaton(const uint8_t *text, const uint8_t *table, uint8_t *out, long lines) {
    #pragma omp parallel for schedule(static)
    for (long first = 0; first < lines; first += 4) {
        const uint8_t *line = text + first * LINE;
        unsigned state[4] = {0}, found[4] = {0};
        for (int n = 0; n < LINE; n++)
            for (int k = 0; k < 4; k++) {
                state[k] = table[state[k] * 256 + line[k * LINE + n]];
                found[k] += state[k] == 8;
            }
        for (int k = 0; k < 4; k++) out[first + k] = found[k];
    }
}
