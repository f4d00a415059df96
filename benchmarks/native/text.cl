// Text.
#define LINE 64

__kernel void byte_scan(__global const uchar *text, __global uchar *out, uint places) {
    size_t i = get_global_id(0);
    uchar here = 0;
    if (i < places)
        here = (text[i] == 'a') & (text[i + 1] == 'b') & (text[i + 2] == 'a') & (text[i + 3] == 'c')
             & (text[i + 4] == 'a') & (text[i + 5] == 'b') & (text[i + 6] == 'a') & (text[i + 7] == 'd');
    out[i] = here;
}

#define LOW 0x63616261u
#define HIGH 0x64616261u
#define AT(n) \
    ((uint)(((first >> n | second << (32 - n)) == LOW) & ((second >> n | third << (32 - n)) == HIGH)) << n)

__kernel void word_scan(__global const uint *text, __global uint *out, uint words) {
    size_t i = get_global_id(0);
    uint first = text[i], second = i + 1 < words ? text[i + 1] : 0, third = i + 2 < words ? text[i + 2] : 0;
    out[i] = ((first == LOW) & (second == HIGH)) | AT(8) | AT(16) | AT(24);
}

__kernel void automaton(__global const uchar *text, __constant uchar *table, __global uchar *out) {
    __global const uchar *line = text + get_global_id(0) * LINE;
    uint state = 0, found = 0;
    for (uint n = 0; n < LINE; n++) {
        state = table[state * 256 + line[n]];
        found += state == 8;
    }
    out[get_global_id(0)] = found;
}
