/* How near the angle of a pair of f32 comes to a middle between two f32: the part of `hard_angles.py` that takes time.

   For each middle z, the fraction p/q nearest to |tan z| 2^k in [1, 2), among those with q < 2^24 and p < 2^25, is the last
   convergent or the last intermediate fraction of its continued fraction. Every pair of f32 is such a fraction.

   Sines and cosines are numbers of 126 bits behind the point. Those of each z0 and of each i h come from MPFR, and z is
   z0 + i h; with four products they are off by less than 2^-122.

   stdin, for each binade: its exponent, the number of its blocks, the sines and cosines of i h, and for each block its
   first numerator, sin z0 and cos z0. stdout, for each binade: a line with its exponent, how many middles it has, and the
   least distance relative to z; before it a line "exponent numerator p q distance" for each that is below the limit. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned __int128 u128;

enum { BLOCK = 1024, FRACTION = 126 };
static const uint64_t MOST = 1 << 24;

struct turn { u128 sine, cosine; };
struct block { uint64_t first, unused; struct turn at; };

static u128 product(u128 a, u128 b)
{
    uint64_t a1 = a >> 64, a0 = a, b1 = b >> 64, b0 = b;
    u128 upper = (u128)a1 * b0, lower = (u128)a0 * b1;
    u128 carry = ((u128)a0 * b0 >> 64) + (uint64_t)upper + (uint64_t)lower;
    u128 high = (u128)a1 * b1 + (upper >> 64) + (lower >> 64) + (carry >> 64);
    return high << (128 - FRACTION) | (uint64_t)carry >> (FRACTION - 64);
}

static void take(void *room, size_t size)
{
    if (fread(room, size, 1, stdin) != 1) exit(1);
}

/* The fraction nearest to n/d in [1, 2), and its distance relative to n/d. */
static double nearest(u128 n, u128 d, uint64_t *p, uint64_t *q)
{
    const double whole = ldexp((double)n, -100);
    uint64_t p0 = 1, q0 = 0, p1 = 1, q1 = 1;
    u128 r0 = d, r1 = n - d; /* |n q - d p| of both */
    while (r1 != 0) {
        u128 a = r0 / r1;
        uint64_t limit = (MOST - 1 - q0) / q1, other = (2 * MOST - 1 - p0) / p1;
        uint64_t fits = limit < other ? limit : other;
        if (a > fits) {
            /* The intermediate fraction with the greatest terms, or the convergent before it. */
            uint64_t p2 = p0 + fits * p1, q2 = q0 + fits * q1;
            double first = ldexp((double)r1, -100) / whole / q1, second = ldexp((double)(r0 - fits * r1), -100) / whole / q2;
            *p = second < first ? p2 : p1, *q = second < first ? q2 : q1;
            return second < first ? second : first;
        }
        uint64_t p2 = p0 + (uint64_t)a * p1, q2 = q0 + (uint64_t)a * q1;
        u128 r2 = r0 - a * r1;
        p0 = p1, q0 = q1, p1 = p2, q1 = q2, r0 = r1, r1 = r2;
    }
    *p = p1, *q = q1;
    return 0;
}

int main(int count, char **arguments)
{
    const double limit = count > 1 ? ldexp(1, -atoi(arguments[1])) : 0;
    static struct turn steps[BLOCK];
    int32_t head[2];
    while (fread(head, sizeof head, 1, stdin) == 1) {
        take(steps, sizeof steps);
        double least = 1;
        uint64_t middles = 0;
        for (int32_t b = 0; b < head[1]; b++) {
            struct block block;
            take(&block, sizeof block);
            int is_right = (block.at.cosine >> 127) == 0;
            u128 c0 = is_right ? block.at.cosine : -block.at.cosine;
            for (int i = 0; i < BLOCK; i++) {
                uint64_t numerator = block.first + 2 * i;
                double z = ldexp((double)numerator, head[0] - 24);
                if (z >= M_PI) break;
                u128 cross = product(block.at.sine, steps[i].sine), along = product(c0, steps[i].cosine);
                u128 across = product(c0, steps[i].sine), up = product(block.at.sine, steps[i].cosine);
                u128 cosine = is_right ? along - cross : along + cross, sine = is_right ? up + across : up - across;
                cosine = cosine >> 127 ? -cosine : cosine; /* z has gone beyond pi/2 */
                double part = ldexp((double)sine, -FRACTION) * ldexp((double)cosine, -FRACTION) / z;
                while (sine < cosine) sine <<= 1;
                while (cosine <= sine >> 1) cosine <<= 1;
                uint64_t p, q;
                double distance = nearest(sine, cosine, &p, &q) * part;
                least = distance < least ? distance : least;
                if (distance < limit) printf("%d %lu %lu %lu %.6g\n", head[0], numerator, p, q, log2(distance));
                middles++;
            }
        }
        printf("%d %lu %.6g\n", head[0], middles, log2(least));
        fflush(stdout);
    }
    return 0;
}
